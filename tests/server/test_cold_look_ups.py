"""Look-ups in indexes and logs that are on the disk only: nobody else waits for that disk.

A disk of a seam says what is in the page cache: from `chill` on nothing is, until a thread has
read it. A read on the event loop that would wait is noted. Threads read when they are let.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from threading import get_ident
from typing import Any

import pytest

from barnabas.server.network.read_ahead import FileRange, ReadAhead
from barnabas.server.testing.broker import Broker
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.fetch import FetchRequest, FetchResponse
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from tests.server.raw_client import RawClient
from tests.server.records import NOW_MS, data_of, fetch_request, make_batch, produce
from tests.server.waiting import wait_until, wait_until_watched

BATCHES = 60
BATCHES_A_SEGMENT = 20
SETTINGS = {
    "segment.bytes": BATCHES_A_SEGMENT * len(make_batch(b"00")),
    "index.interval.bytes": 1,
    "retention.ms": -1,
}
MAX_TIMESTAMP = -3


class Disk(ReadAhead):
    """A disk whose pages are cold, and the threads that read it ahead."""

    def __init__(self) -> None:
        super().__init__()
        self.is_cold = False
        self.loop_thread = 0
        self.waited: list[int] = []
        """Descriptors from which the loop has read what is cold."""
        self.held: list[Callable[[], object]] = []
        """What has been asked of the threads, and not been let."""
        self.stays_cold = False
        self._is_let = True
        self._warm: list[tuple[int, int, int]] = []

    def chill(self) -> None:
        """Nothing is in the page cache any more, and threads are held."""
        self.is_cold, self._is_let = True, False

    def let(self) -> None:
        """The threads may read."""
        self._is_let = True
        while self.held:
            self.held.pop()()

    def read(
        self, source: FileRange, position: int, count: int, done: Callable[[], object]
    ) -> None:
        def bring() -> None:
            if not self.stays_cold:
                self._warm.append((source.fd, position, position + count))
            super(Disk, self).read(source, position, count, done)

        self.held.append(bring)
        if self._is_let:
            self.held.pop()()

    def preadv(
        self, fd: int, buffers: Sequence[bytearray | memoryview], position: int, flags: int = 0
    ) -> int:
        if flags & os.RWF_NOWAIT and self._misses(fd, position):
            raise BlockingIOError
        return os.preadv(fd, list(buffers), position)

    def pread(self, fd: int, size: int, position: int) -> bytes:
        if get_ident() == self.loop_thread and self._misses(fd, position):
            self.waited.append(fd)
        return os.pread(fd, size, position)

    def _misses(self, fd: int, position: int) -> bool:
        return self.is_cold and not any(
            at == fd and start <= position < end for at, start, end in self._warm
        )


@pytest.fixture
def broker() -> Iterator[Broker]:
    """A broker of this test's own."""
    with Broker() as made:
        yield made


@pytest.fixture
def topic(broker: Broker) -> str:
    """Three segments of batches, each with a time and a value of its own."""
    topic = broker.create_topic("cold", 2, SETTINGS)
    with RawClient(broker.port) as client:
        for number in range(BATCHES):
            value = b"%02d" % number
            produce(client, topic, make_batch(value, timestamps=[NOW_MS + number * 1000]))
    return topic


def restarted(broker: Broker) -> Disk:
    """The disk of the broker, all warm; nothing has been looked up yet."""
    broker.restart()
    disk, server = Disk(), broker.server

    def take_over() -> None:
        disk.loop_thread = get_ident()
        server.population.read_ahead = disk
        for directory in server.disks.directories:
            directory.fs.pread, directory.fs.preadv = disk.pread, disk.preadv
            for log in directory.logs.values():
                log.close_files()  # they are opened again when they are read

    broker.call(take_over)
    return disk


def fetch(topic: str, offset: int, *, max_wait_ms: int = 0, min_bytes: int = 1) -> FetchRequest:
    request = fetch_request(topic, offset, max_wait_ms=max_wait_ms)
    request.min_bytes = min_bytes
    return request


def content_of(answer: Any) -> Any:
    """What an answer says, with the bytes of records."""
    if isinstance(answer, FetchResponse):
        partitions = [each for topic in answer.responses for each in topic.partitions]
        return [(each.error_code, each.high_watermark, data_of(each)) for each in partitions]
    return answer


def by_time(topic: str, timestamp: int, most: int = 1) -> ListOffsetsRequest:
    asked = ListOffsetsPartition(partition_index=0, timestamp=timestamp, max_num_offsets=most)
    return ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[asked])]
    )


LOOK_UPS: dict[str, tuple[Callable[[str], Any], int]] = {
    "an old offset": (lambda topic: fetch(topic, 33), 11),
    "an offset of the active segment": (lambda topic: fetch(topic, 47), 11),
    "an old offset, converted": (lambda topic: fetch(topic, 7), 2),
    "a time": (lambda topic: by_time(topic, NOW_MS + 33_000), 5),
    "the largest time": (lambda topic: by_time(topic, MAX_TIMESTAMP), 7),
    "a time, as segment starts": (lambda topic: by_time(topic, NOW_MS + 25_000, 9), 0),
}


@pytest.mark.parametrize("look_up", LOOK_UPS)
def test_another_client_is_served_while_a_look_up_waits_for_the_disk(
    broker: Broker, topic: str, look_up: str
) -> None:
    make, version = LOOK_UPS[look_up]
    request = make(topic)
    with RawClient(broker.port) as client:
        expected = content_of(client.call(request, version))
    disk = restarted(broker)
    with RawClient(broker.port) as reader, RawClient(broker.port) as other:
        broker.call(disk.chill)
        reader.send(request, version)
        wait_until(lambda: bool(disk.held or disk.waited))
        assert not disk.waited
        assert other.call(ApiVersionsRequest(), 0).error_code == 0
        broker.call(disk.let)
        assert content_of(reader.receive()) == expected
    assert not disk.waited


def test_a_look_up_whose_pages_do_not_stay_waits_for_them_in_the_end(
    broker: Broker, topic: str
) -> None:
    disk, request = restarted(broker), fetch(topic, 33)
    with RawClient(broker.port) as reader:
        expected = content_of(reader.call(request, 11))
        disk.stays_cold = True
        broker.call(disk.chill)
        reader.send(request, 11)
        wait_until(lambda: bool(disk.held))
        broker.call(disk.let)
        assert content_of(reader.receive()) == expected
        disk.waited.clear()
        disk.stays_cold = False
        assert content_of(reader.call(request, 11)) == expected
    assert not disk.waited


def test_a_fetch_that_met_a_cold_read_counts_once(broker: Broker, topic: str) -> None:
    disk = restarted(broker)
    counts = broker.server.metrics.topics[topic]
    with RawClient(broker.port) as reader:
        reader.call(fetch(topic, 33), 11)
        requests, sent = counts.total_fetch_requests, counts.bytes_out
        broker.call(disk.chill)
        broker.call(disk.let)
        reader.call(fetch(topic, 33), 11)
    assert disk.stretches > 0
    assert (counts.total_fetch_requests, counts.bytes_out) == (2 * requests, 2 * sent)


def test_a_parked_fetch_that_becomes_cold_is_answered_when_its_time_is_up(
    broker: Broker, topic: str
) -> None:
    disk = restarted(broker)
    request = fetch(topic, 33, max_wait_ms=300_000, min_bytes=1 << 20)
    with RawClient(broker.port) as reader, RawClient(broker.port) as other:
        reader.send(request, 11)
        wait_until_watched(broker, topic)
        broker.call(disk.chill)
        broker.clock.advance("6 minutes")
        wait_until(lambda: bool(disk.held or disk.waited))
        assert other.call(ApiVersionsRequest(), 0).error_code == 0
        broker.call(disk.let)
        ((error, _, records),) = content_of(reader.receive())
    assert (error, b"33" in records) == (0, True)
    assert not disk.waited


def test_a_broker_stops_while_a_look_up_waits(broker: Broker, topic: str) -> None:
    disk = restarted(broker)
    with RawClient(broker.port) as reader:
        broker.call(disk.chill)
        reader.send(by_time(topic, NOW_MS + 33_000), 5)
        wait_until(lambda: bool(disk.held or disk.waited))
        broker.stop()
    assert not disk.waited
