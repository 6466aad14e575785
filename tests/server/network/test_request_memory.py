"""`queued.max.request.bytes`: who is let in, who waits, and that all of it comes back."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from barnabas.server.network.connection_states import ConnectionState
from barnabas.server.network.request_memory import RequestMemory
from barnabas.server.testing.broker import Broker
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.server.raw_client import RawClient
from tests.server.records import make_batch, produce, produce_request
from tests.server.waiting import wait_until

FRAME_BYTES = 900_000
LIMIT_BYTES = 1_100_000


class Waiter:
    """Notes what it is granted."""

    def __init__(self) -> None:
        self.granted = 0

    def memory_granted(self, size: int) -> None:
        self.granted += size


def test_a_request_is_let_in_as_long_as_anything_is_left() -> None:
    memory = RequestMemory(100)
    assert memory.take(Waiter(), 99)
    assert memory.take(Waiter(), 500)
    assert memory.available_bytes == -499
    assert not memory.take(Waiter(), 1)


def test_who_waited_longest_is_served_first_and_only_while_there_is_some() -> None:
    memory, first, second = RequestMemory(100), Waiter(), Waiter()
    assert memory.take(Waiter(), 120)
    assert not memory.take(first, 100)
    assert not memory.take(second, 10)
    memory.give_back(10)
    assert (first.granted, second.granted) == (0, 0)
    memory.give_back(110)
    assert (first.granted, second.granted) == (100, 0)
    memory.give_back(100)
    assert second.granted == 10
    assert memory.used_bytes == 10


def test_who_left_the_line_is_granted_nothing() -> None:
    memory, waiter = RequestMemory(100), Waiter()
    assert memory.take(Waiter(), 100)
    assert not memory.take(waiter, 1)
    memory.forget(waiter)
    memory.give_back(100)
    assert (waiter.granted, memory.used_bytes) == (0, 0)


@pytest.fixture
def broker() -> Iterator[Broker]:
    settings = {"socket.request.max.bytes": 1_000_000, "queued.max.request.bytes": LIMIT_BYTES}
    with Broker(settings) as made:
        yield made


def used(broker: Broker) -> int:
    memory = broker.server.population.request_memory
    assert memory is not None
    return memory.used_bytes


def begin(client: RawClient, topic: str) -> bytes:
    """Send all of a large request but its last byte, which is returned."""
    frame = client.wire.send(produce_request(topic, make_batch(bytes(FRAME_BYTES))), 7)
    client.sock.sendall(frame[:-1])
    return frame[-1:]


def is_short(broker: Broker) -> int:
    return sum(
        each.state is ConnectionState.SHORT for each in tuple(broker.server.population.connections)
    )


def test_when_it_is_used_up_large_requests_wait_and_small_ones_do_not(broker: Broker) -> None:
    topic = broker.create_topic("pressed")
    clients = [RawClient(broker.port) for _ in range(5)]
    first, second, third, fourth, small = clients
    try:
        last = begin(first, topic)
        wait_until(lambda: used(broker) > FRAME_BYTES)
        begin(second, topic)
        wait_until(lambda: used(broker) > 2 * FRAME_BYTES)
        for waiting in (third, fourth):
            frame = waiting.wire.send(produce_request(topic, make_batch(bytes(FRAME_BYTES))), 7)
            waiting.sock.setblocking(False)
            waiting.sock.send(frame[:-1])
        wait_until(lambda: is_short(broker) == 2)
        assert produce(small, topic, make_batch(b"small")).error_code == 0
        assert used(broker) < 2 * FRAME_BYTES + 1000
        first.sock.sendall(last)
        assert first.receive().responses[0].partition_responses[0].error_code == 0
        wait_until(lambda: is_short(broker) == 1)
        fourth.sock.close()  # it is not read from, so nobody notices yet
        second.sock.close()
        third.sock.close()
        wait_until(lambda: used(broker) == 0 and is_short(broker) == 0)
        assert produce(first, topic, make_batch(bytes(FRAME_BYTES))).error_code == 0
        assert used(broker) == 0
    finally:
        for client in clients:
            client.sock.close()


def test_all_of_many_large_requests_are_answered(broker: Broker) -> None:
    topic = broker.create_topic("many")

    def work() -> int:
        with RawClient(broker.port) as client:
            batch = make_batch(bytes(FRAME_BYTES))
            return sum(produce(client, topic, batch).error_code for _ in range(5))

    with ThreadPoolExecutor(10) as threads:
        codes = [threads.submit(work) for _ in range(10)]
        assert [each.result(30) for each in codes] == [0] * 10
    assert broker.server.replicas.require(topic, 0).log.log_end_offset == 50
    wait_until(lambda: used(broker) == 0)


def test_a_request_served_in_turns_keeps_its_memory_until_it_is_answered(broker: Broker) -> None:
    """Its frame has left the buffer, but not the memory: another is let in only afterwards."""
    turns = broker.server.turns
    topics = [MetadataRequestTopic(name=f"{n:0>30}") for n in range(20_000)]
    frame_bytes = len(topics) * 32
    with RawClient(broker.port, timeout_s=60) as client, RawClient(broker.port, "second") as second:
        broker.call(lambda: setattr(turns, "_turn_ns", 1))
        client.send(MetadataRequest(topics=topics), 5)
        wait_until(lambda: turns.interruptions > 10)
        assert used(broker) >= frame_bytes
        client.send(MetadataRequest(topics=topics), 5)  # the next one counts, too
        wait_until(lambda: used(broker) >= 2 * frame_bytes)
        second.send(MetadataRequest(topics=topics), 5)
        wait_until(lambda: is_short(broker) == 1)
        broker.call(lambda: setattr(turns, "_turn_ns", 4_000_000))
        for _ in range(2):
            assert len(client.receive().topics) == len(topics)
        assert len(second.receive().topics) == len(topics)
    wait_until(lambda: used(broker) == 0)


def test_without_a_limit_nothing_is_counted(barnabas_broker: Broker) -> None:
    assert barnabas_broker.server.population.request_memory is None
    with RawClient(barnabas_broker.port) as client:
        assert client.call(ApiVersionsRequest(), 0).error_code == 0
