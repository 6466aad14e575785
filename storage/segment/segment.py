"""One stretch of a partition's log: a `.log` file of batches, its indexes, nothing decided.

The `.log` file is batches back to back. `size_bytes` is the truth about where it ends: bytes
behind that, left by a write that failed half-way, are never read and are overwritten by the
next append.
"""

from collections.abc import Sequence

from barnabas.storage.batch.header import NO_TIMESTAMP, BatchHeader, Buffer
from barnabas.storage.batch.reader import read_batches
from barnabas.storage.disk.open_files import FileCache, OpenFile
from barnabas.storage.log_config import LogConfig
from barnabas.storage.producers.entry import CompletedTransaction
from barnabas.storage.segment.offset_index import MAX_RELATIVE_OFFSET
from barnabas.storage.segment.search import UNKNOWN, SegmentSearch
from barnabas.storage.segment.transaction_index import AbortedTransaction


class Segment(SegmentSearch):
    """A `.log` file with its offset, time and transaction index."""

    __slots__ = (
        "bytes_since_index_entry",
        "created_ms",
        "index_interval_bytes",
        "max_timestamp",
        "max_timestamp_offset",
        "roll_jitter_ms",
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
        self.index_interval_bytes = config.index_interval_bytes
        self.roll_jitter_ms = roll_jitter_ms
        self.created_ms = created_ms
        self.bytes_since_index_entry = 0
        self.max_timestamp = NO_TIMESTAMP
        self.max_timestamp_offset = base_offset
        self.was_mended = False
        """Whether its indexes had to be made anew since the log was opened."""

    def attach(self, size_bytes: int) -> None:
        """Take over files that are already there; indexes are read when first needed."""
        self.exists = True
        self.synced_name_changes = self.name_changes
        self.size_bytes = size_bytes
        self.max_timestamp = UNKNOWN
        self._indexes_loaded = False
        self.tail_offset = MAX_RELATIVE_OFFSET + self.base_offset + 1

    def reset_indexes(self) -> None:
        """Empty all indexes, whatever their files hold; recovery fills them again."""
        self.transaction_index.reset()
        self.reset_offset_and_time_index()

    def reset_offset_and_time_index(self) -> None:
        """Empty the two sparse indexes, whatever their files hold."""
        self.name_changes += 1
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

    # --- appending ---------------------------------------------------------------------

    def append(
        self, data: Buffer, first_offset: int, last_offset: int, timestamp: int, at_offset: int
    ) -> None:
        """Write one batch; `timestamp` is its largest, found in the batch ending `at_offset`."""
        position = self.size_bytes
        opened = self.log_file.opened or self._open_to_append()
        opened.write(data, position)
        size = len(data)
        self.note_batch(position, size, last_offset, timestamp, at_offset)
        self.tail_offset, self.tail_position = first_offset, position
        self.tail_end_offset = last_offset + 1

    def append_set(self, data: Buffer, headers: Sequence[BatchHeader]) -> None:
        """Write a set of batches that lie back to back from the start of `data`."""
        start = self.size_bytes
        opened = self.log_file.opened or self._open_to_append()
        opened.write(data, start)
        for header in headers:
            last = header.last_offset
            self.note_batch(
                start + header.position, header.size_bytes, last, header.max_timestamp, last
            )
        last_header = headers[-1]
        self.tail_offset = last_header.base_offset
        self.tail_end_offset = last_header.last_offset + 1
        self.tail_position = start + last_header.position

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
            self.name_changes += 1
        self.transaction_index.append(
            AbortedTransaction(
                completed.producer_id, completed.first_offset, completed.last_offset, stable_offset
            )
        )

    def _open_to_append(self) -> OpenFile:
        opened = self.log_file.create()
        if not self.exists:
            self.create_indexes()
            self.exists = True
        return opened

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
            found = self.locate(index.last_offset)
            start = self.size_bytes if found is None else found[0]
            for _, header, _ in read_batches(self.log_file.open(), start, self.size_bytes):
                if header.max_timestamp > self.max_timestamp:
                    self.max_timestamp = header.max_timestamp
                    self.max_timestamp_offset = header.last_offset

    def finish(self) -> bool:
        """Complete the indexes: this segment will not be appended to again.

        False if they were complete.
        """
        if not self.exists:
            return False
        index = self.time_index
        index.maybe_append(*self.largest_timestamp())
        changes = index.trim()
        return self.offset_index.trim() or changes
