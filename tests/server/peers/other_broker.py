"""Another broker as the one that asks sees it: it answers what a test says, or not at all."""

import asyncio
from collections.abc import Callable

from barnabas.server.peers.peer import Address
from barnabas.wire.api import ApiKey
from barnabas.wire.connection import Request, ServerConnection
from barnabas.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from barnabas.wire.schema import Message

Answer = Message | None
"""None: no answer comes."""


class OtherBroker:
    """A server on a free port; `answer` is asked for each request but for ApiVersions."""

    def __init__(self, answer: Callable[[Request], Answer]) -> None:
        self.answer = answer
        self.served: dict[ApiKey, tuple[int, int]] = {
            ApiKey.API_VERSIONS: (0, 3),
            ApiKey.WRITE_TXN_MARKERS: (0, 1),
            ApiKey.ADD_PARTITIONS_TO_TXN: (0, 5),
        }
        self.says_versions = True
        self.requests: list[Request] = []
        self.connections = 0
        self._writers: list[asyncio.StreamWriter] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.address = Address("127.0.0.1", 0)

    async def start(self) -> None:
        """Listen, where it listened before."""
        self._server = await asyncio.start_server(self._serve, *self.address)
        self.address = Address("127.0.0.1", self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Listen no more, and end every connection."""
        assert self._server is not None
        self._server.close()
        self.hang_up()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def hang_up(self) -> None:
        """End every connection."""
        writers, self._writers = self._writers, []
        for writer in writers:
            writer.close()

    def send(self, data: bytes) -> None:
        """Send any bytes to who has connected last."""
        self._writers[-1].write(data)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        self._writers.append(writer)
        wire = ServerConnection()
        while data := await reader.read(1 << 16):
            wire.receive_data(data)
            while (found := wire.next_request()) is not None:
                assert isinstance(found, Request)
                self._respond(wire, found, writer)

    def _respond(
        self, wire: ServerConnection, request: Request, writer: asyncio.StreamWriter
    ) -> None:
        request.message()  # while the frame is there
        if request.header.api_key == ApiKey.API_VERSIONS:
            answer: Answer = self._versions() if self.says_versions else None
        else:
            self.requests.append(request)
            answer = self.answer(request)
        if answer is not None:
            writer.write(bytes(wire.respond(request.header, answer)))

    def _versions(self) -> ApiVersionsResponse:
        return ApiVersionsResponse(
            api_keys=[
                ApiVersion(api_key=int(key), min_version=first, max_version=last)
                for key, (first, last) in self.served.items()
            ]
        )
