"""A ZooKeeper session with a server that does as the test says; the real one is in compat-tests."""

import asyncio
import socket
import ssl
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from barnabas.server.registry.znodes import zookeeper_session
from barnabas.server.registry.znodes import zookeeper_wire as wire
from barnabas.server.registry.znodes.store import (
    ConnectionLoss,
    Create,
    NoNode,
    SessionExpired,
    SessionState,
    StoreFailed,
    ZnodeError,
)
from barnabas.server.registry.znodes.zookeeper import ZookeeperStore
from barnabas.server.registry.znodes.zookeeper_session import (
    ZookeeperServers,
    _reason,
    patience_of,
)
from tests.server.registry.worlds import Heard
from tests.server.waiting import eventually

PATIENCE_MS = 10_000
PASSWORD = bytes(range(16))
NO_RESULTS = struct.pack(">iBi", -1, 1, -1)
NO_NODE, MARSHALLING_ERROR, QUOTA_EXCEEDED = -101, -5, -125


class ScriptedServer(asyncio.Protocol):
    """Grants sessions and keeps the requests; the test answers."""

    def __init__(self, timeout_ms: int = 60_000) -> None:
        self.timeout_ms = timeout_ms
        self.session_id = 7
        self.grants_none = False
        self.is_deaf = False
        self.greetings: list[tuple[int, int]] = []  # (last zxid, session id) of each connection
        self.requests: list[tuple[int, int]] = []  # (xid, type) since the last connection
        self._transports: list[asyncio.Transport] = []
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transports.append(transport)
        self.requests.clear()
        self._received = b""
        self._is_greeted = False

    def data_received(self, data: bytes) -> None:
        self._received += data
        while len(self._received) >= 4:
            (length,) = struct.unpack_from(">i", self._received)
            if len(self._received) < 4 + length:
                return
            body, self._received = self._received[4 : 4 + length], self._received[4 + length :]
            self._take(body)

    def _take(self, body: bytes) -> None:
        if self._is_greeted:
            self.requests.append(struct.unpack_from(">ii", body))
            return
        if self.is_deaf:
            return
        if self.grants_none:
            return self.hang_up()
        self._is_greeted = True
        _, last_zxid, _, session_id = struct.unpack_from(">iqiq", body)
        self.greetings.append((last_zxid, session_id))
        granted = self.session_id if session_id in (0, self.session_id) else 0
        timeout_ms = self.timeout_ms if granted else 0
        self.send(struct.pack(">iiqi", 0, timeout_ms, granted, 16) + PASSWORD + b"\0")

    def send(self, body: bytes) -> None:
        self._transports[-1].write(wire.frame(body))

    def answer(self, xid: int, body: bytes = b"", error: int = 0, zxid: int = 1) -> None:
        self.send(struct.pack(">iqi", xid, zxid, error) + body)

    def hang_up(self) -> None:
        for transport in self._transports:
            transport.abort()


@asynccontextmanager
async def scripted(
    server: ScriptedServer, most_in_flight: int = 10
) -> AsyncIterator[ZookeeperStore]:
    """A connected store and its server, for the length of a block."""
    loop = asyncio.get_running_loop()
    listener = await loop.create_server(lambda: server, "127.0.0.1", 0)
    address = listener.sockets[0].getsockname()
    store = ZookeeperStore(ZookeeperServers([address], server.timeout_ms, most_in_flight))
    await store.connect(PATIENCE_MS)
    try:
        yield store
    finally:
        store.abandon()
        server.hang_up()
        listener.close()
        await asyncio.sleep(0)


def stat(version: int = 0) -> bytes:
    return struct.pack(">qqqqiiiqiiq", 1, 1, 0, 0, version, 0, 0, 0, 0, 0, 1)


async def test_no_more_requests_are_under_way_than_allowed() -> None:
    server = ScriptedServer()
    async with scripted(server, most_in_flight=3) as store:
        reading = asyncio.create_task(store.get_many([f"/{n}" for n in range(8)]))
        for answered in range(8):
            await eventually(lambda n=answered: len(server.requests) == min(n + 3, 8))
            body = struct.pack(">i", 1) + b"%d" % answered + stat()
            server.answer(server.requests[answered][0], body)
        found = await reading
    assert [znode.data for znode in found if znode] == [b"%d" % n for n in range(8)]


async def test_an_answer_out_of_order_ends_the_connection_not_the_session() -> None:
    server = ScriptedServer()
    async with scripted(server) as store:
        reading = asyncio.create_task(store.exists("/a"))
        await eventually(lambda: bool(server.requests))
        server.answer(server.requests[0][0] + 1, stat(), zxid=77)
        with pytest.raises(ConnectionLoss):
            await reading
        await eventually(lambda: len(server.greetings) == 2)
        assert server.greetings == [(0, 0), (0, 7)]


@pytest.mark.parametrize("body", [b"", b"\0", NO_RESULTS, struct.pack(">i", 1 << 30) + b"x"])
async def test_an_answer_that_cannot_be_read_ends_the_connection(body: bytes) -> None:
    server = ScriptedServer()
    async with scripted(server) as store:
        reading = asyncio.create_task(store.multi([Create("/a")]))
        await eventually(lambda: bool(server.requests))
        server.answer(server.requests[0][0], body)
        with pytest.raises(ConnectionLoss):
            await reading
        await eventually(lambda: len(server.greetings) == 2)


@pytest.mark.parametrize("frame", [b"\xff\xff\xff\xff", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
async def test_who_does_not_speak_zookeeper_is_hung_up_on(frame: bytes) -> None:
    server = ScriptedServer()
    async with scripted(server) as store:
        heard = Heard()
        store.on_session(heard.session)
        server._transports[-1].write(frame)
        await eventually(lambda: len(server.greetings) == 2 and len(heard.states) > 1)
        assert [state.name for state, _ in heard.states][:2] == ["SUSPENDED", "ESTABLISHED"]


async def test_silence_for_two_thirds_of_the_session_ends_the_connection() -> None:
    server = ScriptedServer(timeout_ms=120)
    async with scripted(server) as store:
        heard = Heard()
        store.on_session(heard.session)
        await eventually(lambda: (wire.PING_XID, 11) in server.requests)
        await eventually(lambda: len(server.greetings) >= 2)
        assert heard.states[0] == (SessionState.SUSPENDED, 7)


async def test_a_connection_that_nobody_reads_is_given_up_while_the_session_lives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(zookeeper_session, "LEAST_TRIES", 600)
    monkeypatch.setattr(zookeeper_session, "SHORTEST_PATIENCE_S", 0.0)
    server = ScriptedServer()
    async with scripted(server) as store:
        server.is_deaf = True
        server.hang_up()
        await eventually(lambda: store.state is SessionState.SUSPENDED)
        connections = len(server._transports)
        await eventually(lambda: len(server._transports) > connections + 1)
        server.is_deaf = False
        await eventually(lambda: store.state is SessionState.ESTABLISHED)
        assert (store.session_id, server.greetings[-1]) == (7, (0, 7))


@pytest.mark.parametrize(
    ("timeout_ms", "servers", "patience_s"),
    [(18_000, 1, 6), (18_000, 3, 6), (18_000, 9, 2), (6_000, 1, 2), (6_000, 5, 1.2), (1_000, 1, 1)],
)
def test_several_tries_fit_into_a_session(timeout_ms: int, servers: int, patience_s: float) -> None:
    assert patience_of(timeout_ms, servers) == patience_s


async def test_what_is_asked_while_the_session_is_over_is_refused_at_once() -> None:
    server = ScriptedServer()
    async with scripted(server) as store:
        lost: list[ZnodeError] = []

        async def ask() -> None:
            try:
                await store.get("/a")
            except ZnodeError as error:
                lost.append(error)

        tasks = []
        store.on_session(lambda state, _: tasks.append(asyncio.create_task(ask())))
        server.session_id = 8
        server.hang_up()
        await eventually(lambda: store.session_id == 8)
        assert server.greetings[-2:] == [(0, 7), (0, 0)]
        await asyncio.wait(tasks[:1])
        assert isinstance(lost[0], ConnectionLoss | SessionExpired)


async def test_watches_are_set_again_before_anything_else_is_asked() -> None:
    server = ScriptedServer()
    async with scripted(server) as store:
        heard = Heard()
        watching = asyncio.create_task(store.exists("/a", heard.watch))
        await eventually(lambda: bool(server.requests))
        server.answer(server.requests[0][0], error=NO_NODE, zxid=40)
        assert await watching is None
        asked = []
        store.on_session(lambda state, _: asked.append(state))
        store.on_session(
            lambda state, _: (
                state is SessionState.ESTABLISHED
                and asked.append(asyncio.create_task(store.exists("/b")))
            )
        )
        server.hang_up()
        await eventually(lambda: len(server.requests) >= 2)
        assert server.greetings[-1] == (40, 7)
        assert [kind for _, kind in server.requests] == [101, 3]
        server.send(
            struct.pack(">iqi", wire.EVENT_XID, -1, 0) + struct.pack(">iii", 1, 3, 2) + b"/a"
        )
        await eventually(lambda: bool(heard.events))
        assert heard.told() == [("CREATED", "/a")]
        asked[-1].cancel()


@pytest.mark.parametrize(
    ("code", "error"),
    [(NO_NODE, NoNode), (MARSHALLING_ERROR, StoreFailed), (QUOTA_EXCEEDED, StoreFailed)],
)
async def test_refusals_by_number(code: int, error: type[ZnodeError]) -> None:
    server = ScriptedServer()
    async with scripted(server) as store:
        reading = asyncio.create_task(store.get("/a"))
        await eventually(lambda: bool(server.requests))
        server.answer(server.requests[0][0], error=code)
        with pytest.raises(error, match="/a"):
            await reading


async def test_servers_that_grant_no_session_are_complained_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As one that has lost what it knew: it sends away who has seen more than it has."""
    server = ScriptedServer()
    async with scripted(server):
        server.grants_none = True
        server.hang_up()
        await eventually(lambda: "ZooKeeper grants no session: 127.0.0.1:" in caplog.text)


def test_why_a_server_cannot_be_reached_is_said_in_words() -> None:
    assert _reason(ConnectionRefusedError(111, "Connect call failed (...)")) == "Connection refused"
    assert "known" in _reason(socket.gaierror(-2, "Name or service not known"))
    assert _reason(TimeoutError()) == "no answer in time"
    assert "certificate" in _reason(ssl.SSLCertVerificationError(1, "certificate verify failed"))
