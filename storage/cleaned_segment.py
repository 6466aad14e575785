"""The segment that compaction writes, `<base offset>.log.cleaned` with its indexes.

Batches are gathered to about `write_bytes` before they are written. Once `finish` returns, all
four files are complete and on the disk; the log renames them into place.
"""

from typing import Final

from barnabas.storage.batch_filter import FilteredBatch
from barnabas.storage.file_slice import FileCache
from barnabas.storage.fs import Buffer, remove_path, write_all
from barnabas.storage.log_config import LogConfig
from barnabas.storage.segment import Segment
from barnabas.storage.segment_files import CLEANED, SEGMENT_EXTENSIONS, segment_path
from barnabas.storage.transaction_index import AbortedTransaction

_WRITE_BYTES: Final = 1 << 20


class CleanedSegment:
    """Takes what is left of batches, in offset order."""

    def __init__(
        self,
        files: FileCache,
        directory: str,
        base_offset: int,
        config: LogConfig,
        write_bytes: int = _WRITE_BYTES,
    ):
        for extension in SEGMENT_EXTENSIONS:
            remove_path(files.fs, segment_path(directory, base_offset, extension, CLEANED))
        self._fs = files.fs
        self.segment = Segment(files, directory, base_offset, config, 0, suffix=CLEANED)
        self.segment.create()
        self._pending: list[Buffer] = []
        self._pending_bytes = 0
        self._write_bytes = write_bytes

    @property
    def size_bytes(self) -> int:
        """Bytes of the `.log` file so far."""
        return self.segment.size_bytes

    def append(self, batch: FilteredBatch) -> None:
        """Add a batch."""
        size = sum(len(piece) for piece in batch.pieces)
        self._pending += batch.pieces
        self._pending_bytes += size
        self.segment.note_batch(
            self.segment.size_bytes, size, batch.last_offset, batch.max_timestamp, batch.last_offset
        )
        if self._pending_bytes >= self._write_bytes:
            self._write()

    def keep_aborted(self, transaction: AbortedTransaction) -> None:
        """Keep an aborted transaction in the transaction index."""
        self.segment.transaction_index.append(transaction)

    def _write(self) -> None:
        if self._pending:
            write_all(self._fs, self.segment.log_file.open().fd, b"".join(self._pending))
            self._pending.clear()
            self._pending_bytes = 0

    def finish(self, modified_ns: int) -> None:
        """Make all files complete and durable; the `.log` gets the age of what it replaces."""
        self._write()
        self.segment.finish()
        self.segment.sync()
        self._fs.set_times(self.segment.log_file.path, (modified_ns / 1e9, modified_ns / 1e9))
        self.segment.close()
