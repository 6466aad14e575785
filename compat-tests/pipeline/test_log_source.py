"""`barnabas-log` beside Spark's own Kafka source: the same rows, from files and from the broker."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from broker_admin import BrokerAdmin
from broker_fixture import running_barnabas
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from log_topics import (
    CODECS,
    KEPT,
    PARTITIONS,
    PATIENCE_S,
    SMALL_SEGMENTS,
    T0_MS,
    a_producer,
    filled,
    kafka_frame,
    log_frame,
    rows_of,
    send,
)
from pyspark.sql import DataFrame, SparkSession

from barnabas.pipeline.log_source.source import register
from barnabas.pipeline.spark.failures import sentence_of
from barnabas.storage.directory import checkpoints
from barnabas.storage.disk.fs import REAL

SETTINGS = (
    "log.flush.start.offset.checkpoint.interval.ms=50",
    "log.flush.offset.checkpoint.interval.ms=50",
)
COMMITTED = {"kafka__isolation__level": "read_committed"}


@dataclass
class Both:
    """A broker that runs, and its directory."""

    spark: SparkSession
    bootstrap: str
    path: str
    admin: BrokerAdmin
    topics: dict[str, str]

    def frames(self, **options: str) -> tuple[DataFrame, DataFrame]:
        return (
            log_frame(self.spark, self.path, **options),
            kafka_frame(self.spark, self.bootstrap, **options),
        )

    def assert_equal(self, **options: str) -> int:
        """The number of rows that both have."""
        ours, kafkas = map(rows_of, self.frames(**options))
        assert ours == kafkas
        return len(ours)


@pytest.fixture(scope="module")
def both(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    folder = tmp_path_factory.mktemp("log-source")
    register(spark)
    with running_barnabas(folder, *SETTINGS) as address:
        admin = BrokerAdmin(address)
        with filled(address, admin) as topics:
            yield Both(spark, address, str(folder), admin, topics)


def offsets_of(topic: str, *values: int) -> str:
    return json.dumps({topic: {str(number): value for number, value in enumerate(values)}})


def test_every_codec_and_kind_of_record(both: Both) -> None:
    names = ",".join(both.topics[kind] for kind in (*CODECS, "appended", "empty"))
    assert both.assert_equal(subscribe=names) == 400 * len(CODECS) + 50
    ours, kafkas = both.frames(subscribe=names)
    assert ours.schema == kafkas.schema


def test_transactions_at_both_isolation_levels(both: Both) -> None:
    topic = both.topics["transactions"]
    every = both.assert_equal(subscribe=topic)
    committed = both.assert_equal(subscribe=topic, **COMMITTED)
    assert every == 12 * 30 + 11 * 2
    assert committed == 7 * 30 + 11 * 2, "one is open, four were aborted"


def test_ranges_of_offsets(both: Both) -> None:
    topic = both.topics["gzip"]
    options = {
        "startingOffsets": offsets_of(topic, 17, -2),
        "endingOffsets": offsets_of(topic, -1, 101),
    }
    assert both.assert_equal(subscribe=topic, **options) == 200 - 17 + 101


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_ranges_of_times(codec: str, both: Both) -> None:
    topic = both.topics[codec]
    start, end = str(T0_MS + 33_333), str(T0_MS + 298_999)
    assert both.assert_equal(subscribe=topic, startingTimestamp=start, endingTimestamp=end) == 265
    by_partition = {"startingOffsetsByTimestamp": offsets_of(topic, int(start), int(end))}
    assert both.assert_equal(assign=f'{{"{topic}":[0,1]}}', **by_partition) == 183 + 51
    late = {"startingTimestamp": "1800000000000", "startingOffsetsByTimestampStrategy": "latest"}
    assert both.assert_equal(subscribe=topic, **late) == 0


def test_filters_of_one_query_are_not_those_of_the_next(both: Both) -> None:
    """Spark 4.2.0 keeps the filters that a Python source has taken, for the same DataFrame."""
    conditions = (
        "partition = 1 AND offset BETWEEN 20 AND 40",
        f"timestamp >= timestamp_millis({T0_MS + 100_500})",
        "offset IN (3, 5) OR key = 'key-1'",
        "true",
    )
    frames = both.frames(subscribe=both.topics["snappy"])
    ours, kafkas = ([rows_of(frame.where(each)) for each in conditions] for frame in frames)
    assert ours == kafkas
    assert [len(rows) for rows in ours[::3]] == [21, 400]


def test_a_schema_of_fewer_columns_reads_no_others(both: Both) -> None:
    reader = both.spark.read.format("barnabas-log").option("subscribe", both.topics["lz4"])
    frame = reader.schema("offset long, partition int").load(both.path)
    found = sorted((row.partition, row.offset) for row in frame.collect())
    assert found == [(part, number) for part in range(PARTITIONS) for number in range(200)]


def test_segments_are_read_by_many_tasks_and_counted_once(both: Both) -> None:
    frame = log_frame(
        both.spark, both.path, subscribe=both.topics["none"], maxPartitionBytes="3000"
    )
    assert frame.rdd.getNumPartitions() > 10
    assert rows_of(frame) == rows_of(both.frames(subscribe=both.topics["none"])[1])


def test_a_writer_goes_on_while_the_directory_is_read(both: Both) -> None:
    """Every read is a whole beginning of what there is in the end, and later ones are longer."""
    topic = both.admin.create_topic("log-growing", PARTITIONS, KEPT | SMALL_SEGMENTS)
    producer = a_producer(both.bootstrap)
    first = log_frame(both.spark, both.path, subscribe=topic)
    reads = [rows_of(first)]
    for number in range(3):
        writer = threading.Thread(target=send, args=(producer, topic, number * 500, 500))
        writer.start()
        reads.append(rows_of(log_frame(both.spark, both.path, subscribe=topic)))
        writer.join()
    ours, kafkas = (rows_of(frame) for frame in both.frames(subscribe=topic))
    assert ours == kafkas
    assert len(ours) == 1500
    assert len(reads[1]) <= 500 <= len(reads[2]) <= 1000 <= len(reads[3])
    assert reads[0] == rows_of(first) == [], "a frame is the log as it was when first used"
    for found in reads:
        lengths = [sum(row[1] == part for row in found) for part in range(PARTITIONS)]
        assert found == [row for row in ours if row[2] < lengths[row[1]]]


def test_deleted_records_are_not_read(both: Both) -> None:
    topic = both.admin.create_topic("log-trimmed", PARTITIONS, KEPT | SMALL_SEGMENTS)
    send(a_producer(both.bootstrap), topic, 0, 400)
    wanted = [TopicPartition(topic, 0, 11), TopicPartition(topic, 1, 150)]
    admin = AdminClient({"bootstrap.servers": both.bootstrap})
    for done in admin.delete_records(wanted).values():
        done.result(PATIENCE_S)
    deadline = time.monotonic() + PATIENCE_S
    path = f"{both.path}/{checkpoints.LOG_START}"
    while {(topic, 0), (topic, 1)} - checkpoints.read_offsets(REAL, path).keys():
        assert time.monotonic() < deadline, "the log start is not noted"
        time.sleep(0.02)
    assert both.assert_equal(subscribe=topic) == 400 - 11 - 150
    with pytest.raises(Exception) as raised:
        rows_of(
            log_frame(
                both.spark, both.path, subscribe=topic, startingOffsets=offsets_of(topic, 5, -2)
            )
        )
    assert "offsets 5 to 10 cannot be read: the log starts at 11" in sentence_of(raised.value)


def test_what_cannot_be_read_is_said_in_one_sentence(both: Both) -> None:
    for options, sentence in (
        ({"subscribe": "nowhere"}, "there is no topic nowhere in "),
        ({"subscribe": "a", "startingOffset": "5"}, "barnabas-log has no option startingoffset"),
        ({"subscribe": both.topics["none"], "startingTimestamp": "1800000000000"}, "has no record"),
    ):
        with pytest.raises(Exception) as raised:
            rows_of(log_frame(both.spark, both.path, **options))
        assert sentence in sentence_of(raised.value)


def test_damage_found_by_a_task_is_said_in_one_sentence(both: Both, tmp_path: Path) -> None:
    source = Path(both.path) / f"{both.topics['gzip']}-0" / f"{0:020d}.log"
    data = bytearray(source.read_bytes())
    data[100] ^= 1
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / source.name).write_bytes(data)
    with pytest.raises(Exception) as raised:
        rows_of(log_frame(both.spark, str(tmp_path)))
    assert f"{source.name} is damaged at position 0: a batch's" in sentence_of(raised.value)
