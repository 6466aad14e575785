"""Reads whole topics through librdkafka, by assignment."""

from __future__ import annotations

from confluent_kafka import Consumer, TopicPartition

TIMEOUT_S = 30
MOST_AT_ONCE = 10_000


def read_values(address: str, topic: str, partitions: int = 1) -> list[list[bytes]]:
    """The values of each partition, in order, from offset 0; no offset may be skipped."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": "reader", "log_level": 0})
    values: list[list[bytes]] = [[] for _ in range(partitions)]
    places = [TopicPartition(topic, index, 0) for index in range(partitions)]
    try:
        left = sum(consumer.get_watermark_offsets(place, TIMEOUT_S)[1] for place in places)
        consumer.assign(places)
        while left:
            messages = consumer.consume(min(left, MOST_AT_ONCE), TIMEOUT_S)
            assert messages, f"{left} records of {topic} did not come"
            for message in messages:
                partition, value = message.partition(), message.value()
                assert message.error() is None and partition is not None and value is not None
                assert message.offset() == len(values[partition])
                values[partition].append(value)
            left -= len(messages)
        return values
    finally:
        consumer.close()
