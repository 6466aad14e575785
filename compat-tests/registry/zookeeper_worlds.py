"""A real Apache ZooKeeper as a world for the contract suite, and ways to disturb it.

Each session has a `Cable` of its own between it and the server, which can be cut.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import struct
from pathlib import Path

from oracles import require_oracle, require_program

from barnabas.server.registry.znodes import zookeeper_wire as wire
from barnabas.server.registry.znodes.store import SessionState, ZnodeStore
from barnabas.server.registry.znodes.zookeeper import ZookeeperStore
from barnabas.server.registry.znodes.zookeeper_session import ZookeeperServers
from barnabas.server.testing.zookeeper import ZookeeperServer
from tests.server.waiting import eventually

TIMEOUT_MS = 2_000  # of sessions that are to time out
LONG_SESSION_MS = 40_000  # of those that are not, however slow the machine
TICK_MS = 200
PATIENCE_MS = 20_000

_chroots = itertools.count()


def zookeeper_server(folder: Path, port: int = 0) -> ZookeeperServer:
    """One server with the jars of Apache Kafka 3.9.1; not started."""
    require_program("java")
    return ZookeeperServer(folder, port, jars=require_oracle("jars-3.9.1"), tick_ms=TICK_MS)


class Cable:
    """Carries bytes between a client and the server, unless it is cut."""

    def __init__(self, port: int) -> None:
        self._server_port = port
        self._ends: set[asyncio.Transport] = set()
        self._listener: asyncio.Server | None = None
        self.is_cut = False
        self.port = 0

    async def lay(self) -> None:
        """Open the client's end."""
        loop = asyncio.get_running_loop()
        self._listener = await loop.create_server(lambda: _End(self), "127.0.0.1", 0)
        self.port = self._listener.sockets[0].getsockname()[1]

    def cut(self) -> None:
        """Break every connection; new ones are broken at once until it is mended."""
        self.is_cut = True
        for end in list(self._ends):
            end.abort()

    def mend(self) -> None:
        """Carry again."""
        self.is_cut = False

    async def remove(self) -> None:
        """Break every connection for good."""
        self.cut()
        if self._listener is not None:
            self._listener.close()
        await eventually(lambda: not self._ends)

    async def reach(self, near: _End) -> None:
        """Connect to the server for a client that has come."""
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(lambda: _End(self, near), "127.0.0.1", self._server_port)
        except OSError:
            near.transport.abort()

    def joined(self, end: _End) -> None:
        """A connection has been made at either end."""
        self._ends.add(end.transport)
        if self.is_cut:
            end.transport.abort()

    def left(self, end: _End) -> None:
        """And is gone."""
        self._ends.discard(end.transport)


class _End(asyncio.Protocol):
    """One end of what a cable carries; `peer` is the other."""

    transport: asyncio.Transport

    def __init__(self, cable: Cable, peer: _End | None = None) -> None:
        self._cable = cable
        self._is_near = peer is None
        self._early = b""
        self.peer = peer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._cable.joined(self)
        if self.peer is None:
            self._reaching = asyncio.create_task(self._cable.reach(self))
        else:
            self.peer.met(self)

    def met(self, peer: _End) -> None:
        self.peer = peer
        peer.transport.write(self._early)

    def data_received(self, data: bytes) -> None:
        if self.peer is None:
            self._early += data
        else:
            self.peer.transport.write(data)

    def connection_lost(self, error: Exception | None) -> None:
        self._cable.left(self)
        if self.peer is not None:
            self.peer.transport.abort()


class ZookeeperWorld:
    """Sessions with one real server, in a part of its tree that nobody else uses."""

    def __init__(self, server: ZookeeperServer) -> None:
        self._server = server
        self._chroot = f"/world-{next(_chroots)}"
        self._cables: dict[ZnodeStore, Cable] = {}

    async def connect(self) -> ZookeeperStore:
        """Begin a session through a cable."""
        cable = Cable(self._server.port)
        await cable.lay()
        servers = ZookeeperServers([("127.0.0.1", cable.port)], LONG_SESSION_MS)
        store = ZookeeperStore(servers, self._chroot)
        await store.connect(PATIENCE_MS)
        self._cables[store] = cable
        return store

    async def suspend(self, store: ZnodeStore) -> None:
        """Cut the session's cable, and return when its owner has noticed."""
        self._cables[store].cut()
        await eventually(lambda: store.state is not SessionState.ESTABLISHED)

    async def resume(self, store: ZnodeStore) -> None:
        """Mend the cable."""
        self._cables[store].mend()

    async def expire(self, store: ZnodeStore) -> None:
        """End the session from another connection that knows its password."""
        assert isinstance(store, ZookeeperStore)
        await end_session(self._server.port, store)

    async def close(self) -> None:
        """End all sessions."""
        for store in self._cables:
            await store.close()
        for cable in self._cables.values():
            await cable.remove()


async def end_session(port: int, store: ZookeeperStore) -> None:
    """Go on with a session on a connection of one's own, and end it; its owner may come between."""
    session = store._session
    hello = wire.connect_frame(0, TIMEOUT_MS, session.session_id, session._password)
    end = wire.request_frame(1, wire.close())
    is_over = False
    while not is_over:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(hello + end)
        try:
            is_over = wire.read_session(await _frame(reader)).timeout_ms <= 0
            is_over = is_over or wire.read_answer(await _frame(reader)).error == 0
        except (asyncio.IncompleteReadError, OSError):
            continue
        finally:
            writer.transport.abort()


async def _frame(reader: asyncio.StreamReader) -> bytes:
    (length,) = struct.unpack(">i", await reader.readexactly(4))
    return await reader.readexactly(length)


def pause(server: ZookeeperServer) -> None:
    """Stop the server's clock (SIGSTOP)."""
    assert server.process is not None
    os.kill(server.process.pid, signal.SIGSTOP)


def go_on(server: ZookeeperServer) -> None:
    """Let it go on (SIGCONT)."""
    assert server.process is not None
    os.kill(server.process.pid, signal.SIGCONT)
