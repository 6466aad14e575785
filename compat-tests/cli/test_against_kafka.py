"""The commands of `barnabas` against Apache Kafka: the same words, the same answers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_commands import barnabas, rows
from confluent_kafka import Consumer, Producer
from kafka_server import ApacheKafka, running_kafka
from raw_producer import RawProducer

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.records import Record

PATIENCE_SECONDS = 60
HOUR_MS = 3_600_000


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    with running_kafka("4.4.0", tmp_path_factory.mktemp("kafka")) as server:
        yield server


def test_topics_and_settings(kafka: ApacheKafka) -> None:
    (broker,) = rows(kafka, "cluster")
    assert (broker["broker"], broker["controller"]) == (1, True)
    made = rows(
        kafka, "topics", "create", "a", "--partitions", "2", "--set", "retention.ms=9000000"
    )
    assert [row["partitions"] for row in made] == [2]
    assert [row["value"] for row in rows(kafka, "configs", "get", "topic", "a")] == ["9000000"]
    rows(kafka, "configs", "unset", "topic", "a", "retention.ms")
    (default,) = rows(kafka, "configs", "get", "topic", "a", "retention.ms")
    assert default["source"] in ("default", "file")
    rows(kafka, "configs", "set", "broker", "default", "log.cleaner.threads=2")
    found = rows(kafka, "configs", "get", "broker", "1")
    assert ("log.cleaner.threads", "2", "cluster") in [
        (row["name"], row["value"], row["source"]) for row in found
    ]
    rows(kafka, "configs", "unset", "broker", "default", "log.cleaner.threads")
    assert rows(kafka, "topics", "alter", "a", "--partitions", "3")[0]["partitions"] == 3
    refused = barnabas(kafka, "topics", "alter", "a", "--set", "retention.mss=1", code=1)
    assert "did you mean retention.ms?" in refused.stderr
    assert rows(kafka, "topics", "delete", "a") == [{"topic": "a", "deleted": True}]


def test_records_there_and_back(kafka: ApacheKafka) -> None:
    rows(kafka, "topics", "create", "records", "--partitions", "2")
    table = "n,at\n" + "".join(f"{n},{1_000_000 + n * 1000}\n" for n in range(100))
    options = ("--csv", "-", "--key", "n", "--timestamp", "at", "--compression", "zstd")
    (summary,) = rows(kafka, "produce", "records", *options, stdin=table)
    assert summary["records"] == 100
    found = rows(kafka, "consume", "records")
    assert sorted(int(row["key"]) for row in found) == list(range(100))
    later = rows(kafka, "consume", "records", "--from", "@1090000", "--to", "@1095000")
    assert sorted(int(row["key"]) for row in later) == list(range(90, 95))


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_groups(kafka: ApacheKafka, protocol: str) -> None:
    topic = group = f"read-by-{protocol}"
    rows(kafka, "topics", "create", topic)
    barnabas(kafka, "produce", topic, stdin="".join(f"{n}\n" for n in range(10)))
    settings = {"bootstrap.servers": kafka.address, "group.id": group, "group.protocol": protocol}
    consumer = Consumer(settings | {"auto.offset.reset": "earliest"})
    try:
        consumer.subscribe([topic])
        messages = consumer.consume(4, timeout=PATIENCE_SECONDS)
        consumer.commit(message=messages[3], asynchronous=False)
        (row,) = rows(kafka, "groups", "describe", group)
        assert (row["state"], row["committed"], row["lag"]) == ("Stable", 4, 6)
        reset = ("groups", "reset-offsets", group, "--to-earliest", "--yes")
        assert "stop them first" in barnabas(kafka, *reset, code=1).stderr
    finally:
        consumer.close()
    (moved,) = rows(kafka, *reset)
    assert (moved["from"], moved["to"], moved["done"]) == (4, 0, True)
    (row,) = rows(kafka, "groups", "describe", group)
    assert (row["state"], row["lag"]) == ("Empty", 10)
    assert rows(kafka, "groups", "delete", group) == [{"group": group, "deleted": True}]


@pytest.mark.parametrize("version", ["3.9.1", "4.4.0"])
def test_transactions(version: str, tmp_path: Path) -> None:
    # Plan: one transaction is open and known; another hangs, as no coordinator knows of it. The
    # second is found and ended, the first is not touched, and commits.
    unverified = {"transaction.partition.verification.enable": "false"}
    with running_kafka(version, tmp_path / "kafka", unverified) as kafka:
        rows(kafka, "topics", "create", "moved")
        settings = {"bootstrap.servers": kafka.address, "transactional.id": "mover"}
        producer = Producer(settings)
        producer.init_transactions(PATIENCE_SECONDS)
        producer.begin_transaction()
        producer.produce("moved", b"kept")
        producer.flush(PATIENCE_SECONDS)
        hang(kafka, "moved", producer_id=5000)
        (listed,) = rows(kafka, "transactions", "list", "--state", "Ongoing", "--pattern", "mov.*")
        (row,) = rows(kafka, "transactions", "describe", "mover")
        assert (row["state"], row["topic"], row["partition"]) == ("Ongoing", "moved", 0)
        assert listed["producer_id"] == row["producer_id"]
        assert (
            rows(kafka, "transactions", "list", "--longer-than", "1h", "--state", "Ongoing") == []
        )
        (found,) = rows(kafka, "transactions", "find-hanging")
        assert (found["topic"], found["producer_id"], found["start_offset"]) == ("moved", 5000, 1)
        abort = ("transactions", "abort", "moved", "--partition", "0", "--start-offset", "1")
        assert [row["aborted"] for row in rows(kafka, *abort)] == [True]
        assert rows(kafka, "transactions", "find-hanging") == []
        producer.commit_transaction(PATIENCE_SECONDS)
        assert barnabas(kafka, "consume", "moved", "--committed").stdout == "kept\n"


def hang(kafka: ApacheKafka, topic: str, producer_id: int) -> None:
    """Write a record in a transaction of an hour ago that no coordinator knows of."""
    record = Record(0, int(time.time() * 1000) - HOUR_MS, None, b"lost")
    batch = build_batch([record], producer_id=producer_id, producer_epoch=0, base_sequence=0,
                        is_transactional=True)  # fmt: skip
    writer = RawProducer(kafka.address)
    writer.append(topic, 1, bytes(batch), transactional_id="nobody")
    writer.close()
