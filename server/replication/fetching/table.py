"""The partitions that one fetcher follows.

Beside them stands what changes: of which of them something else may be wanted now than before, and
which are delayed. A round looks at those alone, however many are followed.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from barnabas.server.core.clock import Clock
from barnabas.server.core.topic_names import TopicPartition
from barnabas.server.replication.fetching.followed import (
    Followed,
    FollowerEvent,
    FollowerState,
)

LOOK_AGAIN_MS: Final = 500.0
"""What changes by itself, a log's start, is looked for so often."""


class FollowedTable:
    """The table of one fetcher."""

    def __init__(self, clock: Clock, backoff_ms: Callable[[], int]) -> None:
        """`backoff_ms` is the longest delay, `replica.fetch.backoff.ms`."""
        self._clock = clock
        self._backoff_ms = backoff_ms
        self._followed: dict[TopicPartition, Followed] = {}
        self._changed: dict[TopicPartition, None] = {}
        self._delayed: dict[TopicPartition, None] = {}
        self._truncating: dict[TopicPartition, None] = {}
        self._look_again_ms = 0.0
        self.stirred = asyncio.Event()
        """Set when there may be something to do."""

    @property
    def all(self) -> Mapping[TopicPartition, Followed]:
        """Those that have waited longest for records are the first."""
        return self._followed

    def __len__(self) -> int:
        return len(self._followed)

    def put(self, followed: Followed) -> None:
        """Follow a partition, in the place of what was followed under its name."""
        self.drop(followed.key)
        self._followed[followed.key] = followed
        if followed.state is FollowerState.TRUNCATING:
            self._truncating[followed.key] = None
        self.changed(followed)

    def drop(self, key: TopicPartition) -> None:
        """Follow a partition no longer."""
        if self._followed.pop(key, None) is not None:
            self._delayed.pop(key, None)
            self._truncating.pop(key, None)
            self._changed[key] = None
            self.stirred.set()

    def clear(self) -> None:
        """Follow nothing."""
        for key in tuple(self._followed):
            self.drop(key)

    def holds(self, followed: Followed) -> bool:
        """Whether it has been neither given up nor taken anew."""
        return self._followed.get(followed.key) is followed

    def served(self, followed: Followed) -> None:
        """It has got something: it is the last to get more."""
        if self.holds(followed):
            self._followed[followed.key] = self._followed.pop(followed.key)

    def changed(self, followed: Followed) -> None:
        """Something else may be wanted of it."""
        if followed.state is not FollowerState.TRUNCATING:
            self._truncating.pop(followed.key, None)
        self._changed[followed.key] = None
        self.stirred.set()

    def look_again(self, keys: Iterable[TopicPartition]) -> None:
        """Partitions that `take_changes` has named have not been looked at."""
        self._changed.update(dict.fromkeys(keys))

    def fail(self, followed: Followed) -> None:
        """Nothing more is done for it."""
        self.drop(followed.key)
        followed.happen(FollowerEvent.FAILED)

    def delay(self, followed: Followed) -> None:
        """Wait before its next try."""
        followed.delay(self._clock.monotonic_ms(), self._backoff_ms())
        self._note_delayed(followed)

    def delay_all(self) -> None:
        """Wait before the next try of each."""
        for followed in self._followed.values():
            self.delay(followed)

    def hold_off(self, followed: Followed, duration_ms: float) -> None:
        """Wait for so long, for no fault of anybody."""
        followed.not_before_ms = self._clock.monotonic_ms() + duration_ms
        self._note_delayed(followed)

    def _note_delayed(self, followed: Followed) -> None:
        self._delayed[followed.key] = self._changed[followed.key] = None

    def take_changes(self) -> dict[TopicPartition, None]:
        """The partitions of which something else may be wanted; they count as looked at."""
        now_ms = self._clock.monotonic_ms()
        for key in tuple(self._delayed):
            if self._followed[key].not_before_ms <= now_ms:
                del self._delayed[key]
                self._changed[key] = None
        if now_ms >= self._look_again_ms:
            self._look_again_ms = now_ms + LOOK_AGAIN_MS
            self._changed.update(dict.fromkeys(self._followed))
        changed, self._changed = self._changed, {}
        return changed

    def ready_to_truncate(self) -> list[Followed]:
        """Those whose log may have to be cut."""
        now_ms = self._clock.monotonic_ms()
        truncating = [self._followed[key] for key in self._truncating]
        return [each for each in truncating if each.not_before_ms <= now_ms]

    async def wait(self) -> None:
        """Wait for a change, for a delay to be over, or for the longest of delays."""
        now_ms = self._clock.monotonic_ms()
        due_ms = now_ms + self._backoff_ms()
        for key in self._delayed:
            due_ms = min(due_ms, self._followed[key].not_before_ms)
        self.stirred.clear()
        timer = self._clock.call_later(max(1.0, due_ms - now_ms), self.stirred.set)
        try:
            await self.stirred.wait()
        finally:
            timer.cancel()
