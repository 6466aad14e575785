"""Reads a topic's first partition whole, through librdkafka, by assignment."""

from __future__ import annotations

from confluent_kafka import Consumer, TopicPartition


def read_values(address: str, topic: str) -> list[bytes]:
    """Every value of partition 0, in order; each offset must be the one after the last."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": "reader", "log_level": 0})
    try:
        low, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), 30)
        consumer.assign([TopicPartition(topic, 0, low)])
        values: list[bytes] = []
        while low + len(values) < high:
            messages = consumer.consume(high - low - len(values), timeout=30)
            assert messages, f"{topic} ended at {low + len(values)} of {high}"
            for message in messages:
                assert message.error() is None
                assert message.offset() == low + len(values)
                values.append(message.value())
        return values
    finally:
        consumer.close()
