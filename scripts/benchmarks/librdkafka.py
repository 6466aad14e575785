"""Workloads through confluent-kafka, as a stock client with its defaults meets the broker.

The client runs in this process and is often the limit: its figures compare brokers on one
machine, they are not what a broker can do.
"""

import random
import statistics
import time
from collections.abc import Iterator
from itertools import count

from confluent_kafka import Consumer, Producer, TopicPartition

PARTITIONS = 4
_groups = count()


class LibrdkafkaError(Exception):
    """The client did not get what the workload wrote."""


def produce(address: str, topic: str, value_bytes: int, seconds: float) -> tuple[int, float]:
    """Produces with acks=all for so long; returns the records acknowledged and the time taken."""
    producer = Producer(
        {
            "bootstrap.servers": address,
            "acks": "all",
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    value = random.Random(1).randbytes(value_bytes)
    started = time.perf_counter()
    sent = 0
    while time.perf_counter() - started < seconds:
        sent += _produce_some(producer, topic, value)
    left = producer.flush(120)
    if left:
        raise LibrdkafkaError(f"{left} records were not acknowledged within 120 s")
    return sent, time.perf_counter() - started


def _produce_some(producer: Producer, topic: str, value: bytes) -> int:
    send = producer.produce
    for sent in range(1000):
        try:
            send(topic, value)
        except BufferError:
            producer.poll(0.001)
            return sent
    producer.poll(0)
    return 1000


def consume(address: str, topic: str, records: int) -> float:
    """Reads so many records from the start; returns the seconds from assignment to the last."""
    consumer = _consumer(address)
    started = time.perf_counter()
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
    received = 0
    while received < records:
        messages = consumer.consume(10_000, 1.0)
        received += sum(message.error() is None for message in messages)
        if time.perf_counter() - started > 300:
            raise LibrdkafkaError(f"only {received} of {records} records came within 300 s")
    seconds = time.perf_counter() - started
    consumer.close()
    return seconds


def seek_p50_ms(address: str, topic: str, end: int, seconds: float) -> float:
    """Median time from a seek to a random offset of partition 0 to the record there."""
    consumer = _consumer(address)
    consumer.assign([TopicPartition(topic, 0, 0)])
    while consumer.poll(5) is None:
        pass
    times = []
    for _ in _until(seconds):
        target = TopicPartition(topic, 0, random.randrange(end))
        started = time.perf_counter()
        consumer.seek(target)
        message = consumer.poll(5)
        times.append(time.perf_counter() - started)
        if message is None or message.offset() != target.offset:
            raise LibrdkafkaError(f"seek to {target.offset} brought another record or none")
    consumer.close()
    return statistics.median(times) * 1000


def by_time_p50_ms(address: str, topic: str, first_ms: int, span_ms: int, seconds: float) -> float:
    """Median time of offsets_for_times for random times of partition 0."""
    consumer = _consumer(address)
    times = []
    for _ in _until(seconds):
        at = TopicPartition(topic, 0, first_ms + random.randrange(span_ms))
        started = time.perf_counter()
        consumer.offsets_for_times([at], 10)
        times.append(time.perf_counter() - started)
    consumer.close()
    return statistics.median(times) * 1000


def fresh_group_ms(address: str, topic: str, rounds: int) -> float:
    """Median time from creating a consumer of a new group to its first record."""
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        consumer = _consumer(address)
        consumer.subscribe([topic])
        while (message := consumer.poll(10)) is None or message.error():
            pass
        times.append(time.perf_counter() - started)
        consumer.close()
    return statistics.median(times) * 1000


def _consumer(address: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": address,
            "group.id": f"bench-{time.time_ns()}-{next(_groups)}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )


def _until(seconds: float) -> Iterator[None]:
    deadline = time.perf_counter() + seconds
    while time.perf_counter() < deadline:
        yield
