"""The small HTTP responder, over real sockets."""

import asyncio
import json

import pytest

from barnabas.server.observing.http import MOST_REQUEST_BYTES, HttpRequest, HttpResponse, HttpServer


def _echo(request: HttpRequest) -> HttpResponse:
    return HttpResponse.json([request.method, request.path, request.query, request.body.decode()])


async def _later(request: HttpRequest) -> HttpResponse:
    await asyncio.sleep(0)
    return HttpResponse.text("later\n")


def _fail(request: HttpRequest) -> HttpResponse:
    raise KeyError("lost")


def _serve(errors: list[Exception] | None = None) -> HttpServer:
    server = HttpServer((errors if errors is not None else []).append)
    server.add("GET", "/echo", _echo)
    server.add("POST", "/faults/", _echo)
    server.add("GET", "/later", _later)
    server.add("GET", "/fail", _fail)
    return server


def _talk(data: bytes, server: HttpServer | None = None) -> bytes:
    """What the server sends back for `data`, until it closes."""

    async def run() -> bytes:
        serving = server or _serve()
        port = await serving.start("127.0.0.1", 0)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(data)
            await writer.drain()
            return await asyncio.wait_for(reader.read(), 5)
        finally:
            writer.close()
            await serving.stop()

    return asyncio.run(run())


def _body(answer: bytes) -> bytes:
    return answer.partition(b"\r\n\r\n")[2]


def test_a_request_reaches_its_handler_decoded() -> None:
    answer = _talk(b"GET /echo?a=1&b=x%20y HTTP/1.1\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
    assert json.loads(_body(answer)) == ["GET", "/echo", {"a": "1", "b": "x y"}, ""]


def test_a_route_that_ends_in_a_slash_takes_all_below_it() -> None:
    head = b"POST /faults/7/hits HTTP/1.1\r\nContent-Length: 2\r\nConnection: close\r\n\r\n"
    assert json.loads(_body(_talk(head + b"{}"))) == ["POST", "/faults/7/hits", {}, "{}"]


def test_a_connection_serves_one_request_after_the_other() -> None:
    first = b"GET /later HTTP/1.1\r\n\r\n"
    last = b"GET /later HTTP/1.0\r\n\r\n"
    answer = _talk(first * 2 + last)
    assert answer.count(b"200 OK") == 3
    assert answer.count(b"Connection: keep-alive") == 2
    assert answer.endswith(b"Connection: close\r\n\r\nlater\n")


def test_head_is_get_without_the_body() -> None:
    answer = _talk(b"HEAD /later HTTP/1.1\r\nConnection: close\r\n\r\n")
    assert b"Content-Length: 6\r\n" in answer
    assert _body(answer) == b""


@pytest.mark.parametrize(
    ("request_bytes", "status", "body"),
    [
        (b"GET /nowhere HTTP/1.1\r\n", 404, b"nothing at /nowhere; there is /echo, "),
        (b"PUT /echo HTTP/1.1\r\n", 405, b"/echo takes GET\n"),
        (b"hello\r\n", 400, b"this is not HTTP/1.1\n"),
        (b"GET /echo HTTP/1.1\r\nContent-Length: many\r\n", 400, b"Content-Length many is not"),
        (b"GET /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n", 400, b"send the body with"),
        (
            f"GET /echo HTTP/1.1\r\nContent-Length: {MOST_REQUEST_BYTES + 1}\r\n".encode(),
            400,
            b"a body of 1048577 bytes; 1048576 is the most",
        ),
        (b"GET /echo HTTP/1.1\r\nX: " + b"x" * 70_000 + b"\r\n", 400, b"more than 16384 bytes"),
    ],
)
def test_what_cannot_be_answered_is_explained(
    request_bytes: bytes, status: int, body: bytes
) -> None:
    answer = _talk(request_bytes + b"Connection: close\r\n\r\n")
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert _body(answer).startswith(body)


def test_a_failing_handler_is_reported_and_the_server_goes_on() -> None:
    errors: list[Exception] = []
    answer = _talk(
        b"GET /fail HTTP/1.1\r\n\r\nGET /later HTTP/1.1\r\nConnection: close\r\n\r\n",
        _serve(errors),
    )
    assert answer.startswith(b"HTTP/1.1 500 Internal Server Error")
    assert answer.endswith(b"later\n")
    assert [repr(error) for error in errors] == ["KeyError('lost')"]


def test_stopping_closes_idle_connections_and_frees_the_port() -> None:
    async def run() -> bytes:
        server = _serve()
        port = await server.start("127.0.0.1", 0)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /later HTTP/1.1\r\n\r\n")
        await reader.readuntil(b"later\n")
        await asyncio.wait_for(server.stop(), 5)
        rest = await asyncio.wait_for(reader.read(), 5)
        writer.close()
        again = HttpServer(print)
        await again.start("127.0.0.1", port)
        await again.stop()
        return rest

    assert asyncio.run(run()) == b""


def test_a_client_that_leaves_in_the_middle_harms_nobody() -> None:
    async def run() -> bytes:
        server = _serve()
        port = await server.start("127.0.0.1", 0)
        _, leaver = await asyncio.open_connection("127.0.0.1", port)
        leaver.write(b"POST /faults/1 HTTP/1.1\r\nContent-Length: 100\r\n\r\nhalf")
        await leaver.drain()
        leaver.close()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /later HTTP/1.1\r\nConnection: close\r\n\r\n")
        answer = await asyncio.wait_for(reader.read(), 5)
        writer.close()
        await server.stop()
        return answer

    assert asyncio.run(run()).endswith(b"later\n")
