"""The wires from each broker to every other one and to ZooKeeper, which can be cut.

A broker advertises to the others not where it listens but a port of these; who has connected is
told by which process owns the other end of the connection, whatever brokers write into their
requests. A wire that is cut carries nothing, in one direction or both, until it is mended: what
was under way comes late then, as with TCP; or it is torn, and every connection with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import psutil

CHUNK = 1 << 16
ZOOKEEPER = 0
"""Its place among the ids of the brokers."""
WHO_TRIES = 20


class Cut(enum.Enum):
    """How a direction of a wire is cut."""

    SILENT = "silent"
    TORN = "torn"


Direction = tuple[int, int]
"""From one id to another."""


@dataclass(eq=False)
class _Connection:
    source: int
    target: int
    near: asyncio.StreamWriter
    far: asyncio.StreamWriter | None = None
    readers: list[asyncio.StreamReader] = field(default_factory=list)

    def close(self) -> None:
        for writer in (self.near, self.far):
            if writer is not None:
                writer.transport.abort()


class Links:
    """Listens for all of them, in a thread with an event loop of its own."""

    def __init__(self, pid_of: Callable[[int], int | None]) -> None:
        """`pid_of` says which process a broker is just now."""
        self._pid_of = pid_of
        self._cuts: dict[Direction, Cut] = {}
        self._mended: asyncio.Event
        self._connections: set[_Connection] = set()
        self._servers: list[asyncio.Server] = []
        self._loop = asyncio.new_event_loop()
        ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=[ready], daemon=True)
        self._thread.start()
        ready.wait()

    def _run(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)
        self._mended = asyncio.Event()
        self._loop.call_soon(ready.set)
        self._loop.run_forever()
        for server in self._servers:
            server.close()
        for connection in self._connections:
            connection.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0.05))
        self._loop.close()

    def lay(self, target: int, port: int, to: int, brokers: list[int]) -> None:
        """Listen at `port` for what is meant for `target`, which listens at the port `to`."""

        async def listen() -> None:
            async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                await self._serve(target, to, brokers, reader, writer)

            self._servers.append(await asyncio.start_server(serve, "127.0.0.1", port))

        asyncio.run_coroutine_threadsafe(listen(), self._loop).result(10)

    def cut(self, directions: list[Direction], how: Cut) -> None:
        """Until `mend`; a torn wire is torn in both directions."""

        def do() -> None:
            for source, target in directions:
                self._cuts[source, target] = how
                if how is Cut.TORN:
                    self._cuts[target, source] = how
            for connection in list(self._connections):
                if self._how(connection.source, connection.target) is Cut.TORN:
                    connection.close()

        self._loop.call_soon_threadsafe(do)

    def mend(self, directions: list[Direction] | None = None) -> None:
        """These, or all."""

        def do() -> None:
            for direction in list(self._cuts):
                if directions is None or direction in directions or direction[::-1] in directions:
                    del self._cuts[direction]
            self._mended.set()
            self._mended = asyncio.Event()

        self._loop.call_soon_threadsafe(do)

    def close(self) -> None:
        """Stop."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    # --- one connection ----------------------------------------------------------------

    def _how(self, source: int, target: int) -> Cut | None:
        return self._cuts.get((source, target)) or self._cuts.get((target, source))

    async def _serve(
        self,
        target: int,
        to: int,
        brokers: list[int],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        source = await self._who(writer, brokers)
        connection = _Connection(source, target, writer)
        self._connections.add(connection)
        try:
            if self._how(source, target) is Cut.TORN:
                return
            while self._how(source, target) is Cut.SILENT:
                await self._mended.wait()
            answers, connection.far = await asyncio.open_connection("127.0.0.1", to)
            await asyncio.gather(
                self._carry((source, target), reader, connection.far, connection),
                self._carry((target, source), answers, writer, connection),
            )
        except (OSError, asyncio.CancelledError):
            pass  # the other end is away, or all of it ends
        finally:
            self._connections.discard(connection)
            connection.close()

    async def _who(self, writer: asyncio.StreamWriter, brokers: list[int]) -> int:
        """Which broker has connected; -1 for nobody that is known."""
        port = writer.get_extra_info("peername")[1]
        for _ in range(WHO_TRIES):
            for broker in brokers:
                if (pid := self._pid_of(broker)) is not None:
                    with contextlib.suppress(psutil.Error):
                        if await asyncio.to_thread(_has_port, pid, port):
                            return broker
            await asyncio.sleep(0.01)
        return -1

    async def _carry(
        self,
        direction: Direction,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        connection: _Connection,
    ) -> None:
        with contextlib.suppress(OSError):
            while chunk := await reader.read(CHUNK):
                while self._cuts.get(direction) is Cut.SILENT:
                    await self._mended.wait()
                writer.write(chunk)
                await writer.drain()
        connection.close()


def _has_port(pid: int, port: int) -> bool:
    connections = psutil.Process(pid).net_connections("tcp")
    return any(each.laddr and each.laddr.port == port for each in connections)
