"""Questions about offsets: by timestamp, by leader epoch."""

from dataclasses import dataclass
from typing import Final

from barnabas.storage.batch.header import BatchHeader
from barnabas.storage.batch.reader import read_batches
from barnabas.storage.batch.records import decode_batch
from barnabas.storage.errors import CorruptIndex
from barnabas.storage.log.offsets import LogOffsets
from barnabas.storage.log.segment_store import SegmentStore
from barnabas.storage.producers.leader_epochs import LeaderEpochs
from barnabas.storage.segment.index_checks import check_time_entry
from barnabas.storage.segment.segment import Segment

_SEARCH_CHUNK_BYTES: Final = 64 << 10


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
        store = self._store
        try:
            for segment in store.segments:
                if store.indexes.largest_timestamp(segment)[0] >= timestamp_ms:
                    found = self._search(segment, timestamp_ms)
                    if found is not None:
                        return found
        except OSError as error:
            store.failures.fail(error)
        return None

    def _search(self, segment: Segment, timestamp_ms: int) -> TimestampedOffset | None:
        indexes, log_start = self._store.indexes, self._offsets.start
        try:
            timestamp, found = segment.time_index.lookup(timestamp_ms)
            if timestamp >= 0:
                check_time_entry(segment, timestamp, found)
        except CorruptIndex as error:
            indexes.mend(segment, error)
            found = segment.time_index.lookup(timestamp_ms)[1]
        start = indexes.locate(segment, max(found, log_start))
        position = segment.size_bytes if start is None else start[0]
        for _, header, chunk in read_batches(
            segment.log_file.open(), position, segment.size_bytes, _SEARCH_CHUNK_BYTES
        ):
            if header.max_timestamp < timestamp_ms or header.last_offset < log_start:
                continue
            for record in decode_batch(chunk, header):
                if record.timestamp >= timestamp_ms and record.offset >= log_start:
                    return _found(header, record.offset, record.timestamp)
        return None

    def of_max_timestamp(self) -> TimestampedOffset | None:
        """The first record with the largest timestamp of all (ListOffsets -3, KIP-734)."""
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
                    return _first_with(header, chunk, timestamp)
        except OSError as error:
            store.failures.fail(error)
        return None

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """(largest known epoch ≤ `epoch`, its end offset), or (-1, -1): KIP-101, KIP-279."""
        return self._epochs.end_offset_for(epoch, self._offsets.end)


def _found(header: BatchHeader, offset: int, timestamp: int) -> TimestampedOffset:
    return TimestampedOffset(offset, timestamp, max(header.partition_leader_epoch, -1))


def _first_with(header: BatchHeader, chunk: bytes, timestamp: int) -> TimestampedOffset | None:
    for record in decode_batch(chunk, header):
        if record.timestamp == timestamp:
            return _found(header, record.offset, timestamp)
    return None
