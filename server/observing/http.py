"""A small HTTP/1.1 responder on the event loop: /metrics, /health and what else is added.

It serves the operator of this broker, not the world: a bounded number of connections, requests of
up to 1 MiB, one after the other on a connection, a bounded time for each to arrive and for each
answer to be taken, no TLS. What is not HTTP, or not for us, is refused by its status, and the
connection closed. `http_connection` speaks the protocol.

    http = HttpServer(print); http.add("GET", "/health", handler); await http.start("127.0.0.1", 0)

A path that ends in `/` takes every path below it.
"""

import asyncio
import inspect
import os
from collections.abc import Awaitable, Callable

from barnabas.server.observing.http_connection import (
    HttpConnection,
    HttpLimits,
    HttpRequest,
    HttpResponse,
    Refused,
)

__all__ = ["HttpLimits", "HttpRequest", "HttpResponse", "HttpServer", "Refused"]

Handler = Callable[[HttpRequest], HttpResponse | Awaitable[HttpResponse]]
Guard = Callable[[HttpRequest], None]
"""Looks at a request before its handler does; raises Refused."""


LIMITS = HttpLimits()


class HttpServer:
    """Routes and the listening socket; `on_error` gets what a handler raised."""

    def __init__(
        self,
        on_error: Callable[[Exception], object],
        *,
        guard: Guard = lambda request: None,
        limits: HttpLimits = LIMITS,
    ) -> None:
        self._routes: dict[tuple[str, str], Handler] = {}
        self._on_error = on_error
        self._guard = guard
        self._limits = limits
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], HttpConnection] = {}  # oldest first
        self.port = -1

    def add(self, method: str, path: str, handler: Handler) -> None:
        """Answer `method` on `path` (and all below it, when it ends in `/`) by `handler`."""
        self._routes[method, path] = handler

    async def start(self, host: str, port: int) -> int:
        """Listen, and answer the port bound; raises OSError."""
        try:
            self._server = await asyncio.start_server(self._serve, host, port)
        except OSError as error:  # asyncio puts a sentence of its own in strerror
            if error.errno is None or error.errno <= 0:
                raise
            raise OSError(error.errno, os.strerror(error.errno)) from None
        self.port = self._server.sockets[0].getsockname()[1]
        return self.port

    async def stop(self) -> None:
        """Close the port and every connection."""
        if self._server is None:
            return
        self._server.close()
        for task in tuple(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()
        self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connection = HttpConnection(reader, writer, self._limits)
        has_place = self._make_place()
        self._connections[task] = connection
        try:
            if has_place:
                await self._converse(connection)
            elif len(self._connections) <= 2 * self._limits.most_connections:
                await connection.refuse(Refused("too many connections", 503))
        except (OSError, TimeoutError, asyncio.CancelledError):
            pass  # gone, too slow, or the broker stops
        except Exception as error:
            self._on_error(error)
        finally:
            del self._connections[task]
            if writer.transport.get_write_buffer_size():
                writer.transport.abort()  # it has had its time
            writer.close()

    def _make_place(self) -> bool:
        """Whether one more connection may ask; where there are many, the oldest idle one goes."""
        if len(self._connections) < self._limits.most_connections:
            return True
        for task, connection in self._connections.items():
            if connection.is_idle:
                connection.is_idle = False  # it is going
                task.cancel()
                return True
        return False

    async def _converse(self, connection: HttpConnection) -> None:
        while True:
            try:
                request = await connection.read_request()
                if request is None:
                    return
                self._guard(request)
            except Refused as refusal:
                return await connection.refuse(refusal)
            if not await connection.answer(await self._answer(request)):
                return

    async def _answer(self, request: HttpRequest) -> HttpResponse:
        handler = self._find(request.method, request.path)
        if handler is None:
            return self._nothing_there(request)
        try:
            answer = handler(request)
            return await answer if inspect.isawaitable(answer) else answer
        except Exception as error:
            self._on_error(error)
            return HttpResponse.text("something went wrong; the broker's log says what\n", 500)

    def _find(self, method: str, path: str) -> Handler | None:
        if method == "HEAD":
            method = "GET"
        if handler := self._routes.get((method, path)):
            return handler
        while "/" in path:
            path = path.rpartition("/")[0]
            if handler := self._routes.get((method, path + "/")):
                return handler
        return None

    def _nothing_there(self, request: HttpRequest) -> HttpResponse:
        methods = sorted({m for m, _ in self._routes if self._find(m, request.path)})
        if methods:
            return HttpResponse.text(f"{request.path} takes {', '.join(methods)}\n", 405)
        paths = ", ".join(sorted({path for _, path in self._routes}))
        return HttpResponse.text(f"nothing at {request.path}; there is {paths}\n", 404)
