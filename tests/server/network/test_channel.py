"""A connection over a channel that has no socket: what it does is seen call by call."""

import asyncio
import os
import struct
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from barnabas.server.core.clock import ManualClock, Timer
from barnabas.server.network.connection import Connection
from barnabas.server.network.connection_states import ConnectionState
from barnabas.server.network.outcomes import Close, InTurns, Outcome, Pending, Throttled
from barnabas.server.network.read_ahead import ReadAhead
from barnabas.server.network.request_memory import RequestMemory
from barnabas.server.testing.memory_channel import MemoryChannel
from barnabas.wire.api import ApiKey
from barnabas.wire.connection import Encoded
from barnabas.wire.errors import Malformed
from tests.server.slices import Slice


class Loop(asyncio.AbstractEventLoop):
    """Watches nothing: a test says when the channel can be read or written."""

    def __init__(self) -> None:
        self.readable: Callable[[], object] | None = None
        self.writable: Callable[[], object] | None = None
        self.soon: list[Callable[[], object]] = []

    def add_reader(self, fd: object, callback: Callable[..., object], *args: object) -> None:
        self.readable = callback

    def remove_reader(self, fd: object) -> bool:
        self.readable = None
        return True

    def add_writer(self, fd: object, callback: Callable[..., object], *args: object) -> None:
        self.writable = callback

    def remove_writer(self, fd: object) -> bool:
        self.writable = None
        return True

    def call_soon(self, callback: Callable[..., object], *args: object, **_: object) -> None:  # type: ignore[override]
        self.soon.append(callback)

    def get_debug(self) -> bool:
        return False


class Waiting:
    """A parked request."""

    def __init__(self, has_acted: bool = False) -> None:
        self.has_acted = has_acted
        self.cancelled = False
        self.given_way = 0

    def give_way(self) -> None:
        self.given_way += 1

    def cancel(self) -> None:
        self.cancelled = True


class World:
    """A connection whose requests come to what their bodies say in `outcomes`, or raise it."""

    def __init__(
        self,
        outcomes: Mapping[bytes, Outcome | Exception],
        room_bytes: int | None = None,
        memory: RequestMemory | None = None,
    ) -> None:
        self.outcomes = outcomes
        self.served: list[bytes] = []
        self.reasons: list[str] = []
        self.read_ahead = ReadAhead()
        self.request_memory = memory
        self.clock = ManualClock()
        self.loop = Loop()
        self.channel = MemoryChannel(room_bytes)
        self.connection = Connection(
            self.loop, self.channel, ("host", 1), self, "A", 1_000_000, time.monotonic
        )

    def process(self, connection: Connection, frame: memoryview) -> Outcome:
        self.served.append(bytes(frame))
        outcome = self.outcomes[bytes(frame)]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        return self.clock.call_later(delay_ms, callback)

    def closed(self, connection: Connection, reason: str) -> None:
        self.reasons.append(reason)

    def receive(self, *bodies: bytes, in_pieces: bool = False) -> None:
        """All of them have come; they are read at once, or as the buffer grows."""
        self.channel.put(b"".join(struct.pack(">i", len(body)) + body for body in bodies))
        self._read()
        while in_pieces and self.connection.state is ConnectionState.READING:
            self._read()

    def _read(self) -> None:
        assert self.loop.readable is not None
        self.loop.readable()


def answer(data: bytes) -> Encoded:
    return Encoded(bytearray(data), [])


def test_a_request_is_one_receive_and_one_send() -> None:
    world = World({b"ask": answer(b"told")})
    world.receive(b"ask")
    assert world.channel.calls == [("receive", 7), ("send", 4)]
    assert world.channel.sent == b"told"
    assert world.connection.state is ConnectionState.READING


def test_nothing_due_leads_to_the_next_request() -> None:
    world = World({b"silent": None, b"ask": answer(b"told")})
    world.receive(b"silent", b"ask")
    assert world.served == [b"silent", b"ask"]
    assert world.channel.sent == b"told"


def test_an_answer_that_the_channel_takes_in_pieces_keeps_the_next_request_waiting() -> None:
    world = World({b"ask": answer(b"abcdef")}, room_bytes=4)
    world.receive(b"ask")
    assert world.connection.state is ConnectionState.SENDING
    assert world.loop.readable is None and world.loop.writable is not None
    world.channel.room_bytes = None
    world.loop.writable()
    assert world.channel.sent == b"abcdef"
    assert world.connection.state is ConnectionState.READING
    assert world.loop.writable is None and world.loop.readable is not None


@pytest.mark.parametrize("key, times", [(ApiKey.FETCH, 0), (ApiKey.METADATA, 1)])
def test_what_is_parked_is_asked_to_give_way_to_another_kind_of_request(
    key: ApiKey, times: int
) -> None:
    parked, behind = Waiting(), struct.pack(">h", key) + b"rest"
    world = World({b"wait": parked, behind: answer(b"told")})
    world.receive(b"wait")
    assert parked.given_way == 0
    world.receive(behind)
    assert parked.given_way == times


def test_a_parked_request_reads_one_frame_ahead() -> None:
    parked: Pending = Waiting()
    world = World({b"wait": parked, b"ask": answer(b"told")})
    world.receive(b"wait")
    assert world.connection.state is ConnectionState.PARKED
    world.receive(b"ask")
    assert world.connection.state is ConnectionState.PARKED_FULL
    assert world.loop.readable is None
    world.connection.resume(answer(b"late,"))
    assert world.connection.state is ConnectionState.READY
    world.loop.soon.pop()()
    assert world.channel.sent == b"late,told"
    assert world.connection.state is ConnectionState.READING


def test_an_end_sends_its_last_word_and_drops_what_is_parked_later() -> None:
    world = World({b"end": Close("enough", b"half")})
    world.receive(b"end")
    assert (world.channel.sent, world.channel.is_closed) == (b"half", True)
    assert world.reasons == ["enough"]
    late = Waiting()
    world.connection.resume(late)
    assert late.cancelled
    assert world.loop.readable is None


def test_what_is_answered_before_a_wrong_frame_is_sent() -> None:
    world = World({b"ask": answer(b"told"), b"wrong": Malformed("nonsense")})
    world.receive(b"ask", b"wrong")
    assert (world.channel.sent, world.channel.is_closed) == (b"told", True)
    assert world.reasons == ["the client sent nonsense"]
    assert world.connection.is_misused


def test_of_two_throttles_that_come_at_once_the_last_counts() -> None:
    first, second = (struct.pack(">h", ApiKey.PRODUCE) + each for each in (b"1", b"2"))
    world = World({first: Waiting(has_acted=True), second: Waiting(has_acted=True)})
    world.receive(first, second)
    world.connection.resume(Throttled(answer(b"two"), 50), 1)
    world.connection.resume(Throttled(answer(b"one,"), 20), 0)
    assert world.channel.sent == b"one,two"
    world.clock.advance(20)
    assert world.connection.state is ConnectionState.MUTED
    world.clock.advance(30)
    assert world.connection.state is ConnectionState.READING


def test_a_parked_request_is_cancelled_with_its_connection() -> None:
    parked = Waiting()
    world = World({b"wait": parked})
    world.receive(b"wait")
    world.channel.put(b"")
    assert world.loop.readable is not None
    world.loop.readable()
    assert parked.cancelled
    assert world.reasons == ["the client closed the connection"]


def test_a_request_that_fails_unforeseen_ends_its_connection() -> None:
    world = World({})
    with pytest.raises(KeyError):
        world.receive(b"unknown")
    assert world.connection.state is ConnectionState.CLOSED


def test_files_go_by_their_own_call(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(100_000))
    fd = os.open(path, os.O_RDONLY)
    world = World({b"fetch": Encoded(bytearray(b"<>"), [(1, Slice(fd, 0, 100_000))])})
    world.receive(b"fetch")
    assert world.channel.calls[1:] == [("send", 1), ("send_file", 100_000), ("send", 1)]
    os.close(fd)


def test_a_parked_request_that_gives_memory_back_lets_the_next_be_read() -> None:
    """Served in turns it held its frame; what it waits for now does without."""
    large = bytes(150_000)
    world = World({large: InTurns(len(large))}, memory=RequestMemory(100_000))
    world.receive(large, in_pieces=True)
    assert world.connection.state is ConnectionState.PARKED
    world.channel.put(struct.pack(">i", 120_000))
    assert world.loop.readable is not None
    world.loop.readable()
    assert world.connection.state is ConnectionState.PARKED_SHORT
    parked = Waiting()
    world.connection.resume(parked)
    assert world.connection.state is ConnectionState.PARKED
    world.channel.put(b"")
    world.loop.readable()
    assert parked.cancelled
    assert world.request_memory is not None and world.request_memory.used_bytes == 0


def test_a_throttled_client_is_answered_at_once_and_muted_for_its_time() -> None:
    world = World({b"much": Throttled(answer(b"slowly,"), 200), b"ask": answer(b"told")})
    world.receive(b"much", b"ask")
    assert world.channel.sent == b"slowly,"
    assert world.connection.state is ConnectionState.MUTED
    assert world.connection.is_busy and world.loop.readable is None
    world.clock.advance(199)
    assert world.connection.state is ConnectionState.MUTED
    world.clock.advance(1)
    world.loop.soon.pop()()
    assert world.channel.sent == b"slowly,told"
    assert world.connection.state is ConnectionState.READING


def test_a_throttle_time_without_an_answer_mutes_as_well() -> None:
    world = World({b"silent": Throttled(None, 200), b"ask": answer(b"told")})
    world.receive(b"silent", b"ask")
    assert world.served == [b"silent"]
    world.clock.advance(200)
    world.loop.soon.pop()()
    assert world.channel.sent == b"told"


def test_throttle_time_runs_while_the_answer_waits_for_the_socket() -> None:
    throttled = Throttled(answer(b"abcdef"), 200)
    world = World({b"much": throttled, b"ask": answer(b"told")}, room_bytes=4)
    world.receive(b"much", b"ask")
    assert world.connection.state is ConnectionState.SENDING
    world.channel.room_bytes = None
    assert world.loop.writable is not None
    world.loop.writable()
    assert world.connection.state is ConnectionState.MUTED
    assert world.served == [b"much"]
    world.clock.advance(200)
    assert world.connection.state is ConnectionState.READY


def test_a_muted_connection_can_be_closed() -> None:
    world = World({b"much": Throttled(answer(b"slowly"), 200)})
    world.receive(b"much")
    world.connection.close("enough")
    world.clock.advance(200)
    assert world.connection.state is ConnectionState.CLOSED
