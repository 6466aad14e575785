"""How many connections there may be, and how fast they may come.

Source: kafka.network.ConnectionQuotas. At `max.connections`, of the broker or of a listener, a
new connection is not refused: it waits to be accepted until another one ends. The listener
between brokers, if it is not the only one, is kept apart: the broker's limit does not hold it
up, the least recently used connection of another listener is closed instead. So it is, too, when
the limit has been lowered. Only `max.connections.per.ip` closes a new connection at once.

Connections that come faster than `max.connection.creation.rate` are accepted later. The rate is
Kafka's: the mean over `quota.window.num` windows, so a burst of ten seconds' worth is let through.
"""

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import NamedTuple

UNLIMITED = (1 << 31) - 1


class ListenerLimits(NamedTuple):
    """What bounds the connections of one listener."""

    max_connections: int = UNLIMITED
    max_creation_rate: int = UNLIMITED


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds the connections; a broker has one of these."""

    max_frame_bytes: int
    max_connections: int = UNLIMITED
    max_creation_rate: int = UNLIMITED
    max_connections_per_ip: int = UNLIMITED
    per_ip_overrides: dict[str, int] = field(default_factory=dict)
    listeners: dict[str, ListenerLimits] = field(default_factory=dict)
    inter_broker_listener: str = ""
    rate_windows: int = 11
    rate_window_ms: int = 1000
    max_idle_ms: int = 600_000
    send_buffer_bytes: int = -1
    receive_buffer_bytes: int = -1
    backlog: int = 50
    max_request_bytes: int = -1


class CreationRate:
    """Connections per second over the last windows, as Kafka's Rate counts."""

    def __init__(self) -> None:
        self._windows: deque[tuple[float, int]] = deque()

    def record(self, now_ms: float, allowed: int, windows: int, window_ms: int) -> float:
        """Count one connection; ms to wait before the next, at most a window."""
        counts = self._windows
        while counts and counts[0][0] <= now_ms - windows * window_ms:
            counts.popleft()
        if counts and now_ms - counts[-1][0] < window_ms:
            begun_ms, count = counts.pop()
            counts.append((begun_ms, count + 1))
        else:
            counts.append((now_ms, 1))
        total = sum(count for _, count in counts)
        excess = total - allowed * self._span_ms(now_ms, windows, window_ms) / 1000
        return min(excess * 1000 / allowed if allowed else window_ms, window_ms)

    def _span_ms(self, now_ms: float, windows: int, window_ms: int) -> float:
        """What the counts are divided by: as if all windows but one had passed, at least."""
        elapsed_ms = now_ms - self._windows[0][0]
        missing = max(0, windows - 1 - int(elapsed_ms // window_ms))
        return elapsed_ms + missing * window_ms or window_ms


class ConnectionQuotas:
    """Counts connections by listener and address."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.total = 0
        self._by_ip: Counter[str] = Counter()
        self._by_listener: Counter[str] = Counter()
        self._rate = CreationRate()
        self._rates: dict[str, CreationRate] = {}

    @property
    def is_exceeded(self) -> bool:
        """Whether there are more connections than the broker may have."""
        return self.total > self.limits.max_connections

    def is_protected(self, listener: str) -> bool:
        """Whether the broker's limits are for the other listeners only."""
        limits = self.limits
        return listener == limits.inter_broker_listener and len(limits.listeners) > 1

    def has_room(self, listener: str) -> bool:
        """Whether one more connection may be accepted."""
        if self._by_listener[listener] >= self._limits_of(listener).max_connections:
            return False
        return self.is_protected(listener) or self.total < self.limits.max_connections

    def refusal(self, host: str) -> str | None:
        """Why a connection from `host` may not stay, or None."""
        limits = self.limits
        allowed = limits.per_ip_overrides.get(host, limits.max_connections_per_ip)
        if self._by_ip[host] >= allowed:
            return f"max.connections.per.ip={allowed} is reached for {host}"
        return None

    def delay_ms(self, listener: str, now_ms: float) -> float:
        """Count a connection that was accepted; how long the next has to wait, if above 0."""
        limits = self.limits
        windows = (limits.rate_windows, limits.rate_window_ms)
        rate = self._rates.setdefault(listener, CreationRate())
        delay_ms = rate.record(now_ms, self._limits_of(listener).max_creation_rate, *windows)
        if not self.is_protected(listener):
            of_all_ms = self._rate.record(now_ms, limits.max_creation_rate, *windows)
            delay_ms = max(delay_ms, of_all_ms)
        return delay_ms

    def add(self, listener: str, host: str) -> None:
        """Count a new connection."""
        self.total += 1
        self._by_listener[listener] += 1
        self._by_ip[host] += 1

    def remove(self, listener: str, host: str) -> None:
        """Forget a closed connection."""
        self.total -= 1
        self._by_listener[listener] -= 1
        self._by_ip[host] -= 1
        if not self._by_ip[host]:
            del self._by_ip[host]

    def _limits_of(self, listener: str) -> ListenerLimits:
        return self.limits.listeners.get(listener, ListenerLimits())
