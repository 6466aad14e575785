"""One HTTP/1.1 connection: h11 finds the requests in the bytes, limits are kept here.

h11 reads and writes HTTP/1.1 to the letter (RFC 9110, 9112) and does no I/O; what it refuses is
answered by the status it names. A target has to be a path (origin-form).
"""

import asyncio
import json
import re
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import parse_qsl

import h11

READ_BYTES = 65536
MOST_QUERY_FIELDS = 100
TOO_LARGE, VERSION_NOT_SUPPORTED = 413, 505
_PATH = re.compile(r"/[\w.~%!$&'()*+,;=:@/-]*", re.ASCII)  # RFC 3986, section 3.3


class HttpLimits(NamedTuple):
    """What one server allows."""

    most_connections: int = 100
    most_head_bytes: int = 16 << 10
    most_body_bytes: int = 1 << 20
    request_s: float = 30.0
    """For a whole request to arrive, from the connection's beginning or the last answer."""
    answer_s: float = 30.0
    """For an answer to be taken."""
    linger_s: float = 1.0
    """For a client that is refused to end."""


class HttpRequest(NamedTuple):
    """What was asked: path and query are decoded as far as needed, the body is bytes.

    `content_type` is lower case and without parameters; `origin` is None where none was sent;
    `local_address` is the address of ours that the client connected to.
    """

    method: str
    path: str
    query: dict[str, str]
    body: bytes
    content_type: str = ""
    host: str = ""
    origin: str | None = None
    local_address: str = ""


class HttpResponse(NamedTuple):
    """What is answered."""

    status: int
    body: bytes
    content_type: str = "text/plain; charset=utf-8"

    @staticmethod
    def text(body: str, status: int = 200) -> "HttpResponse":
        """Plain text."""
        return HttpResponse(status, body.encode(), "text/plain; charset=utf-8")

    @staticmethod
    def json(body: object, status: int = 200) -> "HttpResponse":
        """Anything that JSON can hold."""
        return HttpResponse(status, json.dumps(body).encode() + b"\n", "application/json")


class Refused(Exception):
    """A request that is not answered but for its status; the text tells the client why."""

    def __init__(self, sentence: str, status: int = 400) -> None:
        super().__init__(sentence)
        self.status = status


class HttpConnection:
    """A client's connection, request by request."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limits: HttpLimits
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._limits = limits
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=limits.most_head_bytes)
        self._is_head = False
        self.is_idle = False
        """Whether it waits for the client: for a request, or for the rest of one."""
        writer.transport.set_write_buffer_limits(0)  # `drain` waits until all is taken

    async def read_request(self) -> HttpRequest | None:
        """The next request, whole; None when there is none to come.

        Raises Refused, TimeoutError, OSError.
        """
        self.is_idle = True
        try:
            async with asyncio.timeout(self._limits.request_s):
                return await self._read_request()
        except h11.RemoteProtocolError as error:
            raise Refused(f"this is not HTTP/1.1: {error}", error.error_status_hint) from None
        finally:
            self.is_idle = False

    async def _read_request(self) -> HttpRequest | None:
        head = await self._next_event()
        if not isinstance(head, h11.Request):
            return None
        self._is_head = head.method == b"HEAD"
        if head.http_version not in (b"1.0", b"1.1"):
            raise Refused("this is not HTTP/1.1", VERSION_NOT_SUPPORTED)
        headers = {name.decode("ascii"): value.decode("latin-1") for name, value in head.headers}
        self._require_small(int(headers.get("content-length", "0")))
        body = bytearray()
        while isinstance(part := await self._next_event(), h11.Data):
            body += part.data
            self._require_small(len(body))
        if not isinstance(part, h11.EndOfMessage):
            return None
        return self._request(head, headers, bytes(body))

    def _require_small(self, body_bytes: int) -> None:
        most = self._limits.most_body_bytes
        if body_bytes > most:
            raise Refused(f"a body of {body_bytes} bytes; {most} is the most", TOO_LARGE)

    async def _next_event(self) -> object:
        """What h11 finds next in the bytes; a lost connection is an h11.ConnectionClosed."""
        while (event := self._http.next_event()) is h11.NEED_DATA:
            if self._http.they_are_waiting_for_100_continue:
                go_on = h11.InformationalResponse(status_code=100, headers=[])
                self._writer.write(self._http.send(go_on) or b"")
            self._http.receive_data(await self._reader.read(READ_BYTES))
        return event

    def _request(self, head: h11.Request, headers: dict[str, str], body: bytes) -> HttpRequest:
        path, _, query = head.target.decode("ascii").partition("#")[0].partition("?")
        if not _PATH.fullmatch(path):
            raise Refused("the target of a request is a path here")
        try:
            fields = dict(parse_qsl(query, max_num_fields=MOST_QUERY_FIELDS))
        except ValueError:
            raise Refused(f"the query has more than {MOST_QUERY_FIELDS} fields") from None
        return HttpRequest(
            head.method.decode("ascii"),
            path,
            fields,
            body,
            headers.get("content-type", "").partition(";")[0].strip().lower(),
            headers.get("host", ""),
            headers.get("origin"),
            self._writer.get_extra_info("sockname")[0],
        )

    async def answer(self, response: HttpResponse) -> bool:
        """Send an answer; whether another request may come. Raises TimeoutError, OSError."""
        await self._send(response, [])
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    async def refuse(self, refusal: Refused) -> None:
        """Say why nothing will be answered, if the client can still be told.

        What it is still sending is read for a moment: closing before that would reset the
        connection, and take the answer away from it.
        """
        if self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            response = HttpResponse.text(f"{refusal}\n", refusal.status)
            await self._send(response, [("Connection", "close")])
            self._writer.write_eof()
            async with asyncio.timeout(self._limits.linger_s):
                while await self._reader.read(READ_BYTES):
                    pass

    async def _send(self, response: HttpResponse, headers: list[tuple[str, str]]) -> None:
        lines = [
            ("Content-Type", response.content_type),
            ("Content-Length", str(len(response.body))),
            ("X-Content-Type-Options", "nosniff"),
            *headers,
        ]
        phrase = HTTPStatus(response.status).phrase
        head = h11.Response(status_code=response.status, headers=lines, reason=phrase)
        parts = [self._http.send(head)]
        if not self._is_head:
            parts.append(self._http.send(h11.Data(data=response.body)))
        parts.append(self._http.send(h11.EndOfMessage()))
        self._writer.write(b"".join(part for part in parts if part))
        async with asyncio.timeout(self._limits.answer_s):
            await self._writer.drain()
