"""The broker's event loop: watched sockets are served from the poll, asyncio loses nothing."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from barnabas.server.network.reactor import new_event_loop, watcher

TIMEOUT_S = 60.0


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = new_event_loop()
    yield made
    made.close()


@pytest.fixture
def pairs() -> Iterator[list[tuple[socket.socket, socket.socket]]]:
    """Two connected pairs: what is sent on the left is read on the right."""
    made = [socket.socketpair() for _ in range(2)]
    for left, right in made:
        left.settimeout(TIMEOUT_S)
        right.setblocking(False)
    yield made
    for left, right in made:
        left.close()
        right.close()


Pairs = list[tuple[socket.socket, socket.socket]]


def run(loop: asyncio.AbstractEventLoop, done: asyncio.Future[Any]) -> Any:
    return loop.run_until_complete(asyncio.wait_for(done, TIMEOUT_S))


def echo(loop: asyncio.AbstractEventLoop, right: socket.socket) -> None:
    watch = watcher(loop).watch
    watch(right.fileno(), lambda: right.send(right.recv(4096)))


def test_a_watched_socket_is_served(loop: asyncio.AbstractEventLoop, pairs: Pairs) -> None:
    left, right = pairs[0]
    echo(loop, right)
    answers = loop.run_in_executor(None, rounds, left, 200)
    assert run(loop, asyncio.ensure_future(answers, loop=loop)) == [b"%d" % n for n in range(200)]


def rounds(left: socket.socket, count: int) -> list[bytes]:
    answers = []
    for number in range(count):
        left.sendall(b"%d" % number)
        answers.append(left.recv(4096))
    return answers


def test_unwatched_it_is_not_served_any_more(loop: asyncio.AbstractEventLoop, pairs: Pairs) -> None:
    (left, right), (other, other_right) = pairs
    served: list[bytes] = []
    done = loop.create_future()
    watch, unwatch, _, _ = watcher(loop)

    def read() -> None:
        served.append(right.recv(1))
        unwatch(right.fileno())
        left.sendall(b"2")
        other.sendall(b"x")  # ready later than the first: by then that would have been served

    watch(right.fileno(), read)
    watch(other_right.fileno(), lambda: done.set_result(other_right.recv(1)))
    left.sendall(b"1")
    assert run(loop, done) == b"x"
    assert served == [b"1"]
    again = loop.create_future()
    watch(right.fileno(), lambda: again.set_result(right.recv(1)))
    assert run(loop, again) == b"2"


def test_timers_come_in_time_while_sockets_are_busy(
    loop: asyncio.AbstractEventLoop, pairs: Pairs
) -> None:
    left, right = pairs[0]
    turns = [0]

    def play() -> None:  # never idle: each byte that is read brings the next
        turns[0] += 1
        left.sendall(right.recv(1))

    watcher(loop)[0](right.fileno(), play)
    left.sendall(b".")
    started = loop.time()
    ticks: list[float] = []

    def tick() -> None:
        ticks.append(loop.time() - started)
        if len(ticks) < 5:
            loop.call_later(0.01, tick)
        else:
            loop.stop()

    loop.call_later(0.01, tick)
    loop.run_forever()
    assert turns[0] > 10
    assert len(ticks) == 5 and ticks[0] >= 0.01


@pytest.mark.parametrize("how", ["call_soon", "call_later", "create_task", "set_result"])
def test_what_a_callback_asks_of_asyncio_is_done(
    loop: asyncio.AbstractEventLoop, pairs: Pairs, how: str
) -> None:
    left, right = pairs[0]
    done = loop.create_future()

    async def finish() -> None:
        done.set_result(how)

    def read() -> None:
        right.recv(1)
        if how == "call_soon":
            loop.call_soon(done.set_result, how)
        elif how == "call_later":
            loop.call_later(0.001, done.set_result, how)
        elif how == "create_task":
            loop.create_task(finish())
        else:
            done.set_result(how)

    watcher(loop)[0](right.fileno(), read)
    left.sendall(b"1")
    assert run(loop, done) == how


def test_another_thread_wakes_the_poll(loop: asyncio.AbstractEventLoop, pairs: Pairs) -> None:
    echo(loop, pairs[0][1])
    waker = threading.Timer(0.05, loop.call_soon_threadsafe, [loop.stop])
    waker.start()
    loop.run_forever()  # hangs if the poll does not end
    waker.join()


def test_readers_and_writers_of_asyncio_work_beside_it(
    loop: asyncio.AbstractEventLoop, pairs: Pairs
) -> None:
    (left, right), (other, other_right) = pairs
    echo(loop, right)
    other.setblocking(False)

    async def both_ways() -> bytes:
        await loop.sock_sendall(other, b"through asyncio")
        return await loop.sock_recv(other_right, 100)

    assert run(loop, loop.create_task(both_ways())) == b"through asyncio"
    assert run(loop, asyncio.ensure_future(loop.run_in_executor(None, rounds, left, 3), loop=loop))


def test_an_exception_is_reported_and_the_others_go_on(
    loop: asyncio.AbstractEventLoop, pairs: Pairs
) -> None:
    (left, right), (other, other_right) = pairs
    reported: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: reported.append(context))
    done = loop.create_future()

    def fail() -> None:
        right.recv(1)
        raise ValueError("no good")

    watch = watcher(loop).watch
    watch(right.fileno(), fail)
    watch(other_right.fileno(), lambda: done.set_result(other_right.recv(1)))
    left.sendall(b"1")
    loop.call_later(0.02, other.sendall, b"2")
    assert run(loop, done) == b"2"
    assert [str(context["exception"]) for context in reported] == ["no good"]


def test_a_callback_may_close_a_socket_that_is_ready_too(
    loop: asyncio.AbstractEventLoop, pairs: Pairs
) -> None:
    watch, unwatch, _, _ = watcher(loop)
    served: list[int] = []

    def first_come(mine: int) -> None:
        served.append(mine)
        for index, (_, right) in enumerate(pairs):
            unwatch(right.fileno())
            if index != mine:
                right.close()
        loop.call_later(0.02, loop.stop)

    for index, (left, right) in enumerate(pairs):
        watch(right.fileno(), partial(first_come, index))
        left.sendall(b"!")
    loop.run_forever()
    assert len(served) == 1


def test_stop_from_a_callback_ends_the_loop(loop: asyncio.AbstractEventLoop, pairs: Pairs) -> None:
    left, right = pairs[0]
    watcher(loop)[0](right.fileno(), lambda: (right.recv(1), loop.stop()))
    left.sendall(b"1")
    loop.run_forever()


def test_the_plain_loop_of_asyncio_serves_as_well(pairs: Pairs) -> None:
    left, right = pairs[0]
    loop = asyncio.SelectorEventLoop()
    try:
        echo(loop, right)
        answers = loop.run_in_executor(None, rounds, left, 3)
        assert run(loop, asyncio.ensure_future(answers, loop=loop)) == [b"0", b"1", b"2"]
    finally:
        loop.close()


def test_a_full_socket_is_served_when_it_takes_more(
    loop: asyncio.AbstractEventLoop, pairs: Pairs
) -> None:
    left, right = pairs[0]
    data, sent, done = bytes(4_000_000), [0], loop.create_future()
    _, _, watch_writable, unwatch_writable = watcher(loop)

    def write() -> None:
        sent[0] += right.send(data[sent[0] :])
        if sent[0] == len(data):
            unwatch_writable(right.fileno())
            done.set_result(None)

    def drain() -> int:
        received = 0
        while received < len(data):
            received += len(left.recv(65536))
        return received

    with pytest.raises(BlockingIOError):
        while True:
            sent[0] += right.send(data[sent[0] :])
    watch_writable(right.fileno(), write)
    received = loop.run_in_executor(None, drain)
    run(loop, done)
    assert run(loop, received) == len(data)


def test_a_loop_of_asyncio_gives_the_same(pairs: Pairs) -> None:
    loop, (_, right) = asyncio.new_event_loop(), pairs[0]
    watch, unwatch, watch_writable, unwatch_writable = watcher(loop)
    done = loop.create_future()
    watch(right.fileno(), lambda: None)
    unwatch(right.fileno())

    def write() -> None:
        unwatch_writable(right.fileno())
        done.set_result("takes more")

    watch_writable(right.fileno(), write)
    assert run(loop, done) == "takes more"
    loop.close()
