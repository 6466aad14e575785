"""From a piece of a segment to Arrow batches, on an executor.

The file is read in chunks; a group of batches that lie in one buffer becomes one RecordBatch. What
the plan knew may have changed: the very file that was planned is read, also under the name that a
deleted one has. If it is gone, its offsets are looked for where a compaction has put them.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from barnabas.pipeline.log_source.columns import Place, record_batch
from barnabas.pipeline.log_source.errors import DamagedSegment, LogSourceError, LostRecords
from barnabas.pipeline.log_source.partition_log import PartitionLog
from barnabas.pipeline.log_source.pieces import Piece, pieces_of
from barnabas.pipeline.log_source.records import Batch, BatchGroup, Records, records_of
from barnabas.pipeline.log_source.segment_files import batches
from barnabas.storage.batch.compression import Codec
from barnabas.storage.batch.control_records import (
    ControlType,
    EndTransactionMarker,
    LeaderChange,
    OtherControl,
    parse_control,
)
from barnabas.storage.batch.header import (
    MAGIC_V2,
    V2_HEADER_BYTES,
    BatchHeader,
    crc_is_valid,
)
from barnabas.storage.batch.reader import FoundBatch
from barnabas.storage.batch.records import decode_batch, records_data
from barnabas.storage.disk.open_files import OpenFile
from barnabas.storage.errors import CorruptBatch, StorageError

_log: Final = logging.getLogger(__name__)
_CHUNK_BYTES: Final = 2 << 20
_PLAIN_BYTES: Final = 4 << 20
"""Of decompressed batches together, unless one alone has more."""
_TRIES: Final = 5


@dataclass(frozen=True)
class Selection:
    """Which records of a piece become rows, and of which columns: a pyarrow Schema."""

    schema: Any
    with_control: bool = False
    fail_on_data_loss: bool = True


def read_piece(piece: Piece, selection: Selection) -> Iterator[Any]:
    """The RecordBatches of a piece."""
    for part, opened in _opened(piece, selection.fail_on_data_loss):
        yield from _PieceReader(part, opened, selection).record_batches()


def _opened(piece: Piece, fail_on_data_loss: bool) -> Iterator[tuple[Piece, OpenFile]]:
    """The piece with its file, or pieces of whatever files have its offsets now."""
    opened = piece.file.open()
    if opened is not None:
        yield piece, opened
        return
    for _ in range(_TRIES):
        found = _found_again(piece, fail_on_data_loss)
        together = [(part, part.file.open()) for part in found]
        if all(opened is not None for _, opened in together):
            yield from ((part, opened) for part, opened in together if opened is not None)
            return
    raise LogSourceError(f"the segments of {piece.directory} change faster than they are read")


def _found_again(piece: Piece, fail_on_data_loss: bool) -> list[Piece]:
    start, end = piece.start_offset, piece.end_offset
    try:
        log = PartitionLog(piece.directory, piece.topic_partition)
    except FileNotFoundError:
        log = None
    if log is None or start < log.start:
        lost_end = end if log is None else min(log.start, end)
        error = LostRecords(str(piece.topic_partition), start, lost_end, "they were deleted")
        if fail_on_data_loss:
            raise error
        _log.warning("%s", error)
    if log is None:
        return []
    return [replace(each, aborted=piece.aborted) for each in pieces_of(log, start, end)]


class _PieceReader:
    """Groups the batches of one piece."""

    def __init__(self, piece: Piece, opened: OpenFile, selection: Selection) -> None:
        self._piece = piece
        self._opened = opened
        self._selection = selection
        self._place = Place(piece.topic_partition, piece.file.path)
        self._group = BatchGroup()

    def record_batches(self) -> Iterator[Any]:
        """All of them, in the order of offsets."""
        for found in self._sound_batches():
            batch = Batch(found[0], found[1])
            if not self._is_wanted(batch.header):
                continue
            try:
                yield from self._take(batch, found[2])
            except StorageError as error:
                self._pass_over(batch.position, error.reason)
        yield from self._flush()

    def _sound_batches(self) -> Iterator[FoundBatch]:
        """Those whose checksum is right; the rest of the piece is left where no batch is."""
        piece = self._piece
        try:
            for found in batches(
                piece.file, self._opened, piece.start_position, piece.end_position, _CHUNK_BYTES
            ):
                if crc_is_valid(found[2], found[1]):
                    yield found
                else:
                    self._pass_over(found[0], "a batch's checksum is wrong")
        except DamagedSegment as error:
            if self._selection.fail_on_data_loss:
                raise
            _log.warning("%s", error)

    def _pass_over(self, position: int, reason: str) -> None:
        error = DamagedSegment(self._piece.file.path, position, reason)
        if self._selection.fail_on_data_loss:
            raise error from None
        _log.warning("%s", error)

    def _is_wanted(self, header: BatchHeader) -> bool:
        piece, selection = self._piece, self._selection
        if header.is_control and not selection.with_control:
            return False
        if header.last_offset < piece.start_offset:
            return False
        if header.magic == MAGIC_V2 and header.base_offset >= piece.end_offset:
            return False
        return not (piece.aborted and header.is_transactional and self._is_aborted(header))

    def _is_aborted(self, header: BatchHeader) -> bool:
        return not header.is_control and any(
            producer_id == header.producer_id and first <= header.base_offset <= last
            for producer_id, first, last in self._piece.aborted
        )

    # --- grouping ----------------------------------------------------------------------

    def _take(self, batch: Batch, chunk: bytes) -> Iterator[Any]:
        header = batch.header
        if header.magic != MAGIC_V2:
            records = records_of(batch, list(decode_batch(chunk, header)))
            yield from self._flush()
            yield from self._rows(records)
        elif header.codec == Codec.NONE and not header.is_control:
            if len(self._group) and not self._group.lies_in(chunk):
                yield from self._flush()
            self._group.add(batch, chunk, header.position + V2_HEADER_BYTES, header.end)
        else:
            if header.is_control:
                batch = replace(batch, control=_control_of(chunk, header))
            data = records_data(chunk, header)
            if self._group.is_of_chunk or self._group.size_bytes + len(data) > _PLAIN_BYTES:
                yield from self._flush()
            self._group.add(batch, data, 0, len(data))

    def _flush(self) -> Iterator[Any]:
        group, self._group = self._group, BatchGroup()
        if not len(group):
            return
        try:
            rows = list(self._rows(group.records()))
        except CorruptBatch:
            yield from self._one_by_one(group)
        else:
            yield from rows

    def _one_by_one(self, group: BatchGroup) -> Iterator[Any]:
        for alone in group.one_by_one():
            try:
                rows = list(self._rows(alone.records()))
            except CorruptBatch as error:
                self._pass_over(alone.batches[0].position, error.reason)
            else:
                yield from rows

    def _rows(self, records: Records) -> Iterator[Any]:
        piece = self._piece
        offsets = records.offsets
        wanted = (offsets >= piece.start_offset) & (offsets < piece.end_offset)
        if not wanted.all():
            records = records.only(wanted)
        if len(records):
            yield record_batch(records, self._place, self._selection.schema)


def _control_of(chunk: bytes, header: BatchHeader) -> str:
    """COMMIT, ABORT, or what else the first control record of a batch is."""
    for record in decode_batch(chunk, header):
        control = parse_control(record)
        match control:
            case EndTransactionMarker():
                return "COMMIT" if control.is_commit else "ABORT"
            case LeaderChange():
                return ControlType.LEADER_CHANGE.name
            case OtherControl():
                return str(control.type)
    return "EMPTY"
