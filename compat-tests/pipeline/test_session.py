"""The session that every job runs in, and the cluster as the jobs read it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow
import pytest
from broker_admin import BrokerAdmin
from confluent_kafka import Producer
from oracles import ROOT

from barnabas.pipeline.spark.kafka import KafkaCluster, read_batch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def filled(admin: BrokerAdmin, cluster: KafkaCluster, base: str, count: int) -> str:
    """A topic of two partitions with numbered values."""
    topic = admin.create_topic(base, 2)
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    for number in range(count):
        producer.produce(
            topic, str(number).encode(), b"key", partition=number % 2, headers=[("n", b"\x00")]
        )
    assert producer.flush(30) == 0
    return topic


def test_a_batch_has_every_record_with_its_headers(
    spark: SparkSession, cluster: KafkaCluster, broker_admin: BrokerAdmin
) -> None:
    topic = filled(broker_admin, cluster, "session-batch", 10)
    frame = read_batch(spark, cluster, topics=[topic])
    rows = frame.selectExpr("partition", "offset", "string(value)", "headers[0].value").collect()
    assert sorted(tuple(row) for row in rows) == [
        (part, offset, str(2 * offset + part), b"\x00") for part in range(2) for offset in range(5)
    ]


def test_functions_in_python_run_in_this_interpreter(spark: SparkSession) -> None:
    def interpreters(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            yield pyarrow.record_batch({"found": [sys.prefix] * batch.num_rows})

    found = spark.range(1).mapInArrow(interpreters, "found string").collect()
    assert [row[0] for row in found] == [sys.prefix]


def test_dates_are_those_of_utc(spark: SparkSession) -> None:
    row = spark.sql("SELECT string(date(timestamp_millis(86399999)))").collect()[0]
    assert row[0] == "1970-01-01"


def test_the_notebook_on_the_page(
    spark: SparkSession,
    cluster: KafkaCluster,
    broker_admin: BrokerAdmin,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = (ROOT / "docs" / "pipeline.md").read_text()
    section = page.partition("\nFrom a notebook:\n\n```python\n")[2].partition("```")[0]
    *lines, end = section.splitlines()
    assert end == "stop_session(spark)", "the session of these tests stays"
    code = "\n".join(lines)
    topic = filled(broker_admin, cluster, "session-notebook", 10)
    code = code.replace('"visits"', repr(topic)).replace(
        "127.0.0.1:9092", cluster.bootstrap_servers
    )
    exec(compile(code, "docs/pipeline.md", "exec"), {})
    assert capsys.readouterr().out.split() == ["partition", "count", "0", "5", "1", "5"]
