"""One connection: order, one request at a time, long polls that give way, slow readers."""

import os
import socket
import struct
import threading

import pytest

from barnabas.server.network.connection import Connection
from barnabas.server.network.connection_states import ConnectionState
from barnabas.server.network.outbox import SMALL_BYTES
from barnabas.server.testing.broker import Broker
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.fetch import FetchResponse
from barnabas.wire.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.wire.messages.produce import ProduceResponse
from tests.server.raw_client import RawClient
from tests.server.records import fetch_request, make_batch, produce, produce_request
from tests.server.waiting import wait_until

AN_HOUR_MS = 3_600_000  # a client gives up long before that
VERSIONS = ApiVersionsRequest(client_software_name="t", client_software_version="1")


def test_answers_come_in_request_order(barnabas_broker: Broker) -> None:
    topic = barnabas_broker.create_topic("ordered")
    with RawClient(barnabas_broker.port) as client:
        for number in range(200):
            if number % 2:
                client.send(produce_request(topic, make_batch(b"x" * number)), 7)
            else:
                client.send(MetadataRequest(topics=[]), 5)
        answers = [client.receive() for _ in range(200)]
    assert [type(answer) for answer in answers] == [MetadataResponse, ProduceResponse] * 100
    offsets = [a.responses[0].partition_responses[0].base_offset for a in answers[1::2]]
    assert offsets == list(range(100))


def test_acks_0_is_not_answered_and_holds_nothing_up(barnabas_broker: Broker) -> None:
    topic = barnabas_broker.create_topic("silent")
    with RawClient(barnabas_broker.port) as client:
        client.send(produce_request(topic, make_batch(b"1"), acks=0), 7, answered=False)
        client.send(produce_request(topic, make_batch(b"2"), acks=0), 7, answered=False)
        assert produce(client, topic, make_batch(b"3")).base_offset == 2


def test_acks_0_that_fails_closes_the_connection(barnabas_broker: Broker) -> None:
    with RawClient(barnabas_broker.port) as client:
        client.send(produce_request("nowhere", make_batch(b"1"), acks=0), 7, answered=False)
        assert client.is_closed()


def test_a_parked_fetch_wakes_on_a_produce(barnabas_broker: Broker) -> None:
    topic = barnabas_broker.create_topic("tail")
    with RawClient(barnabas_broker.port) as reader, RawClient(barnabas_broker.port) as writer:
        reader.send(fetch_request(topic, 0, max_wait_ms=AN_HOUR_MS), 11)
        wait_until_parked(barnabas_broker)
        produce(writer, topic, make_batch(b"news"))
        answer: FetchResponse = reader.receive()
    assert answer.responses[0].partitions[0].high_watermark == 1


@pytest.mark.broker_says("an answer was not sent api=FETCH")
def test_a_parked_fetch_that_cannot_be_answered_costs_the_producer_nothing(
    barnabas_broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug in one client's answer ends that client's connection, not the other's request."""
    topic = barnabas_broker.create_topic("unsent")

    def fail(*_: object) -> int:
        raise RuntimeError("a bug")

    with RawClient(barnabas_broker.port) as reader, RawClient(barnabas_broker.port) as writer:
        reader.send(fetch_request(topic, 0, max_wait_ms=10_000), 11)
        wait_until_parked(barnabas_broker)
        monkeypatch.setattr(os, "sendfile", fail)
        answer = writer.call(produce_request(topic, make_batch(bytes(SMALL_BYTES))), 7)
        assert answer.responses[0].partition_responses[0].error_code == 0
        with pytest.raises(ConnectionError):
            reader.receive()


def test_a_parked_fetch_gives_way_to_another_kind_of_request(barnabas_broker: Broker) -> None:
    topic = barnabas_broker.create_topic("yields")
    with RawClient(barnabas_broker.port) as client:
        client.send(fetch_request(topic, 0, max_wait_ms=AN_HOUR_MS), 11)
        wait_until_parked(barnabas_broker)
        client.send(MetadataRequest(topics=[]), 5)
        assert isinstance(client.receive(), FetchResponse)
        assert isinstance(client.receive(), MetadataResponse)


def test_a_parked_fetch_does_not_give_way_to_a_fetch() -> None:
    with Broker() as broker, RawClient(broker.port) as client:
        topic = broker.create_topic("patient")
        client.send(fetch_request(topic, 0, max_wait_ms=AN_HOUR_MS), 11)
        client.send(fetch_request(topic, 0, max_wait_ms=0), 11)
        full = ConnectionState.PARKED_FULL
        wait_until(lambda: [each.state for each in connections(broker)] == [full])
        assert len(broker.server.fetches) == 1
        broker.clock.advance(AN_HOUR_MS)
        for _ in range(2):
            assert isinstance(client.receive(), FetchResponse)


def test_a_client_that_leaves_frees_its_parked_fetch(barnabas_broker: Broker) -> None:
    topic = barnabas_broker.create_topic("left")
    with RawClient(barnabas_broker.port) as client:
        client.send(fetch_request(topic, 0, max_wait_ms=60_000), 11)
        wait_until_parked(barnabas_broker)
    wait_until(lambda: len(barnabas_broker.server.fetches) == 0)


def test_a_client_that_broke_its_connection_does_not_disturb_who_wakes_it(
    barnabas_broker: Broker,
) -> None:
    """The answer to a parked fetch fails while a producer's request is being served."""
    topic = barnabas_broker.create_topic("broken")
    reader = RawClient(barnabas_broker.port)
    reader.send(fetch_request(topic, 0, max_wait_ms=10_000), 11)
    wait_until_parked(barnabas_broker)

    def break_and_wake() -> int:
        reader.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        reader.sock.close()
        return barnabas_broker.server.fetches.complete_all((topic, 0))

    assert barnabas_broker.call(break_and_wake) == 1


def test_a_slow_reader_costs_no_memory_and_holds_nobody_up(barnabas_broker: Broker) -> None:
    topic = barnabas_broker.create_topic("large")
    with RawClient(barnabas_broker.port) as writer:
        for _ in range(40):
            produce(writer, topic, make_batch(b"x" * 1_000_000))
    slow = RawClient(barnabas_broker.port)
    with slow:
        for _ in range(50):
            slow.send(fetch_request(topic, 0, max_bytes=1 << 30), 11)
        wait_until(lambda: any(c.outbox for c in connections(barnabas_broker)))
        with RawClient(barnabas_broker.port) as other:
            assert other.call(VERSIONS, 3).error_code == 0
        heads = barnabas_broker.call(
            lambda: [len(c.outbox._parts) for c in connections(barnabas_broker)]
        )
        assert max(heads) <= 4  # the head of one answer and its slice, not fifty of them
        total = slow.receive().responses[0].partitions[0].records
        assert len(total) > 30_000_000


def test_bad_frames_close_the_connection_and_nothing_else(barnabas_broker: Broker) -> None:
    for body in (b"", b"\0", b"\x7f\xff\0\0\0\0\0\0\xff\xff", b"\0\0\0\x07\0\0\0\1\0\x50ab"):
        with RawClient(barnabas_broker.port) as client:
            client.send_frame(body)
            assert client.is_closed()
    with RawClient(barnabas_broker.port) as client:
        client.sock.sendall(b"\xff\xff\xff\xff")
        assert client.is_closed()
    with RawClient(barnabas_broker.port) as client:
        client.sock.sendall(b"GET / HTTP/1.1\r\n\r\n")  # a length of 1.2 GB
        assert client.is_closed()
    with RawClient(barnabas_broker.port) as client:
        assert client.call(VERSIONS, 3).error_code == 0


@pytest.mark.parametrize("piece", [1, 7, 100])
def test_frames_in_pieces(barnabas_broker: Broker, piece: int) -> None:
    topic = barnabas_broker.create_topic("pieces")
    with RawClient(barnabas_broker.port) as client:
        frame = client.wire.send(produce_request(topic, make_batch(b"x" * 500)), 7)
        for start in range(0, len(frame), piece):
            client.sock.sendall(frame[start : start + piece])
        assert client.receive().responses[0].partition_responses[0].error_code == 0


def test_many_connections_at_once(barnabas_broker: Broker) -> None:
    clients = [RawClient(barnabas_broker.port) for _ in range(300)]
    try:
        for client in clients:
            client.send(VERSIONS, 3)
        assert all(client.receive().error_code == 0 for client in clients)
    finally:
        for client in clients:
            client.sock.close()


def test_producers_side_by_side(barnabas_broker: Broker) -> None:
    topic = barnabas_broker.create_topic("shared")

    def work() -> None:
        with RawClient(barnabas_broker.port) as client:
            for _ in range(50):
                produce(client, topic, make_batch(b"x"))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    partition = barnabas_broker.server.replicas.require(topic, 0)
    assert partition.log.log_end_offset == 400


def connections(broker: Broker) -> list[Connection]:
    return list(broker.server.population.connections)


def wait_until_parked(broker: Broker) -> None:
    wait_until(lambda: len(broker.server.fetches) > 0)
