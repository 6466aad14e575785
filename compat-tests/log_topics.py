"""Topics with everything in them that a segment file can hold, made by librdkafka."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from broker_admin import BrokerAdmin
from confluent_kafka import Producer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T0_MS = 1_700_000_000_000
PARTITIONS = 2
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
PATIENCE_S = 60
KEPT = {"retention.ms": "-1"}  # the records are of 2023
SMALL_SEGMENTS = {"segment.bytes": "20000", "index.interval.bytes": "200"}
ROW = "topic, partition, offset, key, value, timestamp, timestampType, headers"

Row = tuple[Any, ...]


def a_producer(bootstrap: str, **settings: object) -> Producer:
    """A producer whose batches are small."""
    given = {name.replace("_", "."): value for name, value in settings.items()}
    return Producer(
        {"bootstrap.servers": bootstrap, "batch.size": 2_000, "linger.ms": 5, "log_level": 0}
        | given
    )


def send(producer: Producer, topic: str, first: int, count: int) -> None:
    """Records of every kind in turns, a second apart: nulls, empty ones, headers, large ones."""
    for number in range(first, first + count):
        headers = [("n", b"%d" % number), ("n", b""), ("clé", None)][: number % 4]
        producer.produce(
            topic,
            key=None if number % 5 == 0 else b"key-%d" % number,
            value=None if number % 7 == 0 else b"v%d" % number * (number % 11 * number % 97),
            headers=headers,
            timestamp=T0_MS + 1000 * number,
            partition=number % PARTITIONS,
        )
    assert producer.flush(PATIENCE_S) == 0


@contextmanager
def filled(
    bootstrap: str, admin: BrokerAdmin, segments: dict[str, str] = SMALL_SEGMENTS
) -> Iterator[dict[str, str]]:
    """Names of topics by kind; of `transactions` one transaction is open until the end."""
    topics = {}
    for codec in CODECS:
        topics[codec] = admin.create_topic(f"log-{codec}", PARTITIONS, KEPT | segments)
        send(a_producer(bootstrap, compression_type=codec), topics[codec], 0, 400)
    append_time = {"message.timestamp.type": "LogAppendTime"}
    topics["appended"] = admin.create_topic("log-appended", PARTITIONS, KEPT | append_time)
    send(a_producer(bootstrap), topics["appended"], 0, 50)
    topics["transactions"] = admin.create_topic("log-transactions", PARTITIONS, KEPT | segments)
    topics["empty"] = admin.create_topic("log-empty", PARTITIONS)
    producer = _transactions(bootstrap, topics["transactions"])
    yield topics
    producer.abort_transaction(PATIENCE_S)


def _transactions(bootstrap: str, topic: str) -> Producer:
    producer = a_producer(bootstrap, transactional_id=topic, transaction_timeout_ms=600_000)
    producer.init_transactions(PATIENCE_S)
    for number in range(12):
        producer.begin_transaction()
        send(producer, topic, 30 * number, 30)
        if number == 11:
            break
        if number % 3 == 1:
            producer.abort_transaction(PATIENCE_S)
        else:
            producer.commit_transaction(PATIENCE_S)
        send(a_producer(bootstrap), topic, 1000 + number, 2)
    return producer


def kafka_frame(spark: SparkSession, bootstrap: str, **options: str) -> DataFrame:
    """Spark's own source; an option's dots are written as two underscores."""
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    return _with(reader, options)


def log_frame(spark: SparkSession, path: str, **options: str) -> DataFrame:
    """Ours."""
    return _with(spark.read.format("barnabas-log").option("path", path), options)


def _with(reader: Any, options: dict[str, str]) -> DataFrame:
    for name, value in {"includeHeaders": "true", **options}.items():
        reader = reader.option(name.replace("__", "."), value)
    frame: DataFrame = reader.load()
    return frame


def rows_of(frame: DataFrame) -> list[Row]:
    """All rows in the order of offsets, as plain values; times in µs."""
    found = []
    timed = frame.withColumn("timestamp", frame.timestamp.cast("double"))
    for row in timed.selectExpr(*ROW.split(", ")).collect():
        topic, partition, offset, key, value, time, kind, headers = row
        pairs = None if headers is None else [(each.key, as_bytes(each.value)) for each in headers]
        found.append(
            (
                topic,
                partition,
                offset,
                as_bytes(key),
                as_bytes(value),
                round(time * 1e6),
                kind,
                pairs,
            )
        )
    return sorted(found, key=lambda row: row[:3])


def as_bytes(value: Any) -> bytes | None:
    """PySpark gives a bytearray."""
    return None if value is None else bytes(value)
