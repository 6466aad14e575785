"""A TCP proxy before a broker that knows where requests begin, and has bad luck with some.

TCP loses nothing in the middle of a connection, so what is "dropped" is the rest of it: a request
or an answer is lost together with all that would have come behind it, until the client gives up
or the connection is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass, field
from random import Random
from typing import Any

METADATA, API_VERSIONS, END_TXN = 3, 18, 26
TRANSACTIONAL = frozenset({0, 8, 9, 10, 22, 24, 25, 26, 27, 28})
"""Produce, offsets and coordinators; InitProducerId up to TxnOffsetCommit."""
LONGEST_S = 5.0


@dataclass
class Trouble:
    """How often what happens to a request: shares of one, and seconds."""

    delay: float = 0.0
    lose_request: float = 0.0
    lose_answer: float = 0.0
    close_after: float = 0.0
    longest_delay_s: float = 1.0


NO_TROUBLE = Trouble()


@dataclass(eq=False)
class _Connection:
    client: asyncio.StreamWriter
    broker: asyncio.StreamWriter
    answers_are_lost: bool = False
    requests_are_lost: bool = False
    close_at_answer: bool = False
    closing: list[asyncio.Task[None]] = field(default_factory=list)

    def close(self) -> None:
        for writer in (self.client, self.broker):
            writer.transport.abort()


class Proxy:
    """Listens on `port` and passes on to `target`, both of 127.0.0.1, in a thread of its own."""

    def __init__(self, port: int, target: int, seed: int) -> None:
        self.trouble = NO_TROUBLE
        self.counts: Counter[str] = Counter()
        self._port, self._target = port, target
        self._chance = Random(seed)
        self._end_seen = threading.Event()
        self._connections: set[_Connection] = set()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        self._ready.wait()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        serving = asyncio.start_server(self._serve, "127.0.0.1", self._port)
        server = self._loop.run_until_complete(serving)
        self._ready.set()
        self._loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0.05))
        self._loop.close()

    def cut(self) -> None:
        """Close every connection."""
        self.counts["cut"] += len(self._connections)
        self._loop.call_soon_threadsafe(lambda: [each.close() for each in set(self._connections)])

    def wait_for_end(self, timeout_s: float) -> None:
        """Until a client's request to end a transaction has been passed on."""
        self._end_seen.clear()
        self._end_seen.wait(timeout_s)

    def close(self) -> None:
        """Stop."""
        self.cut()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    # --- one connection ----------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            answers, broker = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        connection = _Connection(writer, broker)
        self._connections.add(connection)
        try:
            await asyncio.gather(
                _until_closed(self._pass_requests(connection, reader)),
                _until_closed(self._pass_answers(connection, answers)),
            )
        finally:
            self._connections.discard(connection)
            connection.close()

    async def _pass_requests(self, connection: _Connection, reader: asyncio.StreamReader) -> None:
        try:
            while True:
                size = await reader.readexactly(4)
                frame = await reader.readexactly(int.from_bytes(size, "big"))
                api = int.from_bytes(frame[:2], "big")
                await self._bad_luck(connection, api)
                if connection.requests_are_lost:
                    continue
                connection.broker.write(size + frame)
                await connection.broker.drain()
                if api == END_TXN:
                    self._end_seen.set()
        finally:
            connection.close()

    async def _pass_answers(self, connection: _Connection, reader: asyncio.StreamReader) -> None:
        try:
            while chunk := await reader.read(1 << 16):
                if connection.close_at_answer:
                    return
                if not connection.answers_are_lost:
                    connection.client.write(chunk)
                    await connection.client.drain()
        finally:
            connection.close()

    async def _bad_luck(self, connection: _Connection, api: int) -> None:
        trouble, dice = self.trouble, self._chance.random()
        if trouble is NO_TROUBLE or api in (METADATA, API_VERSIONS):
            return
        if api not in TRANSACTIONAL:
            dice *= 10  # fetches and heartbeats are many
        seconds = self._chance.uniform(0, trouble.longest_delay_s)
        if dice < trouble.delay:
            self.counts["delayed"] += 1
            await asyncio.sleep(seconds)
        elif (dice := dice - trouble.delay) < trouble.lose_request:
            self.counts["request lost"] += 1
            connection.requests_are_lost = connection.answers_are_lost = True
            self._close_later(connection)
        elif (dice := dice - trouble.lose_request) < trouble.lose_answer:
            self.counts["answer lost"] += 1
            connection.answers_are_lost = True
            self._close_later(connection)
        elif dice - trouble.lose_answer < trouble.close_after:
            self.counts["closed at the answer"] += 1
            connection.close_at_answer = True

    def _close_later(self, connection: _Connection) -> None:
        async def close(after_s: float) -> None:
            await asyncio.sleep(after_s)
            connection.close()

        after_s = self._chance.uniform(0, LONGEST_S)
        connection.closing.append(asyncio.create_task(close(after_s)))


async def _until_closed(work: Coroutine[Any, Any, None]) -> None:
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        await work
