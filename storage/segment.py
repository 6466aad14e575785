"""One stretch of a partition's log: a `.log` file of batches, its indexes, nothing decided.

The `.log` file is batches back to back. `size_bytes` is the truth about where it ends: bytes
behind that, left by a write that failed half-way, are never read and are overwritten by the
next append.
"""

from collections.abc import Sequence
from struct import Struct
from typing import Final

from barnabas.storage.batch import NO_TIMESTAMP, BatchHeader, Buffer
from barnabas.storage.batch_reader import read_batches
from barnabas.storage.errors import CorruptBatch, CorruptIndex
from barnabas.storage.file_slice import FileCache, OpenFile
from barnabas.storage.log_config import LogConfig
from barnabas.storage.offset_index import MAX_RELATIVE_OFFSET
from barnabas.storage.producer_entry import CompletedTransaction
from barnabas.storage.segment_files import SegmentFiles
from barnabas.storage.transaction_index import AbortedTransaction

UNKNOWN: Final = -2
"""A largest timestamp that has to be looked up first."""

_LOCATE: Final = Struct(">qi4xb6xi")
"""Of a batch's header: offset, size behind byte 12, magic, last offset delta."""
_LOCATE_BYTES: Final = _LOCATE.size
_ONE_HEADER_BYTES: Final = 64
_MANY_HEADERS_BYTES: Final = 4096
_LARGE_BYTES: Final = 1024
"""Batches above this are visited header by header."""
_SMALLEST_SIZE: Final = 14
_locate = _LOCATE.unpack_from


class Segment(SegmentFiles):
    """A `.log` file with its offset, time and transaction index."""

    __slots__ = (
        "_pread",
        "_pwrite",
        "bytes_since_index_entry",
        "created_ms",
        "first_timestamp",
        "index_interval_bytes",
        "max_timestamp",
        "max_timestamp_offset",
        "roll_jitter_ms",
        "tail_offset",
        "tail_position",
        "was_mended",
    )

    def __init__(
        self,
        files: FileCache,
        directory: str,
        base_offset: int,
        config: LogConfig,
        created_ms: int,
        *,
        suffix: str = "",
        roll_jitter_ms: int = 0,
        has_aborted: bool = False,
    ) -> None:
        super().__init__(
            files, directory, base_offset, config.segment_index_bytes, suffix, has_aborted
        )
        self._pread, self._pwrite = files.fs.pread, files.fs.pwrite
        self.index_interval_bytes = config.index_interval_bytes
        self.roll_jitter_ms = roll_jitter_ms
        self.created_ms = created_ms
        self.bytes_since_index_entry = 0
        self.first_timestamp = UNKNOWN
        self.max_timestamp = NO_TIMESTAMP
        self.max_timestamp_offset = base_offset
        self.tail_offset = base_offset
        self.tail_position = 0
        self.was_mended = False
        """Whether its indexes had to be made anew since the log was opened."""

    def attach(self, size_bytes: int) -> None:
        """Take over files that are already there; indexes are read when first needed."""
        self.exists = self.names_are_durable = True
        self.size_bytes = size_bytes
        self.max_timestamp = UNKNOWN
        self._indexes_loaded = False
        self.tail_offset = MAX_RELATIVE_OFFSET + self.base_offset + 1

    def reset_indexes(self) -> None:
        """Empty all indexes, whatever their files hold; recovery fills them again."""
        self.names_are_durable = False
        self.transaction_index.reset()
        self.reset_offset_and_time_index()

    def reset_offset_and_time_index(self) -> None:
        """Empty the two sparse indexes, whatever their files hold."""
        self._offset_index.start_empty()
        self._time_index.start_empty()
        self._indexes_loaded = True
        self.is_index_full = False
        self.bytes_since_index_entry = 0
        self.max_timestamp, self.max_timestamp_offset = NO_TIMESTAMP, self.base_offset

    def largest_timestamp(self) -> tuple[int, int]:
        """(largest timestamp, last offset of the batch that holds it); (-1, base) if none."""
        if self.max_timestamp == UNKNOWN:
            index = self.time_index
            self.max_timestamp, self.max_timestamp_offset = index.last_timestamp, index.last_offset
        return self.max_timestamp, self.max_timestamp_offset

    def read_first_timestamp(self) -> int:
        """Largest timestamp of the first batch, read once; -1 if there is none."""
        if self.first_timestamp == UNKNOWN:
            fd = self.log_file.open().fd if self.size_bytes else -1
            found = next(read_batches(self._pread, fd, 0, self.size_bytes, 4096), None)
            if found is None:
                return NO_TIMESTAMP
            self.first_timestamp = found[1].max_timestamp
        return self.first_timestamp

    # --- appending ---------------------------------------------------------------------

    def append(
        self, data: Buffer, first_offset: int, last_offset: int, timestamp: int, at_offset: int
    ) -> None:
        """Write one batch; `timestamp` is its largest, found in the batch ending `at_offset`."""
        position = self.size_bytes
        opened = self.log_file.opened or self._open_to_append()
        size = len(data)
        written = self._pwrite(opened.fd, data, position)
        if written != size:
            self._write_rest(opened.fd, memoryview(data)[written:], position + written)
        self.note_batch(position, size, last_offset, timestamp, at_offset)
        self.tail_offset, self.tail_position = first_offset, position

    def append_set(self, data: Buffer, headers: Sequence[BatchHeader]) -> None:
        """Write a set of batches that lie back to back from the start of `data`."""
        start = self.size_bytes
        opened = self.log_file.opened or self._open_to_append()
        self._write_rest(opened.fd, memoryview(data), start)
        for header in headers:
            last = header.last_offset
            self.note_batch(
                start + header.position, header.size_bytes, last, header.max_timestamp, last
            )
        self.tail_offset = headers[-1].base_offset
        self.tail_position = start + headers[-1].position

    def note_batch(
        self, position: int, size: int, last_offset: int, timestamp: int, at_offset: int
    ) -> None:
        """Take a batch that lies at `position` into the sizes, timestamps and indexes."""
        if position == 0:
            self.first_timestamp = timestamp
        if timestamp > self.max_timestamp:
            self.max_timestamp, self.max_timestamp_offset = timestamp, at_offset
        since = self.bytes_since_index_entry
        if since > self.index_interval_bytes:
            self._offset_index.append(last_offset, position)
            self._time_index.maybe_append(self.max_timestamp, self.max_timestamp_offset)
            self.is_index_full = self._offset_index.is_full or self._time_index.is_full
            since = 0
        self.bytes_since_index_entry = since + size
        self.size_bytes = position + size

    def note_aborted(self, completed: CompletedTransaction, stable_offset: int) -> None:
        """Take a transaction whose abort marker lies here into the transaction index."""
        if not self.transaction_index.exists:
            self.names_are_durable = False
        self.transaction_index.append(
            AbortedTransaction(
                completed.producer_id, completed.first_offset, completed.last_offset, stable_offset
            )
        )

    def _open_to_append(self) -> OpenFile:
        self.exists = True
        return self.log_file.create()

    def _write_rest(self, fd: int, rest: memoryview, position: int) -> None:
        while rest:
            written = self._pwrite(fd, rest, position)
            rest, position = rest[written:], position + written

    # --- reading -----------------------------------------------------------------------

    def locate(self, offset: int) -> tuple[int, int] | None:
        """(position, size) of the first batch that ends at or after `offset`, if there is one.

        Raises CorruptIndex if the index has led past the offset or between batches.
        """
        if offset >= self.tail_offset:
            position = self.tail_position
        else:
            if not self._indexes_loaded:
                self._load_indexes()
            position = self._offset_index.position_for(offset)
            if not 0 <= position <= self.size_bytes:
                raise self._misled(position, position)
        start = position
        file = self.log_file
        fd = (file.opened or file.open()).fd
        file.used = True
        pread, end, wanted = self._pread, self.size_bytes, _ONE_HEADER_BYTES
        while position < end:
            chunk = pread(fd, wanted, position)
            if len(chunk) < _LOCATE_BYTES:
                chunk = chunk.ljust(_LOCATE_BYTES, b"\0")
            at, limit = 0, len(chunk) - _LOCATE_BYTES
            while at <= limit:
                base, size, magic, delta = _locate(chunk, at)
                found = position + at
                if (base + delta if magic == 2 else base) >= offset:
                    if found >= end:
                        return None
                    if (
                        not 0 <= magic <= 2
                        or not _SMALLEST_SIZE <= size <= end - found - 12
                        or base - self.base_offset > MAX_RELATIVE_OFFSET
                        or (base > offset and magic == 2 and found == start > 0)
                    ):
                        raise self._misled(start, found)
                    return found, size + 12
                if size < _SMALLEST_SIZE:
                    raise self._misled(start, found)
                at += size + 12
            position += at
            wanted = _ONE_HEADER_BYTES if size > _LARGE_BYTES else _MANY_HEADERS_BYTES
        return None

    def _misled(self, start: int, position: int) -> CorruptIndex | CorruptBatch:
        """Either the index has led astray, or what lies there is no batch."""
        reason = f"{self.log_file.path}: no batch at position {position}"
        return CorruptIndex(reason) if start else CorruptBatch(reason)

    def read_next_offset(self) -> int:
        """The offset after the last batch; CorruptBatch if the end of the file is no batch."""
        start = self.offset_index.lookup(self.base_offset + MAX_RELATIVE_OFFSET)[1]
        next_offset = self.base_offset
        if self.size_bytes:
            fd = self.log_file.open().fd
            for _, header, _ in read_batches(self._pread, fd, start, self.size_bytes, 64 << 10):
                next_offset = header.next_offset
        return next_offset

    def can_hold(self, offset: int) -> bool:
        """Whether the offset fits the four bytes an index entry has for it."""
        return 0 <= offset - self.base_offset <= MAX_RELATIVE_OFFSET

    def truncate_to(self, offset: int, now_ms: int) -> None:
        """Drop the batches that end at or after `offset`."""
        found = self.locate(offset) if self.exists else None
        if found is None:
            return
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.transaction_index.truncate_to(offset)
        self.is_index_full = False
        self.bytes_since_index_entry = 0
        self.cut(found[0])
        self.tail_offset = self.base_offset + MAX_RELATIVE_OFFSET + 1
        if not self.size_bytes:
            self.created_ms, self.first_timestamp = now_ms, UNKNOWN
        self._find_largest_timestamp()

    def _find_largest_timestamp(self) -> None:
        """From the time index and the batches behind its last entry."""
        index = self.time_index
        self.max_timestamp, self.max_timestamp_offset = index.last_timestamp, index.last_offset
        if self.size_bytes:
            start = self.offset_index.lookup(index.last_offset)[1]
            fd = self.log_file.open().fd
            for _, header, _ in read_batches(self._pread, fd, start, self.size_bytes):
                if header.max_timestamp > self.max_timestamp:
                    self.max_timestamp = header.max_timestamp
                    self.max_timestamp_offset = header.last_offset

    def finish(self) -> None:
        """Complete the indexes: this segment will not be appended to again."""
        if self.exists:
            index = self.time_index
            index.maybe_append(*self.largest_timestamp())
            index.trim()
            self.offset_index.trim()
