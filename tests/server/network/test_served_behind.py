"""Produces behind one that only waits for replicas: served at once, answered in order."""

import random
import struct

import pytest

from barnabas.server.network.connection import Connection
from barnabas.server.network.connection_states import ConnectionState
from barnabas.server.network.outcomes import Close, InTurns, Outcome, Throttled
from barnabas.server.network.request_memory import RequestMemory
from barnabas.server.network.served_behind import BEHIND_FRAME_BYTES, MOST_BEHIND
from barnabas.wire.api import ApiKey
from barnabas.wire.errors import Malformed

from .test_channel import Waiting, World, answer
from .test_connection_histories import Client

EVENTS = 300


def produce(name: bytes, size: int = 0) -> bytes:
    return struct.pack(">h", ApiKey.PRODUCE) + name + bytes(size)


FIRST, SECOND, THIRD = produce(b"1"), produce(b"2"), produce(b"3")


def acted() -> Waiting:
    return Waiting(has_acted=True)


def test_what_comes_behind_is_served_and_answered_in_order() -> None:
    world = World({FIRST: acted(), SECOND: answer(b"two,"), THIRD: acted()})
    world.receive(FIRST, SECOND, THIRD)
    assert world.served == [FIRST, SECOND, THIRD]
    connection = world.connection
    assert connection.state is ConnectionState.PARKED
    connection.resume(answer(b"three"), 2)
    assert world.channel.sent == b""
    connection.resume(answer(b"one,"), 0)
    assert world.channel.sent == b"one,two,three"
    assert connection.state in (ConnectionState.READY, ConnectionState.READING)


def test_the_first_that_waits_is_waited_for() -> None:
    world = World({FIRST: acted(), SECOND: acted(), THIRD: answer(b"three")})
    world.receive(FIRST, SECOND)
    world.connection.resume(answer(b"one,"), 0)
    assert world.channel.sent == b"one,"
    assert world.connection.state is ConnectionState.PARKED
    world.receive(THIRD)
    assert world.served == [FIRST, SECOND, THIRD]
    world.connection.resume(answer(b"two,"), 1)
    assert world.channel.sent == b"one,two,three"


@pytest.mark.parametrize(
    "parked", [Waiting(), InTurns(0), Throttled(None, 5)], ids=["waits", "in turns", "throttled"]
)
def test_nothing_is_served_behind_what_has_not_acted(parked: Outcome) -> None:
    world = World({FIRST: acted(), SECOND: parked, THIRD: answer(b"three")})
    world.receive(FIRST, SECOND, THIRD)
    assert world.served == [FIRST, SECOND]
    assert world.connection.state is ConnectionState.PARKED_FULL
    alone = World({FIRST: parked, SECOND: answer(b"two")})
    alone.receive(FIRST, SECOND)
    assert alone.served == [FIRST]


def test_only_produces_of_little_size_are_served_behind() -> None:
    large, metadata = produce(b"large", BEHIND_FRAME_BYTES), struct.pack(">h", ApiKey.METADATA)
    for other in (large, metadata):
        world = World({FIRST: acted(), other: answer(b"two")})
        world.receive(FIRST, other)
        assert world.served == [FIRST]


def test_there_is_a_bound() -> None:
    names = [produce(b"%d" % number) for number in range(MOST_BEHIND + 2)]
    world = World({name: acted() for name in names})
    world.receive(*names)
    assert len(world.served) == MOST_BEHIND + 1
    world.connection.resume(answer(b"one,"), 0)
    assert len(world.served) == MOST_BEHIND + 2


def test_under_a_bound_of_memory_requests_are_served_one_by_one() -> None:
    world = World({FIRST: acted(), SECOND: answer(b"two")}, memory=RequestMemory(1_000_000))
    world.receive(FIRST, SECOND)
    assert world.served == [FIRST]


def test_an_end_comes_when_it_is_its_turn() -> None:
    last = acted()
    world = World({FIRST: acted(), SECOND: last, THIRD: Close("enough", b"half")})
    world.receive(FIRST, SECOND, THIRD)
    assert world.reasons == []
    world.connection.resume(answer(b"one,"), 0)
    world.connection.resume(answer(b"two,"), 1)
    assert (world.channel.sent, world.reasons) == (b"one,two,half", ["enough"])


def test_a_wrong_frame_ends_the_connection_when_it_is_its_turn() -> None:
    """What is parked is in the log: a client that never hears of it sends it again."""
    world = World({FIRST: acted(), SECOND: Malformed("nonsense"), THIRD: answer(b"three")})
    world.receive(FIRST, SECOND, THIRD)
    assert (world.served, world.reasons) == ([FIRST, SECOND], [])
    world.connection.resume(answer(b"one"), 0)
    assert (world.channel.sent, world.reasons) == (b"one", ["the client sent nonsense"])
    assert world.connection.is_misused


def test_all_are_cancelled_with_their_connection() -> None:
    waiting = [acted(), acted()]
    world = World({FIRST: waiting[0], SECOND: waiting[1]})
    world.receive(FIRST, SECOND)
    world.connection.close("bye")
    assert [each.cancelled for each in waiting] == [True, True]


def test_what_is_parked_may_be_answered_by_what_is_served_behind_it() -> None:
    class Answering(World):
        def process(self, connection: Connection, frame: memoryview) -> Outcome:
            outcome = super().process(connection, frame)
            if frame == SECOND:
                connection.resume(answer(b"one,"), 0)
            return outcome

    world = Answering({FIRST: acted(), SECOND: answer(b"two,"), THIRD: answer(b"three")})
    world.receive(FIRST, SECOND, THIRD)
    for callback in world.loop.soon:
        callback()
    assert world.channel.sent == b"one,two,three"
    assert world.connection.state is ConnectionState.READING


class Eager(Client):
    """A client without a bound of memory, some of whose requests have acted when they wait."""

    def __init__(self, rng: random.Random) -> None:
        self.waiting: dict[int, int] = {}
        self.told: dict[int, bytes] = {}
        super().__init__(rng, None)

    def process(self, connection: Connection, frame: memoryview) -> Outcome:
        number = int.from_bytes(frame[8:12], "big")
        self.numbers.append(number)
        kind = self.rng.choice("aaaannttwwwwwwwip" + "c" * (self.rng.random() < 0.2))
        if kind in "wip":
            self.waiting[connection.place] = number
            return InTurns(len(frame)) if kind == "i" else Waiting(has_acted=kind == "w")
        if kind == "c":
            return Close("enough")
        if kind == "n":
            return None
        return self._throttled(number) if kind == "t" else self._answer(number)

    def wake(self) -> None:
        """One that waits, whichever, has come to something."""
        if not self.waiting:
            return
        place = self.rng.choice(list(self.waiting))
        kind = self.rng.choice("aaatnp")
        if kind == "p":
            self.connection.resume(Waiting(has_acted=self.rng.random() < 0.5), place)
            return
        number = self.waiting.pop(place)
        outcome: Outcome = None
        if kind != "n":
            outcome = self._answer(number) if kind == "a" else self._throttled(number)
        self.connection.resume(outcome, place)

    def _told(self, number: int, data: bytes) -> None:
        self.told[number] = data


def play(seed: int) -> tuple[int, int]:
    """One history; how many requests were answered, and how many waited at once at the most."""
    rng = random.Random(seed)
    client, most = Eager(rng), 0
    events = (client.send, client.read, client.write, client.wake, client.let_pass, client.leave)
    for _ in range(EVENTS):
        if client.connection.closed:
            break
        rng.choices(events, (30, 35, 10, 10, 10, 0.2))[0]()
        most = max(most, len(client.waiting))
        assert client.connection.state is not ConnectionState.SERVING
        if client.connection.state in (ConnectionState.READING, ConnectionState.PARKED):
            assert client.loop.readable is not None
    first_waiting = min(client.waiting.values(), default=1 << 31)
    in_order = b"".join(client.told[n] for n in sorted(client.told) if n < first_waiting)
    assert in_order.startswith(client.channel.sent)
    if not client.connection.closed and client.channel.room_bytes is None:
        assert client.channel.sent == in_order
    assert client.numbers == sorted(client.numbers)
    return len(client.told), most


def test_whatever_happens_answers_leave_in_the_order_of_requests() -> None:
    counts = [play(seed) for seed in range(1_500)]
    assert max(most for _, most in counts) > 3
    assert sum(told for told, _ in counts) > 10_000
