"""The lines from one broker to the others, which tests cut and heal (`barnabas.Cluster`).

A line has two directions. What is sent into one that is cut waits, as where a network loses packets
and they are sent again: nobody is told, it arrives when the line is healed, unless whoever asked
has given up by then. So an answer that is on its way does not arrive either. A connection is only
made by a line whose directions both stand. A line that is cut so that it `resets` ends its
connections at once, and refuses new ones.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Final, Literal, get_args

from barnabas.server.peers.dialing import Streams

Direction = Literal["both", "to", "from"]
DIRECTIONS: Final[tuple[Direction, ...]] = get_args(Direction)


class Line:
    """To one other broker: whether what this one sends arrives, and what the other answers."""

    def __init__(self) -> None:
        self.sends = True
        self.hears = True
        self.resets = False
        self.connections: set[Connection] = set()
        self._whole = asyncio.Event()
        self._whole.set()

    @property
    def direction(self) -> Direction | None:
        """What is cut of it."""
        if self.sends:
            return None if self.hears else "from"
        return "to" if self.hears else "both"

    def cut(self, direction: Direction, *, resets: bool = False) -> None:
        """Cut a direction, or both."""
        self.sends = self.sends and direction == "from"
        self.hears = self.hears and direction == "to"
        self.resets = resets
        self._whole.clear()
        for connection in tuple(self.connections) if resets else ():
            connection.reset()

    def heal(self, direction: Direction) -> None:
        """Heal a direction, or both: what waits arrives."""
        self.sends = self.sends or direction != "from"
        self.hears = self.hears or direction != "to"
        if self.direction is None:
            self.resets = False
            self._whole.set()
        for connection in tuple(self.connections):
            connection.carry_on()

    async def whole(self) -> None:
        """Wait until both directions stand. Raises ConnectionRefusedError where it resets."""
        while self.direction is not None:
            if self.resets:
                raise ConnectionRefusedError("the line is cut")
            await self._whole.wait()


class Cuts:
    """One broker's lines, by the other's id; they outlive the brokers that a host makes."""

    def __init__(self) -> None:
        self.lines: defaultdict[int, Line] = defaultdict(Line)

    async def dial(self, broker_id: int, host: str, port: int) -> Streams:
        """Connect by TCP, over the line to that broker. Raises OSError."""
        line = self.lines[broker_id]
        await line.whole()
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(loop=loop)
        connection = Connection(line, reader, loop)
        await loop.create_connection(lambda: connection, host, port)
        if line.resets:  # cut meanwhile
            connection.reset()
        return reader, connection


class Connection(asyncio.StreamReaderProtocol):
    """A connection over a line, and the way out of it."""

    def __init__(
        self, line: Line, reader: asyncio.StreamReader, loop: asyncio.AbstractEventLoop
    ) -> None:
        super().__init__(reader, loop=loop)
        self._line = line
        self._out: asyncio.Transport | None = None
        self._unsent: list[bytes] = []
        self._unheard: list[Callable[[], object]] = []

    def write(self, data: bytes) -> None:
        """Send, or keep until the line is healed."""
        if self._line.sends and self._out is not None:
            self._out.write(data)
        else:
            self._unsent.append(data)

    def close(self) -> None:
        """End it; what waits is lost, as nobody waits for the rest of it."""
        self._unsent.clear()
        self._unheard.clear()
        self._line.connections.discard(self)
        if self._out is not None:
            self._out.close()

    def reset(self) -> None:
        """End it as a network does that refuses it."""
        self._unsent.clear()
        self._line.connections.discard(self)
        super().connection_lost(ConnectionResetError("the line is cut"))
        if self._out is not None:
            self._out.abort()

    def carry_on(self) -> None:
        """Send, and hear, what has waited."""
        if self._line.sends and self._out is not None:
            self._out.writelines(self._unsent)
            self._unsent.clear()
        if self._line.hears:
            unheard, self._unheard = self._unheard, []
            for hear in unheard:
                hear()

    # What asyncio calls; the other's end of the connection is part of what the line carries.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        super().connection_made(transport)
        self._out = transport
        self._line.connections.add(self)

    def data_received(self, data: bytes) -> None:
        self._hear(partial(super().data_received, data))

    def eof_received(self) -> bool:
        self._hear(super().eof_received)
        return True  # `close` ends it

    def connection_lost(self, error: Exception | None) -> None:
        self._out = None
        self._hear(partial(super().connection_lost, error))

    def _hear(self, what: Callable[[], object]) -> None:
        if self._line.hears:
            what()
        elif self in self._line.connections:
            self._unheard.append(what)
