"""The network of a simulation: connections whose messages are late, and which break.

A cut direction holds what is sent until it is healed; a broken connection loses what is under way.
"""

import asyncio
import hashlib
import random
from itertools import count
from typing import Final

from barnabas.server.peers.dialing import Dial

from .virtual_loop import VirtualLoop
from .wires import Client, Host, Pipe, Wire

CLIENT: Final = -1
REFUSED_AFTER_S: Final = 0.001
CONNECT_TIMEOUT_S: Final = 3.0


class Network:
    """All connections, and what is cut."""

    def __init__(self, loop: VirtualLoop, chance: random.Random) -> None:
        self.loop = loop
        self.hosts: dict[int, Host] = {}
        self.cuts: set[tuple[int, int]] = set()
        self.longest_delay_s = 0.005
        self.traffic = hashlib.sha256()
        """Of all that was sent, and when it was to arrive."""
        self._chance = chance
        self._numbers = count(1_000_000)
        self._connections: dict[int, tuple[int, int, Pipe, Pipe]] = {}
        self._wires: dict[int, Wire] = {}
        loop.readable = lambda fd: fd in self._wires and self._wires[fd].is_readable

    def delay_s(self, chance: random.Random) -> float:
        """Of one message: short mostly, long sometimes."""
        if chance.random() < 0.02:
            return chance.uniform(0, 50 * self.longest_delay_s)
        return chance.uniform(0.0001, self.longest_delay_s)

    async def connect(self, source: int, target: int) -> tuple[Client, Client]:
        """A connection from one to another. Raises OSError."""
        await asyncio.sleep(self.delay_s(self._chance))
        waited_s = 0.0
        while {(source, target), (target, source)} & self.cuts:
            if waited_s >= CONNECT_TIMEOUT_S:
                raise TimeoutError("no answer")
            await asyncio.sleep(0.05)
            waited_s += 0.05
        host = self.hosts.get(target)
        if host is None or not host.listens:
            await asyncio.sleep(REFUSED_AFTER_S)
            raise ConnectionRefusedError("nobody listens")
        there, back = self._pipe(source, target), self._pipe(target, source)
        fd = next(self._numbers)
        wire = Wire(fd, host, there, back)
        self._wires[fd] = wire
        there.on_arrival = lambda: self.loop.poll(fd)
        self._connections[fd] = (source, target, there, back)
        host.accept(wire)
        client = Client(back, there)
        return client, client

    def _pipe(self, source: int, target: int) -> Pipe:
        return Pipe(self, (source, target), random.Random(self._chance.getrandbits(64)))

    def dial_from(self, source: int) -> Dial:
        """The `Dial` of a broker."""

        async def dial(broker_id: int, host: str, port: int) -> tuple[Client, Client]:
            return await self.connect(source, broker_id)

        return dial

    def cut(self, source: int, target: int) -> None:
        """What one sends to the other is held."""
        self.cuts.add((source, target))

    def heal(self) -> None:
        """Everything that was held arrives."""
        self.cuts.clear()
        for *_, there, back in self._connections.values():
            there.healed()
            back.healed()

    def break_some(self, share: float) -> None:
        """Connections end, and what is under way on them is lost."""
        for fd, (*_, there, back) in list(self._connections.items()):
            if self._chance.random() < share:
                self._break(fd, there, back)

    def host_died(self, broker_id: int) -> None:
        """Its connections end at the other side, after a while."""
        for fd, (source, target, there, back) in list(self._connections.items()):
            if broker_id in (source, target):
                self._break(fd, there, back)

    def _break(self, fd: int, there: Pipe, back: Pipe) -> None:
        del self._connections[fd]
        there.break_soon()
        back.break_soon()
