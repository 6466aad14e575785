"""One stretch of a partition's log: a `.log` file of batches, its indexes, nothing decided.

The `.log` file is batches back to back. Files are made by the first append; a segment that is
not written holds no descriptor of its own but takes one from the file cache when it is read.
`size_bytes` is the truth about where the segment ends: bytes behind it, left by a write that
failed half-way, are never read and are overwritten by the next append.
"""

from collections.abc import Sequence
from contextlib import suppress
from struct import Struct
from typing import Final

from barnabas.storage.batch import NO_TIMESTAMP, BatchHeader, Buffer
from barnabas.storage.batch_reader import read_batches
from barnabas.storage.errors import CorruptBatch
from barnabas.storage.file_slice import CachedFile, FileCache, FileSlice, OpenFile
from barnabas.storage.log_config import LogConfig
from barnabas.storage.offset_index import MAX_RELATIVE_OFFSET, OffsetIndex
from barnabas.storage.producer_entry import CompletedTransaction
from barnabas.storage.time_index import TimeIndex
from barnabas.storage.transaction_index import AbortedTransaction, TransactionIndex

LOG, INDEX, TIME_INDEX, TRANSACTION_INDEX = ".log", ".index", ".timeindex", ".txnindex"
SEGMENT_EXTENSIONS: Final = (LOG, INDEX, TIME_INDEX, TRANSACTION_INDEX)
UNKNOWN: Final = -2
"""A largest timestamp that has to be looked up first."""

_LOCATE: Final = Struct(">qi4xb6xi")
"""Of a batch's header: offset, size behind byte 12, magic, last offset delta."""
_LOCATE_BYTES: Final = _LOCATE.size
_LOCATE_CHUNK_BYTES: Final = 2048
_SMALLEST_SIZE: Final = 14
_locate = _LOCATE.unpack_from


def segment_path(directory: str, base_offset: int, extension: str, suffix: str = "") -> str:
    """Path of one of a segment's files; `suffix` is "", .cleaned, .swap or .deleted."""
    return f"{directory}/{base_offset:020d}{extension}{suffix}"


class Segment:
    """A `.log` file with its offset, time and transaction index."""

    __slots__ = (
        "_indexes_loaded",
        "_offset_index",
        "_pread",
        "_pwrite",
        "_time_index",
        "base_offset",
        "bytes_since_index_entry",
        "created_ms",
        "exists",
        "files",
        "first_timestamp",
        "index_interval_bytes",
        "is_index_full",
        "log_file",
        "max_timestamp",
        "max_timestamp_offset",
        "roll_jitter_ms",
        "size_bytes",
        "tail_offset",
        "tail_position",
        "transaction_index",
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
        def path(extension: str) -> str:
            return segment_path(directory, base_offset, extension, suffix)

        self.files = files
        self._pread, self._pwrite = files.fs.pread, files.fs.pwrite
        self.base_offset = base_offset
        self.log_file = CachedFile(files, path(LOG))
        most = config.segment_index_bytes
        self._offset_index = OffsetIndex(files, path(INDEX), base_offset, most)
        self._time_index = TimeIndex(files, path(TIME_INDEX), base_offset, most)
        self.transaction_index = TransactionIndex(
            files, path(TRANSACTION_INDEX), base_offset, exists=has_aborted
        )
        self.index_interval_bytes = config.index_interval_bytes
        self.roll_jitter_ms = roll_jitter_ms
        self.created_ms = created_ms
        self.exists = False
        self.size_bytes = 0
        self.bytes_since_index_entry = 0
        self.is_index_full = False
        self.first_timestamp = UNKNOWN
        self.max_timestamp = NO_TIMESTAMP
        self.max_timestamp_offset = base_offset
        self.tail_offset = base_offset
        self.tail_position = 0
        self._indexes_loaded = True

    def attach(self, size_bytes: int) -> None:
        """Take over files that are already there; indexes are read when first needed."""
        self.exists = True
        self.size_bytes = size_bytes
        self.max_timestamp = UNKNOWN
        self._indexes_loaded = False
        self.tail_offset = MAX_RELATIVE_OFFSET + self.base_offset + 1

    def create(self) -> None:
        """Make the files of an empty segment, so that its base offset outlives a restart."""
        self.log_file.create()
        self.exists = True
        self._offset_index.trim()
        self._time_index.trim()

    # --- indexes -----------------------------------------------------------------------

    @property
    def offset_index(self) -> OffsetIndex:
        """The offset index, read and checked on first use; CorruptIndex if it is bad."""
        if not self._indexes_loaded:
            self._load_indexes()
        return self._offset_index

    @property
    def time_index(self) -> TimeIndex:
        """The time index, read and checked on first use; CorruptIndex if it is bad."""
        if not self._indexes_loaded:
            self._load_indexes()
        return self._time_index

    def _load_indexes(self) -> None:
        self._offset_index.load()
        self._time_index.load()
        self._indexes_loaded = True
        self.is_index_full = self._offset_index.is_full or self._time_index.is_full

    def reset_indexes(self) -> None:
        """Empty all indexes, whatever their files hold; recovery fills them again."""
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
        """(position, size) of the first batch that ends at or after `offset`, if there is one."""
        if offset >= self.tail_offset:
            position = self.tail_position
        else:
            position = self.offset_index.lookup(offset)[1]
        file = self.log_file
        fd = (file.opened or file.open()).fd
        file.used = True
        pread, end = self._pread, self.size_bytes
        while position < end:
            chunk = pread(fd, _LOCATE_CHUNK_BYTES, position)
            if len(chunk) < _LOCATE_BYTES:
                chunk = chunk.ljust(_LOCATE_BYTES, b"\0")
            at, limit = 0, len(chunk) - _LOCATE_BYTES
            while at <= limit:
                last, size, magic, delta = _locate(chunk, at)
                if magic == 2:
                    last += delta
                if last >= offset:
                    return (position + at, size + 12) if position + at < end else None
                if size < _SMALLEST_SIZE:
                    raise CorruptBatch(f"{file.path}: no batch at position {position + at}")
                at += size + 12
            position += at
        return None

    def read_next_offset(self) -> int:
        """The offset after the last batch; CorruptBatch if the end of the file is no batch."""
        start = self.offset_index.lookup(self.base_offset + MAX_RELATIVE_OFFSET)[1]
        next_offset = self.base_offset
        if self.size_bytes:
            fd = self.log_file.open().fd
            for _, header, _ in read_batches(self._pread, fd, start, self.size_bytes, 64 << 10):
                next_offset = header.next_offset
        return next_offset

    def slice(self, position: int, size: int) -> FileSlice:
        """A stretch of the `.log` file to send."""
        file = self.log_file
        return FileSlice(self.files.fs, file.opened or file.open(), position, size)

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

    # --- rolling, truncating, closing --------------------------------------------------

    def can_hold(self, offset: int) -> bool:
        """Whether the offset fits the four bytes an index entry has for it."""
        return 0 <= offset - self.base_offset <= MAX_RELATIVE_OFFSET

    def finish(self) -> None:
        """Complete the indexes: this segment will not be appended to again."""
        if self.exists:
            index = self.time_index
            index.maybe_append(*self.largest_timestamp())
            index.trim()
            self.offset_index.trim()

    def files_to_sync(self) -> list[OpenFile]:
        """Write out what is still in memory; the files to sync so that it is durable."""
        files = [self.log_file.open()]
        if self._indexes_loaded:
            self._offset_index.spill()
            self._time_index.spill()
            files += [index.file.create() for index in (self._offset_index, self._time_index)]
        if self.transaction_index.exists:
            files.append(self.transaction_index.file.open())
        return files

    def sync(self) -> None:
        """Make everything appended so far durable."""
        for file in self.files_to_sync() if self.exists else ():
            self.files.fs.fsync(file.fd)

    def cut(self, position: int) -> None:
        """Let the `.log` file end at `position`."""
        if self.log_file.size() != position:
            self.files.fs.ftruncate(self.log_file.open().fd, position)
        self.size_bytes = position

    def close(self) -> None:
        """Give up the descriptors; slices keep theirs."""
        self.log_file.close()
        self._offset_index.close()
        self._time_index.close()
        self.transaction_index.close()

    def each_file(self) -> tuple[CachedFile, ...]:
        """The four files, whether they exist or not, the `.log` first."""
        return (
            self.log_file,
            self._offset_index.file,
            self._time_index.file,
            self.transaction_index.file,
        )

    def change_suffix(self, old: str, new: str) -> None:
        """Rename the files from one suffix to another; missing ones are passed over."""
        for file in self.each_file():
            with suppress(FileNotFoundError):
                file.rename(file.path.removesuffix(old) + new)
