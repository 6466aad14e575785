"""`barnabas-log` over directories of Apache Kafka: one that runs, one stopped, and golden ones."""

from __future__ import annotations

from functools import reduce
from pathlib import Path

from broker_admin import BrokerAdmin
from kafka_server import running_kafka
from log_topics import CODECS, Row, filled, kafka_frame, log_frame, rows_of
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from barnabas.pipeline.log_source.source import register
from tests.storage.golden import manifest, unpack
from tests.storage.golden_batches import golden_bytes

GOLDEN = (
    ("3.9.1", "codecs"),
    ("3.9.1", "legacy-formats"),
    ("4.3.1", "plain"),
    ("4.3.1", "transactions"),
    ("4.3.1", "idempotent"),
)
COMMITTED = {"kafka__isolation__level": "read_committed"}
LEVELS: tuple[dict[str, str], ...] = ({}, COMMITTED)


def test_a_running_and_a_stopped_kafka(spark: SparkSession, tmp_path: Path) -> None:
    register(spark)
    with running_kafka("4.4.0", tmp_path / "kafka", {"log.segment.bytes": "1048576"}) as kafka:
        with filled(kafka.address, BrokerAdmin(kafka.address), segments={}) as topics:
            options = {"subscribe": ",".join(topics.values())}
            served = [rows_of(kafka_frame(spark, kafka.address, **options, **on)) for on in LEVELS]
            path = str(kafka.data)
            assert [rows_of(log_frame(spark, path, **options, **on)) for on in LEVELS] == served
            assert len(served[0]) == 400 * len(CODECS) + 50 + 12 * 30 + 22
            assert len(served[1]) == len(served[0]) - 5 * 30
        served[1] = rows_of(kafka_frame(spark, kafka.address, **options, **COMMITTED))
        kafka.stop()
        assert [rows_of(log_frame(spark, path, **options, **on)) for on in LEVELS] == served


def test_golden_directories(spark: SparkSession, tmp_path: Path) -> None:
    """What clients have sent to Kafka 3.9 and 4.3, all formats and codecs, through Spark."""
    register(spark)
    frames = [
        log_frame(spark, str(unpack(*case, tmp_path))).withColumn("topic", renamed(case))
        for case in GOLDEN
    ]
    found = rows_of(reduce(DataFrame.unionAll, frames))
    wanted = sorted((row for case in GOLDEN for row in sent_in(case)), key=lambda row: row[:3])
    assert [(*row[:5], row[7]) for row in found] == wanted


def renamed(case: tuple[str, str]) -> f.Column:
    return f.concat_ws("/", *map(f.lit, case), f.col("topic"))


def sent_in(case: tuple[str, str]) -> list[Row]:
    """Of each record what its client said of it: all but the time."""
    rows = []
    for row in manifest(*case)["sent"]:
        if row["offset"] is None:  # it was not acknowledged
            continue
        key, value = golden_bytes(row["key"]), golden_bytes(row["value"])
        pairs = [
            ((golden_bytes(name) or b"").decode(), golden_bytes(each))
            for name, each in row.get("headers") or []
        ]
        topic = "/".join((*case, row["topic"]))
        rows.append((topic, row["partition"], row["offset"], key, value, pairs or None))
    return rows
