"""Both ends of a simulated connection, and the two directions between them.

Each direction delivers in order, after a delay of its own for each message; or it breaks, and what
was under way is lost. That is all that TCP lets happen.
"""

import asyncio
import random
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

from barnabas.server.network.channel import Channel
from barnabas.server.network.connection import Connection

if TYPE_CHECKING:
    from .network import Network

INSTANT_S: Final = 1e-9


class Host(Protocol):
    """A broker that can be connected to."""

    @property
    def listens(self) -> bool: ...
    def accept(self, channel: "Wire") -> Connection: ...
    def read_file(self, fd: int, size: int, position: int) -> bytes: ...


class Pipe:
    """One direction of a connection.

    Its chance is its own: who closes many at once does so in any order.
    """

    def __init__(
        self, network: "Network", direction: tuple[int, int], chance: random.Random
    ) -> None:
        self._network = network
        self._direction = direction
        self._chance = chance
        self._arrives_s = 0.0
        self._held: list[bytes | None] = []
        self.arrived: deque[bytes | None] = deque()
        self.on_arrival: Callable[[], object] = lambda: None
        self.is_broken = False

    def send(self, data: bytes | None) -> None:
        """None is the end."""
        if self.is_broken:
            return
        if self._direction in self._network.cuts:
            self._held.append(data)
            return
        loop = self._network.loop
        # Never at one instant with what was sent before: timers of one instant have no order.
        earliest_s = self._arrives_s + INSTANT_S
        self._arrives_s = max(earliest_s, loop.time() + self._network.delay_s(self._chance))
        if data is not None:
            self._network.traffic.update(f"{self._direction} {self._arrives_s}".encode() + data)
        loop.call_at(self._arrives_s, self._arrive, data)

    def healed(self) -> None:
        """What was held goes on its way."""
        held, self._held = self._held, []
        for data in held:
            self.send(data)

    def break_soon(self) -> None:
        """What is under way is lost, and both sides hear of the end after a while."""
        self._network.loop.call_later(self._network.delay_s(self._chance), self._broken)

    def _broken(self) -> None:
        if not self.is_broken:
            self.is_broken = True
            self._held.clear()
            self.arrived.append(None)
            self.on_arrival()

    def _arrive(self, data: bytes | None) -> None:
        if not self.is_broken:
            self.arrived.append(data)
            self.on_arrival()


class Wire(Channel):
    """The broker's end of a connection."""

    def __init__(self, fd: int, host: Host, incoming: Pipe, outgoing: Pipe) -> None:
        self._fd = fd
        self._host = host
        self._incoming = incoming
        self._outgoing = outgoing

    @property
    def is_readable(self) -> bool:
        """Whether something has come."""
        return bool(self._incoming.arrived)

    def fileno(self) -> int:
        return self._fd

    def receive_into(self, room: memoryview) -> int:
        if not self._incoming.arrived:
            raise BlockingIOError
        data = self._incoming.arrived[0]
        if data is None:
            return 0
        taken = min(len(data), len(room))
        room[:taken] = data[:taken]
        if taken < len(data):
            self._incoming.arrived[0] = data[taken:]
        else:
            self._incoming.arrived.popleft()
        return taken

    def send(self, data: bytearray | memoryview, has_more: bool) -> int:
        self._outgoing.send(bytes(data))
        return len(data)

    def send_file(self, fd: int, position: int, count: int) -> int:
        data = self._host.read_file(fd, count, position)
        self._outgoing.send(data)
        return len(data)

    def close(self) -> None:
        self._outgoing.send(None)
        self._incoming.is_broken = True


class Client:
    """The other end: a reader and a writer as `Dial` returns them."""

    def __init__(self, incoming: Pipe, outgoing: Pipe) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._waiting: asyncio.Future[None] | None = None
        incoming.on_arrival = self._wake

    async def read(self, n: int, /) -> bytes:
        """What has come; b"" at the end."""
        arrived = self._incoming.arrived
        while not arrived:
            self._waiting = asyncio.get_running_loop().create_future()
            await self._waiting
        data = arrived[0]
        if data is None:
            return b""
        arrived.popleft()
        if len(data) > n:
            arrived.appendleft(data[n:])
        return data[:n]

    def write(self, data: bytes, /) -> None:
        """Send."""
        self._outgoing.send(bytes(data))

    def close(self) -> None:
        """End it; what was sent arrives."""
        self._outgoing.send(None)
        self._incoming.is_broken = True

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
