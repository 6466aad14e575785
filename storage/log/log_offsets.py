"""Questions about offsets: by timestamp, by leader epoch."""

from dataclasses import dataclass

from barnabas.storage.batch.header import BatchHeader
from barnabas.storage.batch.reader import read_batches
from barnabas.storage.batch.records import decode_batch
from barnabas.storage.errors import CorruptIndex
from barnabas.storage.log.log_read import LogRead
from barnabas.storage.segment.index_checks import check_time_entry
from barnabas.storage.segment.segment import Segment


@dataclass(slots=True, frozen=True)
class TimestampedOffset:
    """A record's offset with its timestamp in ms, and its leader epoch (-1 if unknown)."""

    offset: int
    timestamp: int
    leader_epoch: int


class LogOffsets(LogRead):
    """Looking offsets up."""

    __slots__ = ()

    def earliest_offset(self) -> TimestampedOffset:
        """The log start offset (ListOffsets -2)."""
        entry = self.epochs.earliest_entry()
        epoch = -1 if entry is None or entry[1] > self.log_start_offset else entry[0]
        return TimestampedOffset(self.log_start_offset, -1, epoch)

    def latest_offset(self, offset: int | None = None) -> TimestampedOffset:
        """The log end offset, or the bound the caller gives, with the latest epoch (-1)."""
        end = self.log_end_offset if offset is None else offset
        return TimestampedOffset(end, -1, self.epochs.latest_epoch)

    def offset_by_timestamp(self, timestamp_ms: int) -> TimestampedOffset | None:
        """The first record whose timestamp is at least `timestamp_ms`; None if there is none."""
        try:
            for segment in self.segments:
                if self._largest_timestamp(segment)[0] >= timestamp_ms:
                    found = self._search_timestamp(segment, timestamp_ms)
                    if found is not None:
                        return found
        except OSError as error:
            self._fail(error)
        return None

    def _search_timestamp(self, segment: Segment, timestamp_ms: int) -> TimestampedOffset | None:
        try:
            timestamp, found = segment.time_index.lookup(timestamp_ms)
            if timestamp >= 0:
                check_time_entry(segment, timestamp, found)
        except CorruptIndex as error:
            self._mend(segment, error)
            found = segment.time_index.lookup(timestamp_ms)[1]
        start = self._locate(segment, max(found, self.log_start_offset))
        position = segment.size_bytes if start is None else start[0]
        for _, header, chunk in read_batches(
            segment.log_file.open(), position, segment.size_bytes, _SEARCH_CHUNK_BYTES
        ):
            if header.max_timestamp < timestamp_ms or header.last_offset < self.log_start_offset:
                continue
            for record in decode_batch(chunk, header):
                if record.timestamp >= timestamp_ms and record.offset >= self.log_start_offset:
                    return _found(header, record.offset, record.timestamp)
        return None

    def offset_of_max_timestamp(self) -> TimestampedOffset | None:
        """The first record with the largest timestamp of all (ListOffsets -3, KIP-734)."""
        try:
            best = max(self.segments, key=lambda segment: self._largest_timestamp(segment)[0])
            timestamp, offset = best.largest_timestamp()
            if not best.size_bytes:
                return None
            found = self._locate(best, offset)
            position = best.size_bytes if found is None else found[0]
            for _, header, chunk in read_batches(best.log_file.open(), position, best.size_bytes):
                if header.max_timestamp == timestamp:
                    return _first_with(header, chunk, timestamp)
        except OSError as error:
            self._fail(error)
        return None

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """(largest known epoch ≤ `epoch`, its end offset), or (-1, -1): KIP-101, KIP-279."""
        return self.epochs.end_offset_for(epoch, self.log_end_offset)


_SEARCH_CHUNK_BYTES = 64 << 10


def _found(header: BatchHeader, offset: int, timestamp: int) -> TimestampedOffset:
    return TimestampedOffset(offset, timestamp, max(header.partition_leader_epoch, -1))


def _first_with(header: BatchHeader, chunk: bytes, timestamp: int) -> TimestampedOffset | None:
    for record in decode_batch(chunk, header):
        if record.timestamp == timestamp:
            return _found(header, record.offset, timestamp)
    return None
