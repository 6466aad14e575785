"""A small HTTP/1.1 responder on the event loop: /metrics, /health and what else is added.

It serves the operator of this broker, not the world: requests of up to 1 MiB, one after the other
on a connection, no chunked bodies, no TLS. A request it cannot read is answered 400 and the
connection closed.

    http = HttpServer(); http.add("GET", "/health", handler); await http.start("127.0.0.1", 0)

A path that ends in `/` takes every path below it.
"""

import asyncio
import inspect
import json
import os
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

MOST_REQUEST_BYTES = 1 << 20
MOST_HEAD_BYTES = 16 << 10
READ_TIMEOUT_S = 30.0


class HttpRequest(NamedTuple):
    """What was asked: path and query are decoded as far as needed, the body is bytes.

    `content_type` is lower case and without parameters.
    """

    method: str
    path: str
    query: dict[str, str]
    body: bytes
    content_type: str = ""


class HttpResponse(NamedTuple):
    """What is answered."""

    status: int
    body: bytes
    content_type: str = "text/plain; charset=utf-8"

    @staticmethod
    def text(body: str, status: int = 200) -> "HttpResponse":
        """Plain text."""
        return HttpResponse(status, body.encode())

    @staticmethod
    def json(body: object, status: int = 200) -> "HttpResponse":
        """Anything that JSON can hold."""
        return HttpResponse(status, json.dumps(body).encode() + b"\n", "application/json")


Handler = Callable[[HttpRequest], HttpResponse | Awaitable[HttpResponse]]


class BadRequest(Exception):
    """A request that is not HTTP as it is spoken here; the text tells the client why."""


class HttpServer:
    """Routes and the listening socket; `on_error` gets what a handler raised."""

    def __init__(self, on_error: Callable[[Exception], object]) -> None:
        self._routes: dict[tuple[str, str], Handler] = {}
        self._on_error = on_error
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.port = -1

    def add(self, method: str, path: str, handler: Handler) -> None:
        """Answer `method` on `path` (and all below it, when it ends in `/`) by `handler`."""
        self._routes[method, path] = handler

    async def start(self, host: str, port: int) -> int:
        """Listen, and answer the port bound; raises OSError."""
        try:
            self._server = await asyncio.start_server(
                self._serve, host, port, limit=MOST_HEAD_BYTES
            )
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
        self._connections.add(task)
        try:
            await self._converse(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # gone, silent for too long, or the broker stops
        finally:
            self._connections.discard(task)
            writer.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        keep = True
        while keep:
            try:
                async with asyncio.timeout(READ_TIMEOUT_S):
                    request, keep = await _read_request(reader)
            except BadRequest as refusal:
                keep, response = False, HttpResponse.text(f"{refusal}\n", 400)
                writer.write(_head(response, keep) + response.body)
            else:
                response = await self._answer(request)
                body = b"" if request.method == "HEAD" else response.body
                writer.write(_head(response, keep) + body)
            await writer.drain()

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


async def _read_request(reader: asyncio.StreamReader) -> tuple[HttpRequest, bool]:
    """The next request, and whether the connection stays open after it."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        raise BadRequest(f"more than {MOST_HEAD_BYTES} bytes of headers") from None
    first, *lines = head[:-4].decode("latin-1").split("\r\n")
    method, _, rest = first.partition(" ")
    target, _, version = rest.rpartition(" ")
    if not target.startswith("/") or version not in ("HTTP/1.1", "HTTP/1.0"):
        raise BadRequest("this is not HTTP/1.1")
    headers = {name.strip().lower(): value.strip() for name, _, value in map(_colon, lines)}
    body = await reader.readexactly(_body_length(headers))
    url = urlsplit(target)
    connection = headers.get("connection", "").lower()
    keep = connection != "close" and (version == "HTTP/1.1" or connection == "keep-alive")
    content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    query = dict(parse_qsl(url.query))
    return HttpRequest(method, url.path, query, body, content_type), keep


def _colon(line: str) -> tuple[str, str, str]:
    return line.partition(":")


def _body_length(headers: dict[str, str]) -> int:
    if "transfer-encoding" in headers:
        raise BadRequest("send the body with a Content-Length, not in chunks")
    text = headers.get("content-length", "0")
    if not text.isdecimal():
        raise BadRequest(f"Content-Length {text} is not a number")
    if int(text) > MOST_REQUEST_BYTES:
        raise BadRequest(f"a body of {text} bytes; {MOST_REQUEST_BYTES} is the most")
    return int(text)


def _head(response: HttpResponse, keep: bool) -> bytes:
    phrase = HTTPStatus(response.status).phrase
    return (
        f"HTTP/1.1 {response.status} {phrase}\r\n"
        f"Content-Type: {response.content_type}\r\n"
        f"Content-Length: {len(response.body)}\r\n"
        f"Connection: {'keep-alive' if keep else 'close'}\r\n\r\n"
    ).encode()
