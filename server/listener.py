"""A listening socket and the connections that came through it.

Limits are Kafka's: `max.connections` (also per listener), `max.connections.per.ip` with its
overrides, `connections.max.idle.ms`. A connection over a limit is accepted and closed at
once, as Kafka does, so that the client sees an end and not a hang.
"""

import asyncio
import socket
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from barnabas.server.connection import Connection
from barnabas.server.read_ahead import ReadAhead
from barnabas.server.request_memory import RequestMemory

BACKLOG = 512
ACCEPTS_AT_ONCE = 64

Process = Callable[[Connection, memoryview], None]


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds the connections; a broker has one of these."""

    max_frame_bytes: int
    max_connections: int
    max_connections_per_ip: int
    per_ip_overrides: dict[str, int] = field(default_factory=dict)
    max_idle_ms: int = 600_000
    send_buffer_bytes: int = -1
    receive_buffer_bytes: int = -1
    max_request_bytes: int = -1


class Population:
    """All connections of a broker, over its listeners."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.read_ahead = ReadAhead()
        limit_bytes = limits.max_request_bytes
        self.request_memory = RequestMemory(limit_bytes) if limit_bytes > 0 else None
        self.connections: set[Connection] = set()
        self._by_ip: Counter[str] = Counter()

    def refusal(self, host: str) -> str | None:
        """Why a connection from `host` may not be added, or None."""
        if len(self.connections) >= self.limits.max_connections:
            return f"max.connections={self.limits.max_connections} is reached"
        allowed = self.limits.per_ip_overrides.get(host, self.limits.max_connections_per_ip)
        if self._by_ip[host] >= allowed:
            return f"max.connections.per.ip={allowed} is reached for {host}"
        return None

    def add(self, connection: Connection) -> None:
        """Count a new connection."""
        self.connections.add(connection)
        self._by_ip[connection.peer_host] += 1

    def remove(self, connection: Connection) -> None:
        """Forget a closed connection."""
        self.connections.discard(connection)
        self._by_ip[connection.peer_host] -= 1
        if not self._by_ip[connection.peer_host]:
            del self._by_ip[connection.peer_host]

    def close(self, reason: str) -> None:
        """Close all of them."""
        for connection in tuple(self.connections):
            connection.close(reason)
        self.read_ahead.stop()

    def sweep(self, now_ms: float) -> None:
        """Close what has been idle too long; give back buffers that stand empty."""
        idle_before_ms = now_ms - self.limits.max_idle_ms
        for connection in tuple(self.connections):
            if connection.is_busy:
                continue
            if connection.last_active_ms <= idle_before_ms:
                connection.close(f"idle for connections.max.idle.ms={self.limits.max_idle_ms}")
            else:
                connection.shrink()


class Listener:
    """One address the broker can be reached at."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        name: str,
        population: Population,
        process: Process,
        clock_ms: Callable[[], float],
        on_event: Callable[[str, Connection | None, str], None],
    ) -> None:
        self.name = name
        self.host = ""
        self.port = 0
        self._loop = loop
        self._population = population
        self.process = process
        self.read_ahead = population.read_ahead
        self.request_memory = population.request_memory
        self._clock_ms = clock_ms
        self._on_event = on_event
        self._socket: socket.socket | None = None

    def bind(self, host: str, port: int) -> None:
        """Bind and listen; port 0 takes a free one. Raises OSError if the address is taken.

        Clients wait in the backlog until `open`.
        """
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6 and host == "::":
                sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            if self._population.limits.receive_buffer_bytes > 0:
                size = self._population.limits.receive_buffer_bytes
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)
            sock.bind((host, port))
            sock.listen(BACKLOG)
        except OSError:
            sock.close()
            raise
        sock.setblocking(False)
        self._socket = sock
        self.host, self.port = host, sock.getsockname()[1]

    def open(self) -> None:
        """Begin to accept."""
        if self._socket is not None:
            self._loop.add_reader(self._socket, self._accept)

    def close(self) -> None:
        """Accept no more; the connections stay."""
        if self._socket is not None:
            self._loop.remove_reader(self._socket)
            self._socket.close()
            self._socket = None

    def closed(self, connection: Connection, reason: str) -> None:
        """A connection is gone."""
        self._population.remove(connection)
        self._on_event("closed", connection, reason)

    def _accept(self) -> None:
        for _ in range(ACCEPTS_AT_ONCE):
            if self._socket is None:
                return
            try:
                sock, address = self._socket.accept()
            except BlockingIOError:
                return
            except OSError as error:
                # Out of descriptors, most likely: leave the client in the backlog for a while.
                self._loop.remove_reader(self._socket)
                self._loop.call_later(0.1, self.open)
                self._on_event("refused", None, f"accept failed: {error.strerror}")
                return
            refusal = self._population.refusal(address[0])
            if refusal is None:
                self._take(sock)
            else:
                sock.close()
                self._on_event("refused", None, refusal)

    def _take(self, sock: socket.socket) -> None:
        limits = self._population.limits
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if limits.send_buffer_bytes > 0:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, limits.send_buffer_bytes)
            connection = Connection(
                self._loop, sock, self, self.name, limits.max_frame_bytes, self._clock_ms
            )
        except OSError:  # the client left between accept and here
            sock.close()
            return
        self._population.add(connection)
        self._on_event("accepted", connection, "")
