"""Spark over logs of every kind and format: a data directory that our own storage has written.

Its topics are made at the broker, which is stopped; the directories take the place of its own.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from our_logs import TOPICS, Contents, write_data_directory
from spark_brokers import SparkBroker, start_broker
from spark_link import Row, Spark
from spark_topics import CREATE_TIME, LOG_APPEND_TIME, Topics

from barnabas.storage.batch.records import Record
from barnabas.storage.directory import checkpoints
from barnabas.storage.directory.partition_metadata import read_topic_id, write_topic_id
from barnabas.storage.disk.fs import REAL

NO_TIME = -1
KEPT = {"retention.ms": "-1"}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory."""
    return tmp_path_factory.mktemp("old-logs") / "logs"


@pytest.fixture(scope="module")
def contents(logs: Path) -> Contents:
    """What its partitions hold."""
    return write_data_directory(logs)


@pytest.fixture(scope="module")
def old_logs(
    logs: Path, contents: Contents, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Address of a broker that serves it."""
    broker = start_broker(tmp_path_factory.mktemp("old-broker"))
    topics = Topics(broker.address)
    for topic, (partitions, _) in TOPICS.items():
        topics.admin.create_topic_named(topic, partitions, KEPT)
    broker.stop()
    put_in_place(logs, contents, broker)
    broker.start()
    yield broker.address
    broker.close()


def put_in_place(logs: Path, contents: Contents, broker: SparkBroker) -> None:
    """These directories under the topic ids that the broker knows; and where the logs start."""
    for partition in contents:
        theirs = broker.data / str(partition)
        topic_id = read_topic_id(REAL, str(theirs))
        assert topic_id is not None
        shutil.rmtree(theirs)
        shutil.copytree(logs / str(partition), theirs)
        write_topic_id(REAL, str(theirs), topic_id)
    for name in (checkpoints.LOG_START, checkpoints.RECOVERY_POINT, checkpoints.REPLICATION):
        offsets = checkpoints.read_offsets(REAL, str(broker.data / name))
        offsets |= checkpoints.read_offsets(REAL, str(logs / name))
        checkpoints.write_offsets(REAL, str(broker.data / name), offsets)


def rows_of(topic: str, contents: Contents, *, committed: bool) -> list[Row]:
    """What Spark must read of a topic."""
    return [
        row_of(topic, partition.partition, record)
        for partition, written in sorted(contents.items())
        if partition.topic == topic
        for record in (written.committed if committed else written.records)
    ]


def row_of(topic: str, partition: int, record: Record) -> Row:
    kind = LOG_APPEND_TIME if topic == "appendtime" else CREATE_TIME
    return Row(
        topic,
        partition,
        record.offset,
        record.timestamp,
        NO_TIME if record.timestamp == NO_TIME else kind,
        record.key,
        record.value,
        tuple(record.headers),
    )


@pytest.mark.parametrize("topic", TOPICS)
def test_every_row_of(spark: Spark, old_logs: str, contents: Contents, topic: str) -> None:
    """At both isolation levels."""
    at = {"kafka.bootstrap.servers": old_logs}
    assert spark.read(topic, **at).rows == rows_of(topic, contents, committed=False)
    at["kafka.isolation.level"] = "read_committed"
    assert spark.read(topic, **at).rows == rows_of(topic, contents, committed=True)


@pytest.mark.parametrize("topic", ["formats", "transactions", "compacted"])
def test_tasks_begin_anywhere_in(
    spark: Spark, old_logs: str, contents: Contents, topic: str
) -> None:
    at = {"kafka.bootstrap.servers": old_logs}
    rows = rows_of(topic, contents, committed=False)
    found = spark.read(topic, minPartitions=20, **at)
    assert found.rows == rows
    assert len(found.tasks) > TOPICS[topic][0]
