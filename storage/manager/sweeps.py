"""Work over all logs that comes round again, done a slice at a time.

A sweep says after each step how much that was, in looks at a log and file calls, so that the
caller has a turn after about so many of them, whether ten thousand logs need one each or one log
needs ten thousand.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from barnabas.storage.log_config import FOREVER

LOOK: Final = 1
"""What it costs to look at a log that needs nothing."""
LOOK_INSIDE: Final = 2
"""The same, if its segments have to be looked at."""
WAIT: Final = 1 << 30
"""Told by a sweep that can do nothing more now: what it waits for is the disk's."""

Sweep = Callable[[], Iterator[int]]
"""Begins a sweep; yields after each step what that has cost. What time it is it asks at each."""


class Task:
    """A sweep with its interval."""

    def __init__(self, interval_ms: int, sweep: Sweep) -> None:
        self.interval_ms = interval_ms
        self.due_ms = FOREVER
        """When its next slice is to be done, by the monotonic clock; nothing until it is set."""
        self._sweep = sweep
        self._running: Iterator[int] | None = None

    def run(self, monotonic_ms: int, most: int) -> int:
        """Go on, if it is time, until `most` is used up: how much was used."""
        if self.due_ms > monotonic_ms:
            return 0
        running = self._running or self._sweep()
        # Should this slice fail, the next sweep comes all the same.
        due_ms, self._running, self.due_ms = self.due_ms, None, monotonic_ms + self.interval_ms
        used = 0
        for cost in running:
            used += cost
            if used >= most:
                self._running, self.due_ms = running, due_ms
                break
        return used


class Tasks:
    """Several sweeps that share a slice; the one that used up the last comes last."""

    def __init__(self, tasks: Iterable[Task], on_failure: Callable[[], None]) -> None:
        self._tasks = deque(tasks)
        self._on_failure = on_failure
        """Called where a sweep raises, while the exception is handled."""

    def start(self, monotonic_ms: int, most_delay_ms: int) -> None:
        """Count the intervals from now on."""
        for task in self._tasks:
            if task.interval_ms < FOREVER:
                task.due_ms = monotonic_ms + min(task.interval_ms, most_delay_ms)

    @property
    def due_ms(self) -> int:
        """When to call `run` again."""
        return min(task.due_ms for task in self._tasks)

    def run(self, monotonic_ms: int, most: int) -> None:
        """Do a slice of all that is due."""
        left = most
        for _ in range(len(self._tasks)):
            task = self._tasks[0]
            self._tasks.rotate(-1)
            try:
                used = task.run(monotonic_ms, left)
            except Exception:
                self._on_failure()
                continue
            left -= used % WAIT
            if left <= 0:
                return
