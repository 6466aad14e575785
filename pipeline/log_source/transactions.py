"""Which records of a partition were aborted, and from where on nothing is decided yet.

A broker tells its readers; here it comes from the same files: ended transactions that were aborted
are in the `.txnindex` of the segment that holds the marker, and those that are open in the newest
`.snapshot`, from which on the headers of the batches say the rest.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from barnabas.pipeline.log_source.errors import DamagedSegment
from barnabas.pipeline.log_source.partition_log import PartitionLog
from barnabas.pipeline.log_source.segment_files import READ_ONLY, SegmentFile
from barnabas.storage.batch.control_records import EndTransactionMarker, parse_control
from barnabas.storage.batch.reader import FoundBatch
from barnabas.storage.batch.records import decode_batch
from barnabas.storage.disk.fs import read_file
from barnabas.storage.errors import CorruptSnapshot, StorageError
from barnabas.storage.file_names import TRANSACTION_INDEX, base_offset_of
from barnabas.storage.producers.snapshot import parse_snapshot
from barnabas.storage.segment.transaction_index import ENTRY


class Aborted(NamedTuple):
    """The records of one producer in [first offset, last offset], the marker's."""

    producer_id: int
    first_offset: int
    last_offset: int


@dataclass(frozen=True)
class Decisions:
    """What became of the transactions below `end`."""

    last_stable_offset: int
    aborted: tuple[Aborted, ...]

    def of(self, start: int, end: int) -> tuple[Aborted, ...]:
        """Those that may have records in [start, end)."""
        return tuple(
            each for each in self.aborted if each.first_offset < end and each.last_offset >= start
        )


def decisions(log: PartitionLog, end: int) -> Decisions:
    """The transactions of a log that ends at `end`: the log's end or a high watermark."""
    start, is_open = _snapshot(log, end)
    indexed: set[Aborted] = set()
    for file in log.segments:
        entries = _indexed(file)
        if entries is None:  # no index, or a damaged one: the batches know as much
            start, is_open = log.start, {}
            continue
        indexed.update(entries)
    aborted = set(_walk(log, start, end, is_open)) | indexed
    return Decisions(min(is_open.values(), default=end), tuple(sorted(aborted)))


def _snapshot(log: PartitionLog, end: int) -> tuple[int, dict[int, int]]:
    """The newest usable snapshot: its offset, and the open transactions by producer id."""
    names = READ_ONLY.list_directory(log.directory)
    offsets = {base_offset_of(name): name for name in names if name.endswith(".snapshot")}
    for offset, name in sorted((o, n) for o, n in offsets.items() if o is not None)[::-1]:
        if not log.start <= offset <= end:
            continue
        try:
            entries = parse_snapshot(read_file(READ_ONLY, f"{log.directory}/{name}"))
        except (CorruptSnapshot, FileNotFoundError):
            continue
        found = {each.producer_id: each.current_transaction_first_offset for each in entries}
        return offset, {producer: first for producer, first in found.items() if first >= 0}
    return log.start, {}


def _indexed(file: SegmentFile) -> list[Aborted] | None:
    """What a segment's transaction index says; None if it cannot be right."""
    try:
        data = read_file(READ_ONLY, file.beside(TRANSACTION_INDEX))
    except FileNotFoundError:
        return []
    if len(data) % ENTRY.size:
        return None
    entries = []
    for version, producer_id, first, last, _ in ENTRY.iter_unpack(data):
        if version != 0 or not 0 <= first <= last or last < file.base_offset:
            return None
        entries.append(Aborted(producer_id, first, last))
    return entries


def _walk(log: PartitionLog, start: int, end: int, is_open: dict[int, int]) -> Iterator[Aborted]:
    """Follow the transactions of [start, end); those still open are left in `is_open`."""
    for found in log.walk(start, end):
        header = found[1]
        if not header.is_transactional or not start <= header.base_offset < end:
            continue
        if not header.is_control:
            is_open.setdefault(header.producer_id, header.base_offset)
            continue
        first = is_open.pop(header.producer_id, None)
        if first is not None and _is_abort(log, found):
            yield Aborted(header.producer_id, first, header.last_offset)


def _is_abort(log: PartitionLog, found: FoundBatch) -> bool:
    position, header, chunk = found
    try:
        controls = [parse_control(record) for record in decode_batch(chunk, header)]
    except StorageError as error:
        raise DamagedSegment(f"a segment of {log.directory}", position, error.reason) from None
    return any(isinstance(each, EndTransactionMarker) and not each.is_commit for each in controls)
