"""Topics for Spark, filled by librdkafka; what is sent comes back as the rows Spark must read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from broker_admin import BrokerAdmin, unique_name
from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from spark_link import Headers, Row

PATIENCE_S = 30
PAUSE_S = 0.05
START_MS = 1_700_000_000_000
STEP_MS = 1_000
KEPT = {"retention.ms": "-1"}  # the stamps are years old
CREATE_TIME, LOG_APPEND_TIME = 0, 1


class Record(NamedTuple):
    """What is sent; the n-th of a partition is stamped n seconds after `START_MS`."""

    value: bytes | None = None
    key: bytes | None = None
    headers: Headers = ()
    partition: int = 0
    timestamp_ms: int = START_MS


def numbered(count: int, start: int = 0, partition: int = 0) -> list[Record]:
    """Records with their number as the value, a second apart."""
    return [
        Record(b"%d" % n, b"key %d" % (n % 3), (), partition, START_MS + n * STEP_MS)
        for n in range(start, start + count)
    ]


class Topics:
    """Makes topics at one broker, fills them, cuts and deletes them."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.admin = BrokerAdmin(address)
        self._admin = AdminClient({"bootstrap.servers": address, "log_level": 0})

    def make(self, base: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> str:
        """Make a topic under a unique name."""
        return self.admin.create_topic(base, partitions, KEPT | dict(config or {}))

    def filled(self, base: str, count: int, partitions: int = 1) -> tuple[str, list[Row]]:
        """A topic with so many numbered records in each partition, and its rows."""
        topic = self.make(base, partitions)
        records = [each for p in range(partitions) for each in numbered(count, partition=p)]
        return topic, self.send(topic, records)

    def send(
        self, topic: str, records: Sequence[Record], **settings: str | int | bool
    ) -> list[Row]:
        """Send records; their rows. Settings are the producer's, `_` for a dot."""
        with self.producer(**settings) as producer:
            return sent_by(producer, topic, records)

    @contextmanager
    def producer(self, **settings: str | int | bool) -> Iterator[Producer]:
        """A producer for the length of a block."""
        given = {name.replace("_", "."): value for name, value in settings.items()}
        named: dict[str, str | int | float | bool] = {
            "bootstrap.servers": self.address,
            "linger.ms": 0,
            **given,
        }
        yield Producer(named)

    @contextmanager
    def transaction(self, *, commit: bool) -> Iterator[Producer]:
        """A producer in a transaction that ends with the block."""
        with self.producer(transactional_id=unique_name("spark")) as producer:
            producer.init_transactions(PATIENCE_S)
            producer.begin_transaction()
            yield producer
            end = producer.commit_transaction if commit else producer.abort_transaction
            end(PATIENCE_S)

    def delete_records(self, topic: str, before: int, partition: int = 0) -> None:
        """Delete what lies before an offset."""
        place = TopicPartition(topic, partition, before)
        self._admin.delete_records([place])[place].result(PATIENCE_S)

    def delete(self, topic: str) -> None:
        """Delete a topic."""
        self._admin.delete_topics([topic])[topic].result(PATIENCE_S)


def sent_by(producer: Producer, topic: str, records: Sequence[Record]) -> list[Row]:
    """Send records by this producer; their rows, by partition."""
    rows: list[Row] = []
    for record in records:
        producer.produce(
            topic,
            record.value,
            record.key,
            record.partition,
            timestamp=record.timestamp_ms,
            headers=list(record.headers),
            on_delivery=lambda error, message, sent=record: rows.append(_row(error, message, sent)),
        )
    assert producer.flush(PATIENCE_S) == 0
    return sorted(rows, key=lambda row: (row.partition, row.offset))


def _row(error: object, message: Message, sent: Record) -> Row:
    assert error is None, error
    topic, offset = message.topic(), message.offset()
    assert topic is not None and offset is not None
    return Row(
        topic,
        sent.partition,
        offset,
        sent.timestamp_ms,
        CREATE_TIME,
        sent.key,
        sent.value,
        sent.headers,
    )


def read_offsets(address: str, topic: str, partition: int = 0) -> list[int]:
    """The offsets that a consumer gets of a partition."""
    consumer = Consumer({"bootstrap.servers": address, "group.id": "offsets", "log_level": 0})
    try:
        place = TopicPartition(topic, partition, OFFSET_BEGINNING)
        end = consumer.get_watermark_offsets(place, PATIENCE_S)[1]
        consumer.assign([place])
        found: list[int] = []
        while not found or found[-1] < end - 1:
            message = consumer.poll(PATIENCE_S)
            assert message is not None and message.error() is None
            offset = message.offset()
            assert offset is not None
            found.append(offset)
        return found
    finally:
        consumer.close()


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    """Ask until it is so."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline, f"{what} has not come"
        time.sleep(PAUSE_S)
