"""The date, for telling what has been idle for long, when somebody sets it.

What is forgotten after so many hours of silence was last heard of at some date. If the date is set
forward, everything looks older than it is: producers of a moment ago would be forgotten, and what
they send again would not be recognised. So what the date was set forward by is taken off, until as
much time has passed as makes anything idle that has not been heard of since.
"""

from collections import deque
from typing import Final

LEAST_JUMP_MS: Final = 1_000
"""Less is what clocks that are being adjusted drift apart."""


class SteadyDate:
    """Watches the date against the clock that nobody sets."""

    def __init__(self) -> None:
        self._difference_ms: float | None = None
        self._jumps: deque[tuple[float, float]] = deque()
        """(when by the monotonic clock, by how much) the date was set forward."""

    def watch(self, now_ms: float, monotonic_ms: float) -> None:
        """See what the clocks say; the more often, the sooner a jump is noticed."""
        difference_ms = now_ms - monotonic_ms
        if self._difference_ms is not None:
            jump_ms = difference_ms - self._difference_ms
            if jump_ms >= LEAST_JUMP_MS:
                self._jumps.append((monotonic_ms, jump_ms))
            elif jump_ms <= -LEAST_JUMP_MS:
                self._take_back(-jump_ms)
        self._difference_ms = difference_ms

    def _take_back(self, jump_ms: float) -> None:
        """The date was set back: by so much it is not ahead any more."""
        while self._jumps and jump_ms > 0:
            at_ms, ahead_ms = self._jumps.pop()
            if ahead_ms > jump_ms:
                self._jumps.append((at_ms, ahead_ms - jump_ms))
            jump_ms -= ahead_ms

    def before_jumps(self, now_ms: float, monotonic_ms: float, silence_ms: float) -> int:
        """The date without what it was set forward by in the last `silence_ms`."""
        self.watch(now_ms, monotonic_ms)
        while self._jumps and monotonic_ms - self._jumps[0][0] > silence_ms:
            self._jumps.popleft()
        return int(now_ms - sum(jump_ms for _, jump_ms in self._jumps))
