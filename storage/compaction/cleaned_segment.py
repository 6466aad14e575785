"""The segment that compaction writes, `<base offset>.log.cleaned` with its indexes.

Batches are gathered to about `write_bytes` before they are written, each write to the position
where its bytes belong. `finish` makes all four files complete and durable, their names too,
and then reads the `.log` back through a descriptor of its own: what is reported is what is
in the file. The log renames them into place.
"""

from typing import NamedTuple

from barnabas.storage.batch.header import MAGIC_V2
from barnabas.storage.batch.reader import read_batches
from barnabas.storage.compaction.batch_filter import FilteredBatch, check_crc
from barnabas.storage.compaction.job import CompactionJob
from barnabas.storage.disk.fs import (
    READ,
    Buffer,
    FileSystem,
    remove_path,
    sync_directory,
)
from barnabas.storage.disk.open_files import FileCache, OpenFile
from barnabas.storage.errors import CorruptBatch
from barnabas.storage.file_names import CLEANED, SEGMENT_EXTENSIONS, segment_path
from barnabas.storage.segment.segment import Segment
from barnabas.storage.segment.transaction_index import AbortedTransaction


class Extent(NamedTuple):
    """What a segment holds; `last_offset` is one below its base offset if it holds nothing."""

    size_bytes: int
    record_count: int
    last_offset: int


class CleanedSegment:
    """Takes what is left of batches, in offset order."""

    def __init__(self, fs: FileSystem, job: CompactionJob, base_offset: int) -> None:
        directory = job.directory
        for extension in SEGMENT_EXTENSIONS:
            remove_path(fs, segment_path(directory, base_offset, extension, CLEANED))
        self._fs = fs
        self._job = job
        files = FileCache(fs, job.open_files)
        self.segment = Segment(files, directory, base_offset, job.config, 0, suffix=CLEANED)
        self.segment.create()
        self._pending: list[Buffer] = []
        self._pending_bytes = 0
        self._extent = Extent(0, 0, base_offset - 1)

    def append(self, batch: FilteredBatch) -> None:
        """Add a batch; raises CorruptBatch past what the indexes can point to."""
        size, records, _ = self._extent
        added = sum(len(piece) for piece in batch.pieces)
        if size + added > self._job.most_segment_bytes:
            raise CorruptBatch(
                f"its segment would grow past {self._job.most_segment_bytes} bytes",
                offset=batch.last_offset,
            )
        self._pending += batch.pieces
        self._pending_bytes += added
        last = batch.last_offset
        self.segment.note_batch(size, added, last, batch.max_timestamp, last)
        self._extent = Extent(size + added, records + batch.record_count, last)
        if self._pending_bytes >= self._job.write_bytes:
            self._write()

    def keep_aborted(self, transaction: AbortedTransaction) -> None:
        """Keep an aborted transaction in the transaction index."""
        self.segment.transaction_index.append(transaction)

    def _write(self) -> None:
        if self._pending:
            position = self._extent.size_bytes - self._pending_bytes
            self.segment.log_file.open().write(b"".join(self._pending), position)
            self._pending.clear()
            self._pending_bytes = 0

    def finish(self, modified_ns: int) -> Extent:
        """Make all files complete and durable, and hold the `.log` against what was appended.

        The `.log` gets the age of what it replaces. Raises CorruptBatch if the file holds
        something else.
        """
        self._write()
        path = self.segment.log_file.path
        self.segment.finish()
        self._fs.set_times(path, (modified_ns / 1e9, modified_ns / 1e9))
        self.segment.sync()
        self.segment.close()
        sync_directory(self._fs, self._job.directory)
        found = read_extent(self._fs, path, self.segment.base_offset, self._job.read_bytes)
        if found != self._extent:
            raise CorruptBatch(f"{path} was written as {self._extent} and is {found}")
        return found


def read_extent(fs: FileSystem, path: str, base_offset: int, chunk_bytes: int) -> Extent:
    """What a `.log` file holds, batch by batch; raises CorruptBatch and OSError."""
    file = OpenFile(fs, fs.open(path, READ, 0))
    size, records, last_offset = file.size_bytes(), 0, base_offset - 1
    for _, header, chunk in read_batches(file, 0, size, chunk_bytes):
        check_crc(chunk, header)
        if header.last_offset <= last_offset:
            raise CorruptBatch(f"{path}: offsets do not rise", offset=header.last_offset)
        records += header.record_count if header.magic >= MAGIC_V2 else 1
        last_offset = header.last_offset
    return Extent(size, records, last_offset)
