"""`kafka-transactions abort` of both releases ends a transaction that nobody else will end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from broker_admin import unique_name
from confluent_kafka import Consumer, IsolationLevel, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec
from kafka_tools import RELEASES, KafkaTools

TIMEOUT_SECONDS = 30


@pytest.fixture(scope="module", params=RELEASES)
def tools(request: pytest.FixtureRequest, broker_address: str) -> Iterator[KafkaTools]:
    """The tools of one release."""
    tools = KafkaTools(request.param, broker_address)
    yield tools
    tools.close()


def stable_end(broker_address: str, topic: str) -> int:
    """The first offset that readers of committed data wait for."""
    admin = AdminClient({"bootstrap.servers": broker_address})
    where = TopicPartition(topic, 0)
    asked = admin.list_offsets(
        {where: OffsetSpec.latest()}, isolation_level=IsolationLevel.READ_COMMITTED
    )
    return int(asked[where].result(TIMEOUT_SECONDS).offset)


def test_a_transaction_is_aborted_in_a_partition(tools: KafkaTools, broker_address: str) -> None:
    topic = unique_name("hanging")
    admin = AdminClient({"bootstrap.servers": broker_address})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(TIMEOUT_SECONDS)
    producer = Producer(
        {"bootstrap.servers": broker_address, "transactional.id": unique_name("hanging")}
    )
    producer.init_transactions(TIMEOUT_SECONDS)
    producer.begin_transaction()
    producer.produce(topic, b"to be aborted")
    assert producer.flush(TIMEOUT_SECONDS) == 0
    assert stable_end(broker_address, topic) == 0
    where = ("--topic", topic, "--partition", "0")
    described = tools.ok("kafka-transactions", "describe-producers", *where)
    assert len(described.lines) == 2
    tools.ok("kafka-transactions", "abort", *where, "--start-offset", "0")
    assert stable_end(broker_address, topic) == 2
    assert committed_values(broker_address, topic) == []
    try:  # the coordinator does not know that it is over there
        producer.abort_transaction(TIMEOUT_SECONDS)
    except KafkaException:
        pass


def committed_values(broker_address: str, topic: str) -> list[bytes | None]:
    """What a reader of committed data is given up to the end."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker_address,
            "group.id": unique_name("reader"),
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    values = []
    try:
        while (message := consumer.poll(TIMEOUT_SECONDS)) is not None and not message.error():
            values.append(message.value())
    finally:
        consumer.close()
    return values
