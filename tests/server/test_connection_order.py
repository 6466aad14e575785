"""One request at a time, also where the socket is full: a connection without a broker."""

import asyncio
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from barnabas.server.core.clock import Timer
from barnabas.server.network.channel import PlainChannel
from barnabas.server.network.connection import Connection
from barnabas.server.network.outcomes import Outcome
from barnabas.server.network.reactor import new_event_loop
from barnabas.server.network.read_ahead import ReadAhead
from barnabas.server.network.request_memory import RequestMemory
from barnabas.wire.connection import Encoded
from tests.server.waiting import eventually

TIMEOUT_S = 60.0
ANSWER_BYTES = 60_000  # below what ends a round of requests, above what the socket takes


class Server:
    """Parks requests called `park`, answers all others; notes what it was asked, in order."""

    def __init__(self, loop: asyncio.AbstractEventLoop, sock: socket.socket) -> None:
        self.seen: list[bytes] = []
        self.parked: list[Connection] = []
        self.has_acted = False
        self.read_ahead = ReadAhead()
        self.request_memory: RequestMemory | None = None
        self.connection = Connection(
            loop, PlainChannel(sock), sock.getpeername(), self, "A", 1_000_000, time.monotonic
        )

    def process(self, connection: Connection, frame: memoryview) -> Outcome:
        assert not self.parked, "a request is served while another is in progress"
        self.seen.append(bytes(frame))
        if self.seen[-1] == b"park":
            self.parked.append(connection)
            return self
        return Encoded(bytearray(ANSWER_BYTES), [])

    def answer_parked(self) -> None:
        self.parked.pop().resume(Encoded(bytearray(b"late"), []))

    def give_way(self) -> None:
        pass

    def cancel(self) -> None:
        pass

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        raise NotImplementedError

    def closed(self, connection: Connection, reason: str) -> None:
        pass


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = new_event_loop()
    yield made
    made.close()


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """A client's socket and the server's, both with the smallest buffers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(listening.getsockname())
        server, _ = listening.accept()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    server.setblocking(False)
    client.settimeout(TIMEOUT_S)
    yield client, server
    client.close()
    server.close()


Pair = tuple[socket.socket, socket.socket]


def frames(*bodies: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(body)) + body for body in bodies)


def run_until(loop: asyncio.AbstractEventLoop, condition: Callable[[], bool]) -> None:
    loop.run_until_complete(eventually(condition))


async def read(loop: asyncio.AbstractEventLoop, client: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        data += await loop.sock_recv(client, count - len(data))
    return data


def test_a_socket_that_takes_more_does_not_start_what_is_behind_a_parked_request(
    loop: asyncio.AbstractEventLoop, pair: Pair
) -> None:
    client, sock = pair
    server = Server(loop, sock)
    client.sendall(frames(b"first", b"park", b"behind"))
    run_until(loop, lambda: bool(server.parked))
    assert server.connection.outbox
    client.setblocking(False)
    loop.run_until_complete(asyncio.wait_for(read(loop, client, ANSWER_BYTES), TIMEOUT_S))
    run_until(loop, lambda: not server.connection.outbox)
    assert server.seen == [b"first", b"park"]
    server.answer_parked()
    late = read(loop, client, 4 + ANSWER_BYTES)
    assert loop.run_until_complete(asyncio.wait_for(late, TIMEOUT_S)).startswith(b"late")
    assert server.seen == [b"first", b"park", b"behind"]
    server.connection.close("the test is over")


class Keeper(Server):
    """Parks every request, and keeps the view of its frame as who serves it later does."""

    def __init__(self, loop: asyncio.AbstractEventLoop, sock: socket.socket) -> None:
        super().__init__(loop, sock)
        self.frame = memoryview(b"")

    def process(self, connection: Connection, frame: memoryview) -> Outcome:
        self.frame = frame
        self.parked.append(connection)
        return self


@pytest.mark.parametrize("size", [10, 5_000, 16_000, 60_000])
def test_a_request_served_late_still_has_its_bytes(
    loop: asyncio.AbstractEventLoop, pair: Pair, size: int
) -> None:
    client, sock = pair
    server = Keeper(loop, sock)
    bodies = [bytes([number]) * size for number in range(6)]
    client.sendall(frames(bodies[0]))
    for number, body in enumerate(bodies):
        run_until(loop, lambda: bool(server.parked))
        for behind in bodies[number + 1 : number + 2]:
            sending = threading.Thread(target=client.sendall, args=(frames(behind),))
            sending.start()
            run_until(loop, server.connection.frames.has_frame)
            sending.join(TIMEOUT_S)
        assert server.frame == body
        server.answer_parked()
    server.connection.close("the test is over")


class Glancer(Server):
    """Answers every request at once; notes which buffers their frames lie in."""

    def __init__(self, loop: asyncio.AbstractEventLoop, sock: socket.socket) -> None:
        super().__init__(loop, sock)
        self.buffers: set[int] = set()
        self.count = 0

    def process(self, connection: Connection, frame: memoryview) -> Outcome:
        self.buffers.add(id(frame.obj))
        self.count += 1
        return None


def test_requests_that_are_answered_at_once_share_one_buffer(
    loop: asyncio.AbstractEventLoop, pair: Pair
) -> None:
    client, sock = pair
    server = Glancer(loop, sock)
    for number in range(1, 101):
        client.sendall(frames(b"x" * 1_000))
        run_until(loop, lambda: server.count == number)  # noqa: B023
    assert len(server.buffers) == 1
    server.connection.close("the test is over")
