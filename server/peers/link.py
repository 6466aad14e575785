"""One connection to a broker: requests go out in order, answers come back by correlation id.

It ends when the broker ends it, sends what cannot be read, or leaves one request unanswered for its
time; everything under way is then `Unanswered`, for nobody knows what became of it.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final, Self

from barnabas.server.core.awaiting import within
from barnabas.server.core.clock import Clock, Timer
from barnabas.server.core.errors import Unanswered
from barnabas.wire.api import ApiKey
from barnabas.wire.connection import ClientConnection
from barnabas.wire.errors import ProtocolError
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.schema import Message

READ_BYTES: Final = 64 * 1024
MOST_UNANSWERED: Final = 100
"""Requests under way at a time; more are refused: what a broker leaves unanswered is bounded."""

_CORRELATION_ID: Final = slice(8, 12)  # behind the length, the API and the version
_NOT_KNOWN_YET: Final = {int(ApiKey.API_VERSIONS): (0, 0)}  # every broker since 0.10 answers that


class Unsupported(Unanswered):
    """The broker serves no version of the API that would do."""


class Link:
    """An open connection."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        client_id: str,
        clock: Clock,
        timeout_ms: float,
    ) -> None:
        self._writer = writer
        self._wire = ClientConnection(client_id)
        self._clock = clock
        self._timeout_ms = timeout_ms
        self._versions: Mapping[int, tuple[int, int]] = _NOT_KNOWN_YET
        self._unanswered: dict[int, tuple[asyncio.Future[Any], Timer]] = {}
        self.is_open = True
        self.answers = 0
        """How many answers have come."""
        self.closed_ms = 0.0
        """When it was closed, by the monotonic clock."""
        self._reading = asyncio.get_running_loop().create_task(self._read(reader))

    @classmethod
    async def open(
        cls, host: str, port: int, client_id: str, clock: Clock, timeout_ms: float
    ) -> Self:
        """Connect, and learn which versions the broker serves. Raises Unanswered."""
        try:
            reader, writer = await within(clock, timeout_ms, asyncio.open_connection(host, port))
        except (OSError, TimeoutError) as error:
            raise Unanswered(f"cannot connect to {host}:{port}: {error or 'no answer'}") from None
        link = cls(reader, writer, client_id, clock, timeout_ms)
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
        data = self._wire.send(request, version)
        number = int.from_bytes(data[_CORRELATION_ID])
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        overdue = f"no answer for {self._timeout_ms:g} ms"
        timer = self._clock.call_later(self._timeout_ms, lambda: self.close(overdue))
        self._unanswered[number] = (answer, timer)
        self._writer.write(data)
        return await answer

    def close(self, reason: str) -> None:
        """End the connection; what is unanswered stays so."""
        if not self.is_open:
            return
        self.is_open, self.closed_ms = False, self._clock.monotonic_ms()
        self._reading.cancel()
        self._writer.close()
        unanswered, self._unanswered = self._unanswered, {}
        for answer, timer in unanswered.values():
            timer.cancel()
            if not answer.done():  # else nobody waits for it any more
                answer.set_exception(Unanswered(reason))

    def _choose(self, request: Message, versions: tuple[int, int]) -> int:
        assert request.API_KEY is not None
        served = self._versions.get(int(request.API_KEY))
        if served is None:
            raise Unsupported(f"{request.API_KEY.name} is not served")
        version = min(served[1], versions[1])
        if version < max(served[0], versions[0]):
            raise Unsupported(f"{request.API_KEY.name} is served at {served[0]} to {served[1]}")
        return version

    async def _read(self, reader: asyncio.StreamReader) -> None:
        reason = "the broker closed the connection"
        try:
            while data := await reader.read(READ_BYTES):
                self._wire.receive_data(data)
                while (found := self._wire.next_response()) is not None:
                    assert not isinstance(found, bytes)
                    self._answer(*found)
        except (OSError, ProtocolError) as error:
            reason = f"the connection was lost: {error}"
        self.close(reason)

    def _answer(self, number: int, response: Any) -> None:
        answer, timer = self._unanswered.pop(number)
        timer.cancel()
        self.answers += 1
        if not answer.done():
            answer.set_result(response)
