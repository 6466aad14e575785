"""A sweep that is done every so often, a slice at a time."""

from collections.abc import Callable, Iterator

from barnabas.storage.log_config import FOREVER

Sweep = Callable[[int], Iterator[None]]
"""Begins a sweep at a time of the wall clock; yields wherever it may be interrupted."""


class Task:
    """A sweep with its interval."""

    def __init__(self, interval_ms: int, sweep: Sweep) -> None:
        self.interval_ms = interval_ms
        self.due_ms = FOREVER
        """When its next slice is to be done, by the monotonic clock; nothing until it is set."""
        self._sweep = sweep
        self._running: Iterator[None] | None = None

    def run(self, now_ms: int, monotonic_ms: int) -> None:
        """Do the next slice if it is time."""
        if self.due_ms > monotonic_ms:
            return
        if self._running is None:
            self._running = self._sweep(now_ms)
        if next(self._running, self) is self:
            self._running = None
            self.due_ms = monotonic_ms + self.interval_ms
