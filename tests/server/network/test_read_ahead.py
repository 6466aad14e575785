"""What is not in memory is read by a thread, whatever the connection does meanwhile.

Files are put out of memory by fsync and POSIX_FADV_DONTNEED; where that does not work (tmpfs,
other systems), the tests are skipped.
"""

import asyncio
import os
import socket
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from barnabas.server.network import read_ahead
from barnabas.server.network.channel import PlainChannel
from barnabas.server.network.outbox import Outbox
from barnabas.server.network.read_ahead import (
    PAGE_BYTES,
    PROBE_EVERY_BYTES,
    FileRange,
    ReadAhead,
    is_cached,
)
from barnabas.server.testing.broker import Broker
from barnabas.wire.connection import Encoded
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.fetch import FetchResponse
from tests.server.raw_client import RawClient
from tests.server.records import data_of, fetch_request, make_batch, produce
from tests.server.slices import Slice
from tests.server.waiting import PATIENCE_S, wait_until

SIZE = 3 * PROBE_EVERY_BYTES
HOLE_BYTES = 64 * 1024
BATCH_BYTES = 900_000
BATCHES = 12


@pytest.fixture
def fd(tmp_path: Path) -> Iterator[int]:
    opened = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    os.write(opened, os.urandom(SIZE))
    yield opened
    os.close(opened)


@pytest.fixture(scope="module", autouse=True)
def files_can_leave_memory(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Tried on a file of its own, since a probe that fails has the kernel read on."""
    opened = os.open(tmp_path_factory.mktemp("try") / "file", os.O_RDWR | os.O_CREAT)
    try:
        os.write(opened, bytes(SIZE))
        evict(opened)
        if is_cached(opened, 0, SIZE):
            pytest.skip("files stay in memory here")
    finally:
        os.close(opened)


def evict(fd: int) -> None:
    """Put a file out of memory."""
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)


def test_what_was_just_written_is_cached(fd: int) -> None:
    assert is_cached(fd, 0, SIZE)
    assert is_cached(fd, SIZE - 1, 1)


@pytest.mark.parametrize("hole", [0, PROBE_EVERY_BYTES, SIZE - HOLE_BYTES])
def test_a_hole_where_a_probe_looks_is_found(fd: int, hole: int) -> None:
    evict(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)  # read what is asked for and no more
    os.pread(fd, hole, 0)
    os.pread(fd, SIZE, hole + HOLE_BYTES)
    assert not is_cached(fd, 0, SIZE)
    os.pread(fd, HOLE_BYTES, hole)
    assert is_cached(fd, 0, SIZE)


def test_a_small_slice_is_probed_once_at_its_end(fd: int) -> None:
    evict(fd)
    assert not is_cached(fd, 5000, 100)
    os.pread(fd, SIZE, 0)
    assert is_cached(fd, 5000, 100)


def test_what_cannot_be_probed_counts_as_cached() -> None:
    reading, writing = os.pipe()
    try:
        assert is_cached(reading, 0, SIZE)
    finally:
        os.close(reading)
        os.close(writing)


def test_a_thread_brings_a_stretch_into_memory(fd: int) -> None:
    evict(fd)

    async def run() -> None:
        ahead, done = ReadAhead(), asyncio.Event()
        ahead.read(Slice(fd, 0, SIZE), 100, SIZE - 100, done.set)
        await asyncio.wait_for(done.wait(), 10)
        ahead.stop()
        assert ahead.stretches == 1

    asyncio.run(run())
    assert is_cached(fd, 100, SIZE - 100)


def test_a_file_that_cannot_be_read_is_done_too() -> None:
    async def run() -> None:
        ahead, done = ReadAhead(), asyncio.Event()
        ahead.read(Slice(-1, 0, SIZE), 0, SIZE, done.set)
        await asyncio.wait_for(done.wait(), 10)
        ahead.stop()

    asyncio.run(run())


def fill(broker: Broker, topic: str) -> list[bytes]:
    """Produce large batches; what they hold."""
    values = [os.urandom(BATCH_BYTES) for _ in range(BATCHES)]
    with RawClient(broker.port) as writer:
        for value in values:
            produce(writer, topic, make_batch(value))
    return values


def evict_log(broker: Broker, topic: str) -> None:
    assert broker.data_dir is not None
    (path,) = Path(broker.data_dir).glob(f"{topic}-0/*.log")
    opened = os.open(path, os.O_RDWR)
    try:
        evict(opened)
    finally:
        os.close(opened)


@pytest.mark.parametrize("is_evicted", [True, False])
def test_a_small_answer_is_read_on_the_loop_only_if_it_is_in_memory(
    fd: int, is_evicted: bool
) -> None:
    """A cold one goes from its file, for which a thread waits; it used to be read at once."""
    if is_evicted:
        evict(fd)
    here, there = socket.socketpair()
    with here, there:
        outbox = Outbox(PlainChannel(here))
        outbox.put(Encoded(bytearray(b"head"), [(4, Slice(fd, SIZE // 2, 4_000))]))
        assert len(outbox._parts) == (2 if is_evicted else 1)
        assert outbox.unsent_bytes == 4_004


def test_who_waits_is_told_even_if_the_read_meets_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise ValueError("a bug")

    async def scene() -> None:
        ahead, done = ReadAhead(), asyncio.Event()
        ahead.read(Slice(-1, 0, SIZE), 0, SIZE, done.set)
        await done.wait()
        ahead.stop()

    monkeypatch.setattr(read_ahead, "_read", fails)
    asyncio.run(asyncio.wait_for(scene(), 30))


def test_an_evicted_log_is_read_by_threads_and_sent_whole(barnabas_broker: Broker) -> None:
    topic = barnabas_broker.create_topic("cold")
    values = fill(barnabas_broker, topic)
    ahead = barnabas_broker.server.population.read_ahead
    with RawClient(barnabas_broker.port) as reader:
        reader.call(fetch_request(topic, 0, max_bytes=1 << 30), 11)
        assert ahead.stretches == 0
        evict_log(barnabas_broker, topic)
        answer: FetchResponse = reader.call(fetch_request(topic, 0, max_bytes=1 << 30), 11)
        assert ahead.stretches > 0
        records = data_of(answer.responses[0].partitions[0])
        assert reader.call(ApiVersionsRequest(), 0).error_code == 0
    assert all(value in records for value in values)


def test_the_loop_sends_what_is_in_memory(
    barnabas_broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every page is looked at before it is sent; a few may still be on their way."""
    send, cold = os.sendfile, []

    def watched(to: int, fd: int, position: int, count: int) -> int:
        pages = range(position, position + count, PAGE_BYTES)
        cold.append(sum(not is_cached(fd, at, 1) for at in pages) / len(pages))
        return send(to, fd, position, count)

    topic = barnabas_broker.create_topic("watched")
    fill(barnabas_broker, topic)
    evict_log(barnabas_broker, topic)
    monkeypatch.setattr(os, "sendfile", watched)
    with RawClient(barnabas_broker.port) as reader:
        reader.call(fetch_request(topic, 0, max_bytes=1 << 30), 11)
    assert len(cold) >= BATCHES * BATCH_BYTES // (1 << 20)
    assert cold[0] == 0
    assert sum(cold) / len(cold) < 0.05


def test_a_request_behind_a_cold_answer_is_answered_after_it(barnabas_broker: Broker) -> None:
    topic = barnabas_broker.create_topic("behind")
    fill(barnabas_broker, topic)
    evict_log(barnabas_broker, topic)
    with RawClient(barnabas_broker.port) as client:
        for _ in range(3):
            client.send(fetch_request(topic, 0, max_bytes=1 << 30), 11)
            client.send(ApiVersionsRequest(), 0)
        for _ in range(3):
            size = len(client.receive().responses[0].partitions[0].records)
            assert size > BATCHES * BATCH_BYTES
            assert client.receive().error_code == 0


class Held(ReadAhead):
    """Reads nothing before it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.dones: list[Callable[[], object]] = []
        self.sources: list[FileRange] = []

    def read(
        self, source: FileRange, position: int, count: int, done: Callable[[], object]
    ) -> None:
        self.sources.append(source)
        self.dones.append(done)


def meet_cold(broker: Broker, topic: str, held: Held) -> RawClient:
    """A client whose answer waits for a thread, of a topic that has been filled.

    Now and then the kernel has by itself read on as far as sockets take: then it is tried again.
    """
    deadline = time.monotonic() + PATIENCE_S
    while True:
        evict_log(broker, topic)
        reader = RawClient(broker.port)
        reader.send(fetch_request(topic, 0, max_bytes=1 << 30), 11)
        try:
            wait_until(lambda: bool(held.dones), 1.0)
            return reader
        except AssertionError:
            reader.sock.close()
            assert time.monotonic() < deadline, "no answer was ever cold"


def test_a_connection_closed_while_its_answer_is_cold_is_cleaned_up(
    barnabas_broker: Broker,
) -> None:
    topic = barnabas_broker.create_topic("closed")
    fill(barnabas_broker, topic)
    (listener,), held = barnabas_broker.server.listeners, Held()
    population = barnabas_broker.server.population
    listener.read_ahead = held
    with meet_cold(barnabas_broker, topic, held), RawClient(barnabas_broker.port) as other:
        assert other.call(ApiVersionsRequest(), 0).error_code == 0
        wait_until(lambda: len(population.connections) == 2)
        barnabas_broker.call(hang_up(barnabas_broker))
        assert not population.connections
        barnabas_broker.call(held.dones.pop())
    assert len(held.dones) == 0
    assert os.fstat(held.sources.pop().fd).st_size > BATCHES * BATCH_BYTES


def test_a_client_that_left_while_its_answer_is_cold_is_noticed_when_it_is_sent(
    barnabas_broker: Broker,
) -> None:
    topic = barnabas_broker.create_topic("left")
    fill(barnabas_broker, topic)
    (listener,), held = barnabas_broker.server.listeners, Held()
    listener.read_ahead = held
    reader = meet_cold(barnabas_broker, topic, held)
    reader.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    reader.sock.close()
    barnabas_broker.call(held.dones.pop())
    wait_until(lambda: not barnabas_broker.server.population.connections)


def hang_up(broker: Broker) -> Callable[[], None]:
    def close() -> None:
        for connection in tuple(broker.server.population.connections):
            connection.close("a test closes it")

    return close
