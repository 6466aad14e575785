"""DescribeProducers: epochs and sequences as the partition remembers them."""

from barnabas.server.testing.broker import Broker
from barnabas.storage.batch.header import TRANSACTIONAL
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.describe_producers import (
    DescribeProducersRequest,
    PartitionResponse,
    TopicRequest,
)
from tests.server.raw_client import RawClient
from tests.server.records import Producer, make_batch, produce, resealed
from tests.server.transaction_requests import V1, Transactional
from tests.server.waiting import wait_until


def described(client: RawClient, topic: str, *indexes: int) -> list[PartitionResponse]:
    request = DescribeProducersRequest(
        topics=[TopicRequest(name=topic, partition_indexes=list(indexes))]
    )
    (answer,) = client.call(request, 0).topics
    assert answer.name == topic
    partitions: list[PartitionResponse] = answer.partitions
    return partitions


def send(client: RawClient, topic: str, producer_id: int, epoch: int, sequence: int) -> None:
    data = make_batch(b"v", producer=Producer(producer_id, epoch), sequence=sequence)
    assert produce(client, topic, data).error_code == 0


def test_producers_of_a_partition(broker: Broker, client: RawClient) -> None:
    broker.create_topic("t", 2)
    send(client, "t", 7, 0, 0)
    send(client, "t", 7, 0, 1)
    send(client, "t", 9, 3, 0)
    first, second = described(client, "t", 0, 1)
    assert [
        (p.producer_id, p.producer_epoch, p.last_sequence, p.last_timestamp)
        for p in first.active_producers
    ] == [(7, 0, 1, 1_700_000_000_000), (9, 3, 0, 1_700_000_000_000)]
    assert {(p.coordinator_epoch, p.current_txn_start_offset) for p in first.active_producers} == {
        (-1, -1)
    }
    assert (second.error_code, second.active_producers) == (0, [])


def test_partitions_that_are_not_there(broker: Broker, client: RawClient) -> None:
    broker.create_topic("there")
    assert [p.error_code for p in described(client, "there", 9)] == [3]
    assert [p.error_code for p in described(client, "nope", 0)] == [3]
    (illegal,) = described(client, "bad name!", 0)
    assert illegal.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert illegal.error_message


def test_a_producer_with_an_open_transaction(broker: Broker, client: RawClient) -> None:
    broker.create_topic("open", 1)
    send(client, "open", 7, 0, 0)
    writer = Transactional(client, "described", V1).begin()
    assert writer.add(("open", 0)) == [0]
    data = make_batch(b"v", producer=Producer(*writer.id), sequence=0)
    data[22] |= TRANSACTIONAL
    first = produce(client, "open", resealed(data), transactional_id=writer.name)
    assert first.base_offset == 1

    def of_writer() -> tuple[int, int]:
        (part,) = described(client, "open", 0)
        (found,) = [p for p in part.active_producers if p.producer_id == writer.id.producer_id]
        return found.coordinator_epoch, found.current_txn_start_offset

    assert of_writer() == (-1, 1)
    assert writer.end() == 0
    wait_until(lambda: of_writer() == (0, -1))
