"""Replication that is throttled: so that replicas that are moved leave room for everybody else.

A leader holds back records from, and a follower does not ask for, replicas that are not in sync
while those that are throttled (`leader.` and `follower.replication.throttled.replicas` of the
topic) have taken more than their rate. In-sync replicas are never held up, but what they take
counts. The rate is that of the last `replication.quota.window.num` windows of
`replication.quota.window.size.seconds`, the present one included.

Source: Kafka's ReplicationQuotaManager and SimpleRate.
"""

from collections import deque
from collections.abc import Collection
from typing import Final

from barnabas.server.core.clock import Clock

UNLIMITED: Final = 2**63 - 1
EVERYBODY: Final = "*"


class ReplicationQuota:
    """What one broker's throttled leaders, or its throttled followers, may take."""

    def __init__(self, clock: Clock) -> None:
        self._broker_id = -1
        self._clock = clock
        self._windows: deque[tuple[float, int]] = deque()
        self._window_ms = 1_000.0
        self._most_windows = 11
        self._bytes_per_second = UNLIMITED
        self.is_on = False
        """Whether there is a limit at all."""

    def configure(
        self, broker_id: int, bytes_per_second: int, windows: int, window_seconds: int
    ) -> None:
        """Keep to another rate from now on, or measured otherwise."""
        self._broker_id = broker_id
        self._bytes_per_second = bytes_per_second
        self._most_windows, self._window_ms = windows, window_seconds * 1_000.0
        self.is_on = bytes_per_second < UNLIMITED

    def applies(self, throttled: Collection[str], partition: int) -> bool:
        """Whether this broker's replica is among those that a topic's setting names."""
        if not self.is_on or not throttled:
            return False
        return EVERYBODY in throttled or f"{partition}:{self._broker_id}" in throttled

    def record(self, count: int) -> None:
        """A throttled replica has taken so many bytes."""
        now_ms = self._clock.monotonic_ms()
        self._forget_old(now_ms)
        windows = self._windows
        if windows and now_ms - windows[-1][0] < self._window_ms:
            start_ms, taken = windows.pop()
            windows.append((start_ms, taken + count))
        else:
            windows.append((now_ms, count))

    @property
    def is_exceeded(self) -> bool:
        """Whether more was taken than the rate allows."""
        now_ms = self._clock.monotonic_ms()
        self._forget_old(now_ms)
        if not self._windows:
            return False
        elapsed_ms = max(now_ms - self._windows[0][0], self._window_ms)
        taken = sum(count for _, count in self._windows)
        return taken * 1_000 / elapsed_ms > self._bytes_per_second

    def _forget_old(self, now_ms: float) -> None:
        windows, oldest_ms = self._windows, now_ms - self._most_windows * self._window_ms
        while windows and windows[0][0] <= oldest_ms:
            windows.popleft()
