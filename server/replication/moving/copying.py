"""One log on its way into another directory: what is to be copied next, and what comes of it.

    align    cut the copy to what it has in common with its source: when it begins, after a start
             of the broker, and whenever the source has been truncated
    next     a stretch of the source that the copy lacks
    take     append it, a piece at a time

Nothing waits here but for the files' names and indexes; the bytes are read by the caller. Every
method raises StorageError. Source: Kafka's ReplicaAlterLogDirsThread.
"""

from collections.abc import Iterator
from typing import Final

from barnabas.server.replication.fetching import replica
from barnabas.server.replication.fetching.truncation import EpochEnd, cut_for
from barnabas.storage.disk.open_files import FileSlice
from barnabas.storage.log.results import ReadBound
from barnabas.storage.manager.managed_log import ManagedLog

MOST_EPOCHS: Final = 100_000
"""Of which the source knows nothing; each is a step of `align`."""


class LogCopy:
    """A log and the one that is to replace it."""

    def __init__(self, source: ManagedLog, future: ManagedLog) -> None:
        """Both are in use; `align` has to follow."""
        self.source = source
        self.future = future
        self._truncations = source.store.truncations

    @property
    def lag(self) -> int:
        """Offsets that the copy lacks; below zero where the source has been truncated."""
        return self.source.log_end_offset - self.future.log_end_offset

    @property
    def is_aligned(self) -> bool:
        """Whether the source still holds all that was copied, and begins no later than the copy
        ends."""
        return (
            self._truncations == self.source.store.truncations
            and self.source.log_start_offset <= self.future.log_end_offset
        )

    @property
    def is_level(self) -> bool:
        """Whether the copy holds all that the source does."""
        return self.is_aligned and not self.lag

    def align(self, now_ms: int) -> None:
        """Cut the copy to what is a beginning of its source, as far as epochs tell."""
        source, future = self.source, self.future
        self._truncations = source.store.truncations
        for _ in range(MOST_EPOCHS):
            where = cut_for(
                EpochEnd(*source.lookup.end_offset_for_epoch(future.epochs.latest_epoch)),
                future.lookup.end_offset_for_epoch,
                future.log_end_offset,
                future.high_watermark,
            )
            before = future.log_end_offset, future.epochs.latest_epoch
            future.truncate_to(min(where.offset, source.log_end_offset), now_ms)
            if where.is_final or before == (future.log_end_offset, future.epochs.latest_epoch):
                break
        start = source.log_start_offset
        if not future.log_start_offset <= start <= future.log_end_offset:
            future.truncate_fully_and_start_at(start, now_ms)

    def next(self, most_bytes: int) -> FileSlice | None:
        """Up to so many bytes that the copy lacks, or one batch; None when it lacks none."""
        offset = self.future.log_end_offset
        if offset >= self.source.log_end_offset:
            return None
        return self.source.read(offset, most_bytes, bound=ReadBound.LOG_END).records

    def pieces(self, batches: bytes) -> Iterator[memoryview]:
        """What was read, as it is to be taken."""
        return replica.pieces_for(self.future, memoryview(batches))

    def take(self, batches: memoryview, now_ms: int) -> None:
        """Append what was read; a last batch that is cut short is left for the next time."""
        future, source = self.future, self.source
        replica.append_to(future, batches, now_ms)
        future.update_high_watermark(source.high_watermark)
        start = min(source.log_start_offset, future.high_watermark)
        future.maybe_increment_log_start_offset(start)
