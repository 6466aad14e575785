"""Random histories of a few connections that share one memory of requests.

Whatever happens in whatever order, no event comes in a state that does not know it, whoever
waits is watched or in line for what he waits for, all memory comes back, and answers are sent in
the order of requests.
"""

import random
import struct

import pytest

from barnabas.server.network.connection import Connection
from barnabas.server.network.connection_states import ConnectionState
from barnabas.server.network.outcomes import Close, InTurns, Outcome, Pending, Throttled
from barnabas.server.network.request_memory import RequestMemory
from barnabas.wire.connection import Encoded
from barnabas.wire.frame import FIRST_BYTES

from .test_channel import Waiting, World, answer

EVENTS = 300
SEEDS_OF_A_TEST = 100
PRODUCE, FETCH = 0, 1


class Client(World):
    """A client that sends numbered requests, and the broker's side of its connection."""

    def __init__(self, rng: random.Random, memory: RequestMemory | None) -> None:
        self.rng = rng
        self.numbers: list[int] = []
        self.expected = b""
        self.parked: int | None = None
        self._sent = 0
        self._unsent = b""
        super().__init__({}, rng.choice([None, 0, 10]), memory)

    def process(self, connection: Connection, frame: memoryview) -> Outcome:
        number = int.from_bytes(frame[8:12], "big")
        self.numbers.append(number)
        kind = self.rng.choice("aaaannttppiic" if self.rng.random() < 0.2 else "aaaanttppii")
        if kind == "c":
            return Close("enough")
        if kind == "n":
            return None
        if kind in "pi":
            self.parked = number
            parked: Pending = Waiting() if kind == "p" else InTurns(len(frame))
            return parked
        return self._throttled(number) if kind == "t" else self._answer(number)

    def send(self) -> None:
        """Some bytes of a request are on their way."""
        if not self._unsent:
            size = self.rng.choice([12, 12, 12, 5_000, 20_000, 40_000, 120_000])
            self._sent += 1
            head = struct.pack(">ihhii", size, self.rng.choice([FETCH, PRODUCE]), 0, 0, self._sent)
            self._unsent = head + bytes(size - 12)
        count = self.rng.choice([3, 4, 10_000, 1_000_000])
        self.channel.put(self._unsent[:count])
        self._unsent = self._unsent[count:]

    def read(self) -> None:
        if self.loop.readable is not None:
            self.loop.readable()

    def write(self) -> None:
        if self.channel.room_bytes is not None:
            self.channel.room_bytes += self.rng.choice([1, 5, 1_000])
        if self.loop.writable is not None:
            self.loop.writable()

    def wake(self) -> None:
        """What is parked has come to something, perhaps to another wait."""
        if self.parked is None:
            return
        number = self.parked
        kind = self.rng.choice("aaatnp")
        if kind == "p":
            self.connection.resume(Waiting())
            return
        self.parked = None
        if kind == "a":
            self.connection.resume(self._answer(number))
        else:
            self.connection.resume(self._throttled(number) if kind == "t" else None)

    def let_pass(self) -> None:
        """The next pass of the loop, or time."""
        soon, self.loop.soon = self.loop.soon, []
        for callback in soon:
            callback()
        self.clock.advance(self.rng.choice([0, 4]))

    def leave(self) -> None:
        if self.rng.random() < 0.1:
            self.connection.close("bye")
        elif self.rng.random() < 0.1:
            self.channel.put(b"")

    def _answer(self, number: int) -> Encoded:
        told = b"<%d>" % number
        self._told(number, told)
        return answer(told)

    def _told(self, number: int, data: bytes) -> None:
        self.expected += data

    def _throttled(self, number: int) -> Throttled:
        return Throttled(self._answer(number), 5)


def check(client: Client, memory: RequestMemory) -> None:
    """Who waits can be woken, and holds what he is read for."""
    connection = client.connection
    state = connection.state
    assert state is not ConnectionState.SERVING
    if state in (ConnectionState.READING, ConnectionState.PARKED):
        assert client.loop.readable is not None
        begun = connection.frames.begun_bytes()
        assert begun <= FIRST_BYTES or connection._claimed_bytes >= begun
    elif state in (ConnectionState.SENDING, ConnectionState.SENDING_PARKED):
        assert client.loop.writable is not None
    elif state in (ConnectionState.SHORT, ConnectionState.PARKED_SHORT):
        assert connection in memory._waiting


def play(seed: int) -> None:
    """One history."""
    rng = random.Random(seed)
    memory = RequestMemory(rng.choice([1, 50_000, 200_000, 1_000_000]))
    clients = [Client(rng, memory) for _ in range(rng.randint(1, 4))]
    for _ in range(EVENTS):
        client = rng.choice([each for each in clients if not each.connection.closed] or [None])
        if client is None:
            break
        events = (client.send, client.read, client.write, client.wake, client.let_pass)
        rng.choices((*events, client.leave), (30, 35, 10, 10, 10, 1))[0]()
        for each in clients:
            check(each, memory)
        assert memory.used_bytes == sum(each.connection._claimed_bytes for each in clients)
    for client in clients:
        client.connection.close("the end")
        assert client.numbers == sorted(client.numbers)
        assert client.expected.startswith(client.channel.sent)
    assert (memory.used_bytes, len(memory._waiting)) == (0, 0)


@pytest.mark.parametrize("first", range(0, 1_000, SEEDS_OF_A_TEST))
def test_whatever_happens_requests_are_served_in_order_and_memory_comes_back(first: int) -> None:
    for seed in range(first, first + SEEDS_OF_A_TEST):
        play(seed)
