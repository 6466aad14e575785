"""How a connection to another broker is opened: the one seam between a broker and its network.

Whatever a broker asks of the others of its cluster goes through its `Dial`. Tests give it another
one, whose connections they cut (`server/testing/cuts.py`), or that is no network at all.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol, cast


class Incoming(Protocol):
    """What comes from the other broker."""

    async def read(self, n: int, /) -> bytes:
        """Up to `n` bytes; none at the end. Raises OSError."""


class Outgoing(Protocol):
    """What goes to the other broker."""

    def write(self, data: bytes, /) -> None:
        """Send bytes, in order; those of a connection that has ended are lost."""

    def close(self) -> None:
        """End the connection, when all that was written has gone out."""


class Received:
    """What comes by a socket of one's own: the kernel puts it where whoever takes it says.

    An answer of ten megabytes is received into the buffer that it is decoded from.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def by(self, taker: asyncio.BufferedProtocol) -> None:
        """From now on the taker is told of what comes, and of the end."""
        before = cast(_Nobody, self._transport.get_protocol())
        self._transport.set_protocol(taker)
        if before.ended:
            taker.connection_lost(before.error)


Streams = tuple[Incoming | Received, Outgoing]
Dial = Callable[[int, str, int], Awaitable[Streams]]
"""Connects to a broker (its id) at a host and a port. Raises OSError."""


class _Nobody(asyncio.BufferedProtocol):
    """Holds a connection until somebody takes what comes: nothing has been asked for yet."""

    ended = False
    error: Exception | None = None

    def get_buffer(self, sizehint: int) -> bytearray:
        return bytearray(1)

    def buffer_updated(self, nbytes: int) -> None:
        raise ConnectionAbortedError("the broker says what it was not asked")

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended, self.error = True, exc


async def dial(broker_id: int, host: str, port: int) -> Streams:
    """Connect by TCP."""
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_connection(_Nobody, host, port)
    return Received(transport), transport
