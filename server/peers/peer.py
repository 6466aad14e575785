"""One broker: connected when something is asked of it, again and again, with growing pauses."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple

from barnabas.server.core.clock import Clock
from barnabas.server.core.errors import Unanswered
from barnabas.server.peers.dialing import Streams
from barnabas.server.peers.link import Link
from barnabas.wire.frame import DEFAULT_MAX_FRAME_BYTES
from barnabas.wire.schema import Message

FIRST_PAUSE_MS: Final = 50.0
LONGEST_PAUSE_MS: Final = 1_000.0
MOST_WAITING: Final = 100
"""Requests that wait for the connection; more are refused."""


class Address(NamedTuple):
    """Where a broker is reached by others."""

    host: str
    port: int


class Peer:
    """A broker that is asked."""

    def __init__(
        self,
        client_id: str,
        clock: Clock,
        timeout_ms: float,
        connect: Callable[[str, int], Awaitable[Streams]],
        most_answer_bytes: int = DEFAULT_MAX_FRAME_BYTES,
    ) -> None:
        self._client_id = client_id
        self._clock = clock
        self._timeout_ms = timeout_ms
        self._connect = connect
        self._most_answer_bytes = most_answer_bytes
        self._link: Link | None = None
        self._address: Address | None = None
        self._opening = asyncio.Lock()  # in the order of asking
        self._waiting = 0
        self._pause_ms = FIRST_PAUSE_MS
        self._not_before_ms = 0.0

    async def send(self, address: Address, request: Message, versions: tuple[int, int]) -> Any:
        """The broker's answer. Raises Unanswered: at once while it cannot be reached."""
        link = self._link
        if link is not None and link.is_open and self._address == address and not self._waiting:
            return await link.ask(request, versions)
        if self._waiting >= MOST_WAITING:
            raise Unanswered(f"{MOST_WAITING} requests wait for the connection")
        self._waiting += 1
        try:
            async with self._opening:
                link = await self._open(address)
        finally:
            self._waiting -= 1
        return await link.ask(request, versions)

    def close(self, reason: str) -> None:
        """End the connection, if there is one."""
        if self._link is not None:
            self._link.close(reason)
            self._link = None

    async def _open(self, address: Address) -> Link:
        """The connection to where the broker is now."""
        if self._address != address:
            self.close("the broker has another address now")
            self._address, self._not_before_ms, self._pause_ms = address, 0.0, FIRST_PAUSE_MS
        if self._link is not None:
            if self._link.is_open:
                return self._link
            self._lost(self._link)
            self._link = None
        if self._clock.monotonic_ms() < self._not_before_ms:
            raise Unanswered(f"{address.host}:{address.port} could not be reached just now")
        try:
            self._link = await Link.open(
                self._connect, *address, self._client_id, self._clock, self._timeout_ms,
                self._most_answer_bytes,
            )  # fmt: skip
        except Unanswered:
            self._failed(self._clock.monotonic_ms())
            raise
        return self._link

    def _lost(self, link: Link) -> None:
        """A connection has ended: one that was of use is opened again without a pause."""
        if link.answers > 1:  # the first says the versions
            self._pause_ms = FIRST_PAUSE_MS
        else:
            self._failed(link.closed_ms)

    def _failed(self, when_ms: float) -> None:
        self._not_before_ms = when_ms + self._pause_ms
        self._pause_ms = min(self._pause_ms * 2, LONGEST_PAUSE_MS)
