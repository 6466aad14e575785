"""The small HTTP responder, over real sockets."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.server.observing.http import LIMITS, HttpLimits, HttpRequest, HttpResponse, HttpServer
from tests.server.waiting import PATIENCE_S


def _echo(request: HttpRequest) -> HttpResponse:
    return HttpResponse.json([request.method, request.path, request.query, request.body.decode()])


async def _later(request: HttpRequest) -> HttpResponse:
    await asyncio.sleep(0)
    return HttpResponse.text("later\n")


def _fail(request: HttpRequest) -> HttpResponse:
    raise KeyError("lost")


def _serve(errors: list[Exception] | None = None, limits: HttpLimits = LIMITS) -> HttpServer:
    server = HttpServer((errors if errors is not None else []).append, limits=limits)
    server.add("GET", "/large", lambda request: HttpResponse(200, bytes(50 << 20)))
    server.add("GET", "/echo", _echo)
    server.add("POST", "/faults/", _echo)
    server.add("GET", "/later", _later)
    server.add("GET", "/fail", _fail)
    return server


def _talk(data: bytes, server: HttpServer | None = None, ends: bool = False) -> bytes:
    """What the server sends back for `data`, and then its end, until it closes."""

    async def run() -> bytes:
        serving = server or _serve()
        port = await serving.start("127.0.0.1", 0)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(data)
            await writer.drain()
            if ends:
                writer.write_eof()
            return await asyncio.wait_for(reader.read(), PATIENCE_S)
        finally:
            writer.close()
            await serving.stop()

    return asyncio.run(run())


def _body(answer: bytes) -> bytes:
    return answer.partition(b"\r\n\r\n")[2]


def test_a_request_reaches_its_handler_decoded() -> None:
    answer = _talk(b"GET /echo?a=1&b=x%20y HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
    assert json.loads(_body(answer)) == ["GET", "/echo", {"a": "1", "b": "x y"}, ""]


def test_a_route_that_ends_in_a_slash_takes_all_below_it() -> None:
    head = (
        b"POST /faults/7/hits HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nConnection: close\r\n\r\n"
    )
    assert json.loads(_body(_talk(head + b"{}"))) == ["POST", "/faults/7/hits", {}, "{}"]


def test_a_connection_serves_one_request_after_the_other() -> None:
    first = b"GET /later HTTP/1.1\r\nHost: x\r\n\r\n"
    last = b"GET /later HTTP/1.0\r\n\r\n"
    answer = _talk(first * 2 + last)
    assert answer.count(b"200 OK") == 3
    assert answer.count(b"Connection: close") == 1
    assert answer.endswith(b"later\n")


def test_head_is_get_without_the_body() -> None:
    answer = _talk(b"HEAD /later HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert b"Content-Length: 6\r\n" in answer
    assert _body(answer) == b""


def _head(first: str, *lines: str) -> bytes:
    return "\r\n".join((first, "Host: x", *lines, "", "")).encode()


HOST = b"Host: x\r\n"
TOO_MANY_FIELDS = b"&".join(b"a%d=1" % number for number in range(101))


@pytest.mark.parametrize(
    ("request_bytes", "status", "body"),
    [
        (b"GET /nowhere HTTP/1.1\r\n" + HOST, 404, b"nothing at /nowhere; there is /echo, "),
        (b"GET //[x HTTP/1.1\r\n" + HOST, 400, b"the target of a request is a path"),
        (b"PUT /echo HTTP/1.1\r\n" + HOST, 405, b"/echo takes GET\n"),
        (b"hello\r\n", 400, b"this is not HTTP/1.1"),
        (b"\x16\x03\x01\x02\x00\x01\r\n", 400, b"this is not HTTP/1.1"),
        (b"GET /echo HTTP/1.1\r\n", 400, b"this is not HTTP/1.1: Missing mandatory Host"),
        (b"GET /echo HTTP/1.1\r\n" + 2 * HOST, 400, b"this is not HTTP/1.1"),
        (b"GET /echo HTTP/3.0\r\n" + HOST, 505, b"this is not HTTP/1.1"),
        (b"GET http://x/echo HTTP/1.1\r\n" + HOST, 400, b"the target of a request is a path"),
        (b"OPTIONS * HTTP/1.1\r\n" + HOST, 400, b"the target of a request is a path"),
        (b"GET /echo?%s HTTP/1.1\r\n" % TOO_MANY_FIELDS + HOST, 400, b"the query has more than"),
        (b"GET /echo HTTP/1.1\r\nContent-Length: many\r\n" + HOST, 400, b"this is not HTTP/1.1"),
        (b"GET /echo HTTP/1.1\r\nContent-Length: -1\r\n" + HOST, 400, b"this is not HTTP/1.1"),
        (
            b"GET /echo HTTP/1.1\r\nContent-Length: " + b"9" * 5_000 + b"\r\n" + HOST,
            400,
            b"this is not HTTP/1.1: bad Content-Length",
        ),
        (
            b"GET /echo HTTP/1.1\r\nContent-Length: 1048577\r\n" + HOST,
            413,
            b"a body of 1048577 bytes; 1048576 is the most",
        ),
        (b"GET /echo HTTP/1.1\r\nX: " + b"x" * 70_000 + b"\r\n", 431, b"this is not HTTP/1.1"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_cannot_be_answered_is_explained(
    request_bytes: bytes, status: int, body: bytes
) -> None:
    errors: list[Exception] = []
    answer = _talk(request_bytes + b"Connection: close\r\n\r\n", _serve(errors))
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert _body(answer).startswith(body)
    assert errors == []


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=80), st.integers(0, 60), st.integers(0, 60))
def test_whatever_is_sent_has_an_answer_or_none_and_no_error(
    junk: bytes, start: int, end: int
) -> None:
    good = _head("POST /faults/1?a=1 HTTP/1.1", "Content-Length: 2", "Connection: close") + b"{}"
    errors: list[Exception] = []
    answer = _talk(good[:start] + junk + good[end:], _serve(errors), ends=True)
    assert errors == []
    assert answer == b"" or re.match(rb"HTTP/1.1 (200|400|404|405|413|431|505) ", answer)


def test_a_body_may_come_in_chunks() -> None:
    head = _head("POST /faults/1 HTTP/1.1", "Transfer-Encoding: chunked", "Connection: close")
    answer = _talk(head + b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n")
    assert json.loads(_body(answer)) == ["POST", "/faults/1", {}, "{}"]
    much = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    assert _talk(head + much * 17).startswith(b"HTTP/1.1 413 ")


def test_a_body_is_sent_after_100_continue() -> None:
    head = (
        b"POST /faults/1 HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
    )

    async def talk(port: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head)
        go_on = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE_S)
        writer.write(b"{}")
        answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE_S)
        writer.close()
        return go_on + answer

    assert re.match(rb"HTTP/1.1 100 .*HTTP/1.1 200 ", asyncio.run(_with(talk)), re.S)


async def _with(talk: Callable[[int], Awaitable[bytes]], limits: HttpLimits = LIMITS) -> bytes:
    """What `talk` makes of the port of a server with these limits."""
    serving = _serve(limits=limits)
    port = await serving.start("127.0.0.1", 0)
    try:
        return await talk(port)
    finally:
        await serving.stop()


def test_a_request_has_a_limited_time_to_arrive() -> None:
    async def dawdle(port: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /later HTTP/1.1\r\nHost")
        rest = await asyncio.wait_for(reader.read(), PATIENCE_S)
        writer.close()
        return rest

    assert asyncio.run(_with(dawdle, LIMITS._replace(request_s=0.01))) == b""


def test_an_answer_has_a_limited_time_to_be_taken() -> None:
    async def never_read(port: int) -> bytes:
        _reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
        writer.write(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        await asyncio.wait_for(_closed_by_the_other(writer), PATIENCE_S)
        writer.close()
        return b""

    asyncio.run(_with(never_read, LIMITS._replace(answer_s=0.01)))


async def _closed_by_the_other(writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.002)


def test_where_there_are_many_connections_the_oldest_idle_one_gives_way() -> None:
    async def crowd(port: int) -> bytes:
        idle = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        for reader, writer in idle:
            writer.write(_head("GET /later HTTP/1.1"))
            await reader.readuntil(b"later\n")
        answer = await _ask_once(port)
        assert await asyncio.wait_for(idle[0][0].read(), PATIENCE_S) == b""
        idle[1][1].write(_head("GET /later HTTP/1.1", "Connection: close"))
        answer += await asyncio.wait_for(idle[1][0].read(), PATIENCE_S)
        for _, writer in idle:
            writer.close()
        return answer

    said = asyncio.run(_with(crowd, LIMITS._replace(most_connections=2)))
    assert said.count(b"HTTP/1.1 200 ") == 2


def test_one_too_many_is_refused_while_the_others_are_served() -> None:
    async def run() -> bytes:
        begun, held = asyncio.Event(), asyncio.Event()

        async def hold(request: HttpRequest) -> HttpResponse:
            begun.set()
            await held.wait()
            return HttpResponse.text("held\n")

        serving = _serve(limits=LIMITS._replace(most_connections=1))
        serving.add("GET", "/held", hold)
        port = await serving.start("127.0.0.1", 0)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(_head("GET /held HTTP/1.1", "Connection: close"))
        await asyncio.wait_for(begun.wait(), PATIENCE_S)
        refused = await _ask_once(port)
        held.set()
        answer = await asyncio.wait_for(reader.read(), PATIENCE_S)
        writer.close()
        await serving.stop()
        return refused + answer

    said = asyncio.run(run())
    assert re.match(rb"HTTP/1.1 503 .*too many connections.*HTTP/1.1 200 .*held", said, re.S)


async def _ask_once(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(_head("GET /later HTTP/1.1", "Connection: close"))
        return await asyncio.wait_for(reader.read(), PATIENCE_S)
    finally:
        writer.close()


def test_a_failing_handler_is_reported_and_the_server_goes_on() -> None:
    errors: list[Exception] = []
    answer = _talk(
        _head("GET /fail HTTP/1.1") + _head("GET /later HTTP/1.1", "Connection: close"),
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
        writer.write(b"GET /later HTTP/1.1\r\nHost: x\r\n\r\n")
        await reader.readuntil(b"later\n")
        await asyncio.wait_for(server.stop(), PATIENCE_S)
        rest = await asyncio.wait_for(reader.read(), PATIENCE_S)
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
        leaver.write(b"POST /faults/1 HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
        await leaver.drain()
        leaver.close()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /later HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answer = await asyncio.wait_for(reader.read(), PATIENCE_S)
        writer.close()
        await server.stop()
        return answer

    assert asyncio.run(run()).endswith(b"later\n")


def test_a_broker_without_a_port_for_http_pays_nothing_for_it() -> None:
    script = (
        "import sys, barnabas; barnabas.Broker().start().stop()\n"
        "assert 'barnabas.server.broker' in sys.modules\n"
        "print(*(name for name in sys.modules if 'h11' in name or 'server.observing.http' in name))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == []
