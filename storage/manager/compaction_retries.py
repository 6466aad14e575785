"""When a log whose compaction came to nothing is tried again.

A log that changed under its compaction is asked for again at once, and then spared by retention
until it is done (Kafka's retention always waits for the cleaner): otherwise a log whose oldest
segment goes every minute would never be compacted if that takes two. What failed for a reason
that may pass (no descriptor left, a child that died) waits, twice as long each time.
"""

from typing import Final

from barnabas.storage.directory_names import TopicPartition

MOST_WAIT_MS: Final = 300_000


class CompactionRetries:
    """Of each log, what its compactions came to since the last that was finished."""

    def __init__(self) -> None:
        self._changed: set[TopicPartition] = set()
        self._waits: dict[TopicPartition, tuple[int, int]] = {}
        """(how long the last wait was, when it ends), in ms."""

    def changed(self, partition: TopicPartition) -> None:
        """The log changed under its compaction."""
        self._changed.add(partition)

    def has_changed(self, partition: TopicPartition) -> bool:
        """Whether the log changed under its last compaction."""
        return partition in self._changed

    def failed(self, partition: TopicPartition, now_ms: int, first_wait_ms: int) -> int:
        """It failed for a reason that may pass: how long it is left alone."""
        last_ms, _ = self._waits.get(partition, (0, 0))
        wait_ms = min(max(2 * last_ms, first_wait_ms, 1), MOST_WAIT_MS)
        self._waits[partition] = (wait_ms, now_ms + wait_ms)
        return wait_ms

    def is_waiting(self, partition: TopicPartition, now_ms: int) -> bool:
        """Whether it is to be left alone now."""
        return partition in self._waits and self._waits[partition][1] > now_ms

    def forget(self, partition: TopicPartition) -> None:
        """The log is compacted, or there is none any more."""
        self._changed.discard(partition)
        self._waits.pop(partition, None)
