"""Which log to compact next, and how far: pure decisions.

A log has a clean head, up to its cleaner checkpoint, and a dirty tail. The tail may be
compacted up to the active segment, the last stable offset, and the first segment younger
than `min.compaction.lag.ms`. The log with the largest dirty share goes first, if that share
exceeds `min.cleanable.dirty.ratio` or something has waited `max.compaction.lag.ms`.
Source: Kafka's LogCleanerManager.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from barnabas.storage.directory_names import TopicPartition


@dataclass(frozen=True, slots=True)
class DirtySegment:
    """A closed segment at or after the first dirty offset; timestamps in ms, -1 for none."""

    base_offset: int
    first_timestamp: int
    largest_timestamp: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A log that could be compacted from `first_dirty_offset` to `first_uncleanable_offset`."""

    topic_partition: TopicPartition
    first_dirty_offset: int
    first_uncleanable_offset: int
    clean_bytes: int
    cleanable_bytes: int
    min_dirty_ratio: float
    is_overdue: bool = False

    @property
    def dirty_ratio(self) -> float:
        """The share of the log, as far as it can be compacted, that is dirty."""
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0

    @property
    def is_due(self) -> bool:
        """Whether compacting it is worth while or overdue."""
        if self.is_overdue and self.cleanable_bytes:
            return True
        return self.dirty_ratio > self.min_dirty_ratio


def due_in_order(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Those to compact, the dirtiest first."""
    due = [candidate for candidate in candidates if candidate.is_due]
    return sorted(due, key=lambda candidate: candidate.dirty_ratio, reverse=True)


def first_dirty_offset(checkpoint: int | None, log_start_offset: int, log_end_offset: int) -> int:
    """Where the dirty part begins.

    A checkpoint outside the log (records were deleted, or the log was truncated and so has
    other records now) means that nothing of it is known to be clean.
    """
    if checkpoint is None or not log_start_offset <= checkpoint <= log_end_offset:
        return log_start_offset
    return checkpoint


def first_uncleanable_offset(
    dirty: Sequence[DirtySegment],
    first_dirty: int,
    last_stable_offset: int,
    active_base_offset: int,
    min_lag_ms: int,
    now_ms: int,
) -> int:
    """Where compaction must stop."""
    stop = min(last_stable_offset, active_base_offset)
    if min_lag_ms > 0:
        for segment in dirty:
            if segment.largest_timestamp > now_ms - min_lag_ms:
                stop = min(stop, segment.base_offset)
                break
    return max(first_dirty, stop)


def is_overdue(dirty: Sequence[DirtySegment], max_lag_ms: int, now_ms: int) -> bool:
    """Has the oldest dirty record waited longer than `max.compaction.lag.ms`?"""
    timestamps = [segment.first_timestamp for segment in dirty if segment.first_timestamp > 0]
    return bool(timestamps) and min(timestamps) < now_ms - max_lag_ms
