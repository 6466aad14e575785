"""One connection to a broker: requests go out in order, answers come back by correlation id.

It ends when the broker ends it, sends what cannot be read or was not asked for, or leaves one
request unanswered for its time; everything under way is then `Unanswered`, for nobody knows what
became of it.

The socket is received into the buffer that answers are decoded from. Records are views of it, and
stay as they are for as long as nothing else is asked: what a broker sends unasked goes elsewhere.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Self

from barnabas.server.core.awaiting import within
from barnabas.server.core.clock import Clock, Timer
from barnabas.server.core.errors import Unanswered
from barnabas.server.peers.dialing import Incoming, Received, Streams
from barnabas.wire.api import ApiKey
from barnabas.wire.connection import ClientConnection
from barnabas.wire.errors import ProtocolError
from barnabas.wire.frame import DEFAULT_MAX_FRAME_BYTES
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.schema import Message

READ_BYTES: Final = 64 * 1024
UNASKED_BYTES: Final = 1024
SMALL_BYTES: Final = 64 * 1024
LARGE_BYTES: Final = 1 << 20
SMALL_READS: Final = 64
"""So many in a row need no large buffer: its memory is given back."""
MOST_UNANSWERED: Final = 100
"""Requests under way at a time; more are refused: what a broker leaves unanswered is bounded."""

_CORRELATION_ID: Final = slice(8, 12)  # behind the length, the API and the version
_NOT_KNOWN_YET: Final = {int(ApiKey.API_VERSIONS): (0, 0)}  # every broker since 0.10 answers that


class Unsupported(Unanswered):
    """The broker serves no version of the API that would do."""


class Link(asyncio.BufferedProtocol):
    """An open connection."""

    def __init__(
        self,
        streams: Streams,
        client_id: str,
        clock: Clock,
        timeout_ms: float,
        most_answer_bytes: int = DEFAULT_MAX_FRAME_BYTES,
    ) -> None:
        incoming, self._outgoing = streams
        self._wire = ClientConnection(client_id, most_answer_bytes)
        self._frames = self._wire.frames
        self._clock = clock
        self._timeout_ms = timeout_ms
        self._versions: Mapping[int, tuple[int, int]] = _NOT_KNOWN_YET
        self._unanswered: dict[int, tuple[asyncio.Future[Any], Timer]] = {}
        self._unasked = memoryview(bytearray(UNASKED_BYTES))
        self._small_reads = 0
        self.is_open = True
        self.answers = 0
        """How many answers have come."""
        self.closed_ms = 0.0
        """When it was closed, by the monotonic clock."""
        self._reading: asyncio.Task[None] | None = None
        if isinstance(incoming, Received):
            incoming.by(self)
        else:
            self._reading = asyncio.get_running_loop().create_task(self._read(incoming))

    @classmethod
    async def open(
        cls,
        connect: Callable[[str, int], Awaitable[Streams]],
        host: str,
        port: int,
        client_id: str,
        clock: Clock,
        timeout_ms: float,
        most_answer_bytes: int = DEFAULT_MAX_FRAME_BYTES,
    ) -> Self:
        """Connect, and learn which versions the broker serves. Raises Unanswered."""
        opening = asyncio.ensure_future(connect(host, port))
        try:
            streams = await within(clock, timeout_ms, opening)
        except (OSError, TimeoutError) as error:
            raise Unanswered(f"cannot connect to {host}:{port}: {error or 'no answer'}") from None
        except asyncio.CancelledError:
            _close_opened(opening)
            raise
        link = cls(streams, client_id, clock, timeout_ms, most_answer_bytes)
        try:
            answer = await link.ask(ApiVersionsRequest(), (0, 0))
        except BaseException:
            link.close("it does not say which versions it serves")
            raise
        link._versions = {
            each.api_key: (each.min_version, each.max_version) for each in answer.api_keys
        }
        return link

    async def ask(self, request: Message, versions: tuple[int, int]) -> Any:
        """The answer to a request, at the latest of these versions that the broker serves.

        Raises Unanswered, or Unsupported where it serves none of them.
        """
        version = self._choose(request, versions)
        if not self.is_open:
            raise Unanswered("the connection is closed")
        if len(self._unanswered) >= MOST_UNANSWERED:
            raise Unanswered(f"{MOST_UNANSWERED} requests are unanswered")
        self._give_memory_back()
        data = self._wire.send(request, version)
        number = int.from_bytes(data[_CORRELATION_ID])
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        timer = self._clock.call_later(self._timeout_ms, self._overdue)
        self._unanswered[number] = (answer, timer)
        self._outgoing.write(data)
        return await answer

    def _overdue(self) -> None:
        self.close(f"no answer for {self._timeout_ms:g} ms")

    def close(self, reason: str) -> None:
        """End the connection; what is unanswered stays so."""
        if not self.is_open:
            return
        self.is_open, self.closed_ms = False, self._clock.monotonic_ms()
        if self._reading is not None:
            self._reading.cancel()
        self._outgoing.close()
        unanswered, self._unanswered = self._unanswered, {}
        for answer, timer in unanswered.values():
            timer.cancel()
            if not answer.done():  # else nobody waits for it any more
                answer.set_exception(Unanswered(reason))

    def _give_memory_back(self) -> None:
        """A buffer that large answers have made large is not kept for small ones."""
        frames = self._frames
        if self._small_reads >= SMALL_READS and frames.capacity_bytes > LARGE_BYTES:
            if not self._unanswered and not frames:
                frames.clear()

    def _choose(self, request: Message, versions: tuple[int, int]) -> int:
        assert request.API_KEY is not None
        served = self._versions.get(int(request.API_KEY))
        if served is None:
            raise Unsupported(f"{request.API_KEY.name} is not served")
        version = min(served[1], versions[1])
        if version < max(served[0], versions[0]):
            raise Unsupported(f"{request.API_KEY.name} is served at {served[0]} to {served[1]}")
        return version

    # What comes: told by the socket itself, or read from what stands for one.

    async def _read(self, incoming: Incoming) -> None:
        error = None
        try:
            while data := await incoming.read(READ_BYTES):
                while data and self.is_open:
                    room = self.get_buffer(-1)
                    taken = min(len(room), len(data))
                    room[:taken] = data[:taken]
                    data = data[taken:]
                    self.buffer_updated(taken)
        except OSError as lost:
            error = lost
        self.connection_lost(error)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next bytes go."""
        return self._frames.writable() if self._unanswered else self._unasked

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes have come."""
        if not self._unanswered:
            return self.close("the broker says what it was not asked")
        self._frames.received(nbytes)
        self._small_reads = 0 if nbytes > SMALL_BYTES else self._small_reads + 1
        try:
            while (found := self._wire.next_response()) is not None:
                assert not isinstance(found, bytes)
                self._answer(*found)
        except ProtocolError as error:
            self.close(f"the connection was lost: {error}")

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        lost = f"the connection was lost: {exc}"
        self.close("the broker closed the connection" if exc is None else lost)

    def _answer(self, number: int, response: Any) -> None:
        answer, timer = self._unanswered.pop(number)
        timer.cancel()
        self.answers += 1
        if not answer.done():
            answer.set_result(response)


def _close_opened(opening: asyncio.Future[Streams]) -> None:
    """Nobody wants a connection that has been opened in the very moment of giving it up."""
    if opening.done() and not opening.cancelled() and opening.exception() is None:
        opening.result()[1].close()
