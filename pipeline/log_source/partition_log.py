"""One partition's log as its files have it: where it starts and ends, where an offset lies."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from barnabas.pipeline.log_source.errors import DamagedSegment, LostRecords
from barnabas.pipeline.log_source.segment_files import (
    READ_ONLY,
    SegmentFile,
    batch_at,
    batches,
    index_entries,
    list_segments,
)
from barnabas.storage.batch.header import LOG_OVERHEAD, BatchHeader, crc_is_valid
from barnabas.storage.batch.reader import FoundBatch
from barnabas.storage.batch.records import decode_batch
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.disk.fs import read_file
from barnabas.storage.disk.open_files import OpenFile
from barnabas.storage.errors import CorruptCheckpoint, StorageError
from barnabas.storage.file_names import TIME_INDEX
from barnabas.storage.producers.leader_epochs import FILE_NAME, parse_epochs
from barnabas.storage.segment.time_index import TimeIndex

_WALK_CHUNK_BYTES: Final = 256 << 10
_ZEROS_LOOKED_AT_BYTES: Final = 1 << 20


@dataclass(frozen=True)
class Place:
    """A batch boundary in a segment: its position, and the offset that the batch there has."""

    position: int
    offset: int


class PartitionLog:
    """The segments of one directory, as they were when this was made.

    `checkpointed_start` is the log start offset that the broker noted (0: none).
    """

    def __init__(
        self, directory: str, topic_partition: TopicPartition, checkpointed_start: int = 0
    ) -> None:
        self.directory = directory
        self.topic_partition = topic_partition
        self._checkpointed_start = checkpointed_start
        self.segments = list_segments(directory)
        self._cut_the_torn_end()

    def _cut_the_torn_end(self) -> None:
        """The last segment ends where a broker's recovery would cut it: behind its last whole
        batch. Only what a write that was broken off leaves is cut, or one that is going on."""
        self._last_end = self.segments[-1].base_offset if self.segments else 0
        if not self.segments:
            return
        file = self.segments[-1]
        position, self._last_end = _whole_end(file, self.open(file))
        self.segments[-1] = replace(file, size_bytes=position)

    @cached_property
    def start(self) -> int:
        """The log start offset."""
        first = self.segments[0].base_offset if self.segments else 0
        return min(max(first, self._checkpointed_start), self.end)

    @property
    def end(self) -> int:
        """The offset behind the last whole batch."""
        return max(self._last_end, self._checkpointed_start if not self.segments else 0)

    @cached_property
    def last_epoch(self) -> int:
        """The newest leader epoch noted, -1 without any."""
        with suppress(FileNotFoundError, CorruptCheckpoint):
            entries = parse_epochs(read_file(READ_ONLY, f"{self.directory}/{FILE_NAME}"))
            return max((epoch for epoch, _ in entries), default=-1)
        return -1

    def open(self, file: SegmentFile) -> OpenFile:
        """A segment's `.log`; LostRecords if it was deleted since."""
        opened = file.open()
        if opened is None:
            end = self.end_of(file)
            raise LostRecords(str(self.topic_partition), file.base_offset, end, "they were deleted")
        return opened

    def end_of(self, file: SegmentFile) -> int:
        """An offset that no record of the segment reaches."""
        following = (each.base_offset for each in self.segments)
        return next((base for base in following if base > file.base_offset), self._last_end)

    def overlapping(self, start: int, end: int) -> Iterator[SegmentFile]:
        """The segments that may have offsets of [start, end), in order."""
        for file in self.segments:
            if file.size_bytes and file.base_offset < end and self.end_of(file) > start:
                yield file

    # --- places ------------------------------------------------------------------------

    def locate(self, file: SegmentFile, opened: OpenFile, offset: int) -> Place:
        """The first batch that ends at or after `offset`; the segment's end if there is none."""
        if offset <= file.base_offset:
            return Place(0, file.base_offset)
        if offset >= self.end_of(file):
            return Place(file.size_bytes, self.end_of(file))
        start = 0
        for entry_offset, position in reversed(index_entries(file)):
            if entry_offset <= offset and is_credible(file, opened, entry_offset, position):
                start = position
                break
        for position, header, _ in batches(file, opened, start, file.size_bytes, _WALK_CHUNK_BYTES):
            if header.last_offset >= offset:
                return Place(position, first_offset(header, file))
        return Place(file.size_bytes, self.end_of(file))

    def walk(self, start: int, end: int) -> Iterator[FoundBatch]:
        """The batches that have offsets of [start, end)."""
        for file in self.overlapping(start, end):
            opened = self.open(file)
            position = self.locate(file, opened, start).position
            for found in batches(file, opened, position, file.size_bytes, _WALK_CHUNK_BYTES):
                if found[1].base_offset >= end and found[1].magic == 2:
                    return
                yield found

    def offset_at_time(self, timestamp_ms: int) -> int | None:
        """The first offset whose record has this timestamp or a later one, None without any."""
        for file in self.overlapping(self.start, self.end):
            opened = self.open(file)
            position = self._before_time(file, opened, timestamp_ms)
            for at, header, chunk in batches(
                file, opened, position, file.size_bytes, _WALK_CHUNK_BYTES
            ):
                if header.max_timestamp < timestamp_ms or header.last_offset < self.start:
                    continue
                found = self._first_in(file, at, header, chunk, timestamp_ms)
                if found is not None:
                    return found
        return None

    def _before_time(self, file: SegmentFile, opened: OpenFile, timestamp_ms: int) -> int:
        """A position before which no record has this timestamp, from the time index.

        The index of a live or killed broker may lack its last entries, those of a segment that was
        rolled lately too: it never says that there is no such record.
        """
        earlier = [entry for entry in _time_entries(file) if entry[0] < timestamp_ms]
        if not earlier:
            return 0
        time, offset = earlier[-1]
        position = self.locate(file, opened, offset).position
        header = batch_at(opened, position, file.size_bytes)
        return position if header is not None and header.max_timestamp == time else 0

    def _first_in(
        self, file: SegmentFile, position: int, header: BatchHeader, chunk: bytes, timestamp_ms: int
    ) -> int | None:
        try:
            for record in decode_batch(chunk, header):
                if record.timestamp >= timestamp_ms and record.offset >= self.start:
                    return record.offset
        except StorageError as error:
            raise DamagedSegment(file.path, position, error.reason) from None
        return None


def first_offset(header: BatchHeader, file: SegmentFile) -> int:
    """A lower bound of a batch's offsets: wrappers of formats 0 and 1 say only the last one."""
    return header.base_offset if header.magic == 2 else file.base_offset


def is_credible(file: SegmentFile, opened: OpenFile, offset: int, position: int) -> bool:
    """Does a batch lie where an index entry says it does?"""
    header = batch_at(opened, position, file.size_bytes)
    return header is not None and file.base_offset <= header.base_offset <= offset


def _whole_end(file: SegmentFile, opened: OpenFile) -> tuple[int, int]:
    """(position, offset) behind the last whole batch of a log's last segment.

    Raises DamagedSegment if batches follow that the index knows of.
    """
    entries = index_entries(file)
    start = 0
    for offset, position in reversed(entries):
        if is_credible(file, opened, offset, position):
            start = position
            break
    position, end, last = start, file.base_offset, None
    try:
        for found in batches(file, opened, start, file.size_bytes, _WALK_CHUNK_BYTES):
            if last is not None:
                position, end = last[0] + last[1].size_bytes, last[1].next_offset
            last = found
    except DamagedSegment as damage:
        known = entries[-1][1] if entries else 0
        if known > damage.position or not _is_torn(file, opened, damage.position):
            raise
    if last is not None and crc_is_valid(last[2], last[1]):
        return last[0] + last[1].size_bytes, last[1].next_offset
    return position, end


def _is_torn(file: SegmentFile, opened: OpenFile, position: int) -> bool:
    """A batch cut short, or the zeros of a file whose length was set beforehand."""
    data = opened.read_fully(min(file.size_bytes - position, _ZEROS_LOOKED_AT_BYTES), position)
    if len(data) < LOG_OVERHEAD or not any(data):
        return True
    return int.from_bytes(data[8:12], signed=True) + LOG_OVERHEAD > file.size_bytes - position


def _time_entries(file: SegmentFile) -> list[tuple[int, int]]:
    """(timestamp, offset) from the time index, as far as both rise."""
    try:
        data = read_file(READ_ONLY, file.beside(TIME_INDEX))
    except FileNotFoundError:
        return []
    entries: list[tuple[int, int]] = []
    last_time, last_offset = -1, -1
    for time, offset in TimeIndex.ENTRY.iter_unpack(data[: len(data) - len(data) % 12]):
        if time <= last_time or offset < last_offset or offset < 0:
            break
        entries.append((time, file.base_offset + offset))
        last_time, last_offset = time, offset
    return entries
