"""Questions about offsets: by timestamp, by leader epoch."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from barnabas.storage.batch.header import BatchHeader
from barnabas.storage.batch.reader import read_batches
from barnabas.storage.batch.steps import RECORDS_OF_A_STEP, Steps, finished
from barnabas.storage.batch.unpacked import decode_in_steps
from barnabas.storage.errors import CorruptIndex
from barnabas.storage.log.offsets import LogOffsets
from barnabas.storage.log.segment_store import SegmentStore
from barnabas.storage.producers.leader_epochs import LeaderEpochs
from barnabas.storage.segment.index_checks import check_time_entry
from barnabas.storage.segment.segment import Segment

_SEARCH_CHUNK_BYTES: Final = 64 << 10

Batch = tuple[BatchHeader, bytes]
"""A batch's header, and the bytes in which its position counts."""
FindBatch = Callable[[], Batch | None]
Reader = Callable[[FindBatch], Steps[Batch | None]]
"""Has a batch found, perhaps after others were served; `at_once` has it found on the spot."""


def at_once(find: FindBatch) -> Steps[Batch | None]:
    """Wait for the disk where it must be."""
    yield
    return find()


@dataclass(slots=True, frozen=True)
class TimestampedOffset:
    """A record's offset with its timestamp in ms, and its leader epoch (-1 if unknown)."""

    offset: int
    timestamp: int
    leader_epoch: int


class OffsetLookup:
    """Finds offsets in the segments and the leader epochs of one log."""

    __slots__ = ("_epochs", "_offsets", "_store")

    def __init__(self, offsets: LogOffsets, store: SegmentStore, epochs: LeaderEpochs) -> None:
        self._offsets = offsets
        self._store = store
        self._epochs = epochs

    def earliest(self) -> TimestampedOffset:
        """The log start offset (ListOffsets -2)."""
        start, entry = self._offsets.start, self._epochs.earliest_entry()
        epoch = -1 if entry is None or entry[1] > start else entry[0]
        return TimestampedOffset(start, -1, epoch)

    def latest(self, offset: int | None = None) -> TimestampedOffset:
        """The log end offset, or the bound the caller gives, with the latest epoch (-1)."""
        end = self._offsets.end if offset is None else offset
        return TimestampedOffset(end, -1, self._epochs.latest_epoch)

    def by_timestamp(self, timestamp_ms: int) -> TimestampedOffset | None:
        """The first record whose timestamp is at least `timestamp_ms`; None if there is none."""
        return finished(self.by_timestamp_in_steps(timestamp_ms))

    def by_timestamp_in_steps(
        self, timestamp_ms: int, read: Reader = at_once
    ) -> Steps[TimestampedOffset | None]:
        """The same in steps. Between them the log may change, so that no file is read across."""
        start = self._offsets.start
        while True:
            batch = yield from read(partial(self._batch_from, timestamp_ms, start))
            if batch is None:
                return None
            header, chunk = batch
            start = max(start, self._offsets.start)
            found = yield from _first_in_steps(header, chunk, timestamp_ms, start)
            if found is not None:
                return found
            start = header.last_offset + 1  # its header has promised more than it holds

    def _batch_from(self, timestamp_ms: int, start: int) -> Batch | None:
        """The first batch from offset `start` on that says it holds such a record."""
        store = self._store
        try:
            for segment in store.segments:
                if store.indexes.largest_timestamp(segment)[0] >= timestamp_ms:
                    found = self._search(segment, timestamp_ms, start)
                    if found is not None:
                        return found
        except OSError as error:
            store.failures.fail(error)
        return None

    def _search(self, segment: Segment, timestamp_ms: int, start: int) -> Batch | None:
        indexes, first = self._store.indexes, max(start, self._offsets.start)
        try:
            timestamp, found = segment.time_index.lookup(timestamp_ms)
            if timestamp >= 0:
                check_time_entry(segment, timestamp, found)
        except CorruptIndex as error:
            indexes.mend(segment, error)
            found = segment.time_index.lookup(timestamp_ms)[1]
        located = indexes.locate(segment, max(found, first))
        position = segment.size_bytes if located is None else located[0]
        for _, header, chunk in read_batches(
            segment.log_file.open(), position, segment.size_bytes, _SEARCH_CHUNK_BYTES
        ):
            if header.max_timestamp >= timestamp_ms and header.last_offset >= first:
                return header, chunk
        return None

    def of_max_timestamp(self) -> TimestampedOffset | None:
        """The first record with the largest timestamp of all (ListOffsets -3, KIP-734)."""
        return finished(self.of_max_timestamp_in_steps())

    def of_max_timestamp_in_steps(self, read: Reader = at_once) -> Steps[TimestampedOffset | None]:
        """The same in steps."""
        batch = yield from read(self._batch_of_max_timestamp)
        if batch is None:
            return None
        header, chunk = batch
        return (yield from _first_in_steps(header, chunk, header.max_timestamp, -1))

    def _batch_of_max_timestamp(self) -> Batch | None:
        store = self._store
        indexes = store.indexes
        try:
            best = max(store.segments, key=lambda segment: indexes.largest_timestamp(segment)[0])
            timestamp, offset = best.largest_timestamp()
            if not best.size_bytes:
                return None
            found = indexes.locate(best, offset)
            position = best.size_bytes if found is None else found[0]
            for _, header, chunk in read_batches(best.log_file.open(), position, best.size_bytes):
                if header.max_timestamp == timestamp:
                    return header, chunk
        except OSError as error:
            store.failures.fail(error)
        return None

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """(largest known epoch ≤ `epoch`, its end offset), or (-1, -1): KIP-101, KIP-279."""
        return self._epochs.end_offset_for(epoch, self._offsets.end)


def _first_in_steps(
    header: BatchHeader, chunk: bytes, timestamp_ms: int, start: int
) -> Steps[TimestampedOffset | None]:
    """The batch's first record from `start` on whose timestamp is at least `timestamp_ms`."""
    number = 0
    records = yield from decode_in_steps(chunk, header)
    for record in records:
        if record.timestamp >= timestamp_ms and record.offset >= start:
            epoch = max(header.partition_leader_epoch, -1)
            return TimestampedOffset(record.offset, record.timestamp, epoch)
        number += 1
        if number % RECORDS_OF_A_STEP == 0:
            yield
    return None
