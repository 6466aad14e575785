"""A listening socket and the connections that came through it.

How many there may be is Kafka's business (`connection_quotas`): a client beyond `max.connections`
waits in the backlog, one beyond `max.connections.per.ip` is accepted and closed at once, so that
it sees an end and not a hang. Idle ones are closed after `connections.max.idle.ms`.
"""

import asyncio
import math
import socket
from collections.abc import Callable

from barnabas.server.core.clock import Clock
from barnabas.server.network.channel import Channel, PlainChannel
from barnabas.server.network.connection import Connection
from barnabas.server.network.connection_quotas import ConnectionQuotas, Limits
from barnabas.server.network.outcomes import Outcome
from barnabas.server.network.read_ahead import ReadAhead
from barnabas.server.network.request_memory import RequestMemory

LEAST_BACKLOG = 512  # clients wait there while the loop serves others
ACCEPTS_AT_ONCE = 64
ACCEPT_FAILED_PAUSE_MS = 100.0

Process = Callable[[Connection, memoryview], Outcome]
Tell = Callable[[str, Connection | None, str], None]
"""Told of a connection that was accepted, refused or closed, and why."""


class Population:
    """All connections of a broker, over its listeners."""

    def __init__(self, limits: Limits) -> None:
        self.quotas = ConnectionQuotas(limits)
        self.read_ahead = ReadAhead()
        limit_bytes = limits.max_request_bytes
        self.request_memory = RequestMemory(limit_bytes) if limit_bytes > 0 else None
        self.connections: set[Connection] = set()
        self._waiting: set[Listener] = set()

    @property
    def limits(self) -> Limits:
        """The limits in force."""
        return self.quotas.limits

    def set_limits(self, limits: Limits) -> None:
        """Put limits in force: clients that waited come in, connections above them are closed."""
        self.quotas.limits = limits
        self._close_excess()
        self._call_waiting()

    def add(self, connection: Connection) -> None:
        """Count a new connection."""
        self.connections.add(connection)
        self.quotas.add(connection.listener_name, connection.peer_host)
        self._close_excess()

    def remove(self, connection: Connection) -> None:
        """Forget a closed connection."""
        self.connections.discard(connection)
        self.quotas.remove(connection.listener_name, connection.peer_host)
        self._call_waiting()

    def call_back(self, listener: "Listener") -> None:
        """Have a listener that found no room open again when there is some."""
        self._waiting.add(listener)

    def close(self, reason: str) -> None:
        """Close all of them."""
        for connection in tuple(self.connections):
            connection.close(reason)
        self.read_ahead.stop()

    def sweep(self, now_ms: float) -> None:
        """Close what has been idle too long (never, below zero); shrink what stands empty."""
        max_idle_ms = self.limits.max_idle_ms
        idle_before_ms = now_ms - max_idle_ms if max_idle_ms >= 0 else -math.inf
        for connection in tuple(self.connections):
            if not connection.waits_for_client:
                continue
            if connection.last_active_ms <= idle_before_ms:
                connection.close(f"idle for connections.max.idle.ms={max_idle_ms}")
            else:
                connection.shrink()

    def _close_excess(self) -> None:
        if self.quotas.is_exceeded:
            self._close_least_used()

    def _close_least_used(self) -> None:
        """Close the least recently used, those at work last, until there are not too many."""
        is_protected = self.quotas.is_protected
        open_to_it = [each for each in self.connections if not is_protected(each.listener_name)]
        open_to_it.sort(key=lambda each: (each.is_busy, each.last_active_ms))
        for connection in open_to_it:
            connection.close(f"max.connections={self.limits.max_connections} is exceeded")
            if not self.quotas.is_exceeded:
                return

    def _call_waiting(self) -> None:
        for listener in tuple(self._waiting):
            if self.quotas.has_room(listener.name):
                self._waiting.discard(listener)
                listener.open()


class Listener:
    """One address the broker can be reached at."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        name: str,
        security_protocol: str,
        population: Population,
        process: Process,
        clock: Clock,
        on_event: Tell,
    ) -> None:
        self.name = name
        self.security_protocol = security_protocol
        self.host = ""
        self.port = 0
        self._loop = loop
        self._population = population
        self.process = process
        self.read_ahead = population.read_ahead
        self.request_memory = population.request_memory
        self._clock = clock
        self.call_later = clock.call_later
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
            sock.listen(max(LEAST_BACKLOG, self._population.limits.backlog))
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
            if not self._population.quotas.has_room(self.name):
                self._loop.remove_reader(self._socket)
                self._population.call_back(self)
                return
            try:
                sock, address = self._socket.accept()
            except BlockingIOError:
                return
            except OSError as error:
                # Out of descriptors, most likely: leave the client in the backlog for a while.
                self._pause(ACCEPT_FAILED_PAUSE_MS)
                self._on_event("refused", None, f"accept failed: {error.strerror}")
                return
            if self._let_in(sock, address[0]) > 0:
                return

    def _let_in(self, sock: socket.socket, host: str) -> float:
        """Take an accepted connection, or close it; how long the next has to wait, in ms."""
        quotas = self._population.quotas
        delay_ms = quotas.delay_ms(self.name, self._clock.monotonic_ms())
        refusal = quotas.refusal(host)
        if refusal is None:
            self._take(sock)
        else:
            sock.close()
            self._on_event("refused", None, refusal)
        if delay_ms > 0:
            self._pause(delay_ms)
        return delay_ms

    def _pause(self, pause_ms: float) -> None:
        """Leave clients in the backlog for a while."""
        if self._socket is not None:
            self._loop.remove_reader(self._socket)
            self._clock.call_later(pause_ms, self.open)

    def _channel(self, sock: socket.socket) -> Channel:
        """What carries bytes under the listener's security protocol; all are sent in clear yet."""
        return PlainChannel(sock)

    def _take(self, sock: socket.socket) -> None:
        limits = self._population.limits
        try:
            sock.setblocking(False)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if limits.send_buffer_bytes > 0:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, limits.send_buffer_bytes)
            host, port = sock.getpeername()[:2]
            self.serve(self._channel(sock), host, port)
        except OSError:  # the client left between accept and here
            sock.close()

    def serve(self, channel: Channel, host: str, port: int) -> Connection:
        """Serve whoever is at the other end of a channel."""
        connection = Connection(
            self._loop, channel, (host, port), self, self.name,
            self._population.limits.max_frame_bytes, self._clock.monotonic_ms,
        )  # fmt: skip
        self._population.add(connection)
        self._on_event("accepted", connection, "")
        return connection
