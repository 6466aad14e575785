"""`barnabas pipeline generate`: the stream that a seed makes, in a topic and in a folder."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from broker_admin import BrokerAdmin
from click.testing import CliRunner, Result
from confluent_kafka import Consumer, Producer, TopicPartition
from own_broker import OwnBroker

from barnabas.pipeline.cli import pipeline
from barnabas.pipeline.generate.events import events_of
from barnabas.pipeline.generate.job import create_topic, generate, is_expired_at_once
from barnabas.pipeline.generate.partitions import partitions_of
from barnabas.pipeline.generate.plan import HOUR_MS, Plan
from barnabas.pipeline.generate.texts import Text, texts
from barnabas.pipeline.generate.write import SUMMARY, Target, Writing, log_ends, share
from barnabas.pipeline.spark.failures import PipelineError
from barnabas.pipeline.spark.kafka import KafkaCluster, read_batch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLAN = Plan(3_000, seed=5, users=500, span_ms=3 * HOUR_MS)
PARTITIONS = 3
FOR_EVER = {"retention.ms": "-1"}


def expected() -> list[list[Text]]:
    """By partition, the records of the plan, made here without Spark."""
    found: dict[int, list[Text]] = defaultdict(list)
    for block in PLAN.blocks:
        events = events_of(PLAN, block)
        partitions = partitions_of(events.visitor, PARTITIONS).tolist()
        for partition, text in zip(partitions, texts(events), strict=True):
            found[partition].append(text)
    return [found[partition] for partition in range(PARTITIONS)]


def records_of(spark: SparkSession, cluster: KafkaCluster, topic: str) -> list[list[Text]]:
    """By partition, what Spark's own source finds."""
    frame = read_batch(spark, cluster, topics=[topic])
    rows = frame.selectExpr(
        "partition", "offset", "unix_millis(timestamp)", "timestampType", "key", "value"
    ).collect()
    found: list[list[Text]] = [[] for _ in range(PARTITIONS)]
    for partition, offset, time_ms, timestamp_type, key, value in sorted(rows):
        assert (offset, timestamp_type) == (len(found[partition]), 0)
        found[partition].append(Text(time_ms, bytes(key), bytes(value)))
    return found


def run(cluster: KafkaCluster, *arguments: str) -> Result:
    """`barnabas pipeline generate`, in the session that is there."""
    bootstrap = ("--bootstrap", cluster.bootstrap_servers)
    return CliRunner().invoke(pipeline, ["generate", *bootstrap, *arguments])


def options_of(plan: Plan) -> Sequence[str]:
    numbers = {"--events": plan.events, "--seed": plan.seed, "--users": plan.users}
    options = [part for name, value in numbers.items() for part in (name, str(value))]
    return [*options, "--span", f"{plan.span_ms // HOUR_MS}h"]


@pytest.mark.parametrize("tasks", [1, 3])
def test_the_topic_has_the_stream_of_the_seed_however_many_tasks_write_it(
    spark: SparkSession, cluster: KafkaCluster, broker_admin: BrokerAdmin, tasks: int
) -> None:
    topic = broker_admin.create_topic("generate-tasks", PARTITIONS, FOR_EVER)
    done = generate(spark, cluster, topic, PLAN, tasks=tasks)
    assert records_of(spark, cluster, topic) == expected()
    assert [(p.start_offset, p.end_offset) for p in done.partitions] == [
        (0, len(part)) for part in expected()
    ]


def test_a_repeated_task_adds_what_its_first_attempt_had_not_written(
    spark: SparkSession, cluster: KafkaCluster, broker_admin: BrokerAdmin
) -> None:
    topic = broker_admin.create_topic("generate-repeated", PARTITIONS, FOR_EVER)
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    for partition, part in enumerate(expected()):
        for text in part[: 100 * partition]:
            producer.produce(
                topic, text.value, text.key, partition=partition, timestamp=text.timestamp_ms
            )
    assert producer.flush(30) == 0
    settings = {"bootstrap.servers": cluster.bootstrap_servers}
    target = Target(topic, (0,) * PARTITIONS, settings)
    rows = spark.range(0, 2, 1, 2).mapInArrow(share(PLAN, target, 2), SUMMARY).collect()
    assert sorted(row["skipped"] for row in rows) == [0, 100, 200]
    assert records_of(spark, cluster, topic) == expected()


def test_a_broker_that_is_killed_while_a_task_writes_has_every_record_once(tmp_path: Path) -> None:
    broker = OwnBroker(tmp_path)
    plan = replace(PLAN, events=60_000)
    try:
        create_topic(KafkaCluster(broker.address), "visits", 1)
        settings = {"bootstrap.servers": broker.address, "log_level": 0}
        with ThreadPoolExecutor() as pool:
            writing = pool.submit(Writing(plan, Target("visits", (0,), settings), [0]).run)
            wait_until(lambda: log_ends(settings, "visits", [0])[0] > 0)
            broker.kill()
            broker.start()
            assert writing.result(120) == [(0, plan.events, 0, 0, plan.events)]
        found = values_of(broker.address, "visits", plan.events)
    finally:
        broker.close()
    assert found == [t.value for block in plan.blocks for t in texts(events_of(plan, block))]


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def values_of(bootstrap: str, topic: str, count: int) -> list[bytes]:
    """The values of a topic's only partition."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "generate"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[bytes] = []
    while len(found) < count:
        messages = consumer.consume(10_000, timeout=30)
        assert messages
        found += [message.value() for message in messages]
    consumer.close()
    return found


def test_the_command_makes_a_topic_and_writes_at_a_rate(
    spark: SparkSession, cluster: KafkaCluster
) -> None:
    topic = "generate-command"
    create = ("--create", "--partitions", str(PARTITIONS), "--rate", "5000/s", "--json")
    done = run(cluster, topic, *create, *options_of(PLAN))
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["events"] for row in rows] == [len(part) for part in expected()]
    assert "3,000 events in" in done.stderr
    assert records_of(spark, cluster, topic) == expected()
    assert not is_expired_at_once(spark, cluster, topic, PLAN)


@pytest.mark.parametrize("form", ["parquet", "json"])
def test_a_folder_has_the_same_stream(
    spark: SparkSession, cluster: KafkaCluster, tmp_path: Path, form: str
) -> None:
    folder = tmp_path / form
    done = run(cluster, "--to-folder", str(folder), "--format", form, *options_of(PLAN))
    assert done.exit_code == 0, done.output
    frame = getattr(spark.read, form)(str(folder))
    if form == "parquet":
        frame = frame.withColumn("event_time", frame.event_time.cast("string"))
    found = {row["event_id"]: row.asDict() for row in frame.collect()}
    wanted = [json.loads(text.value) for part in expected() for text in part]
    assert frame.count() == len(wanted)
    for value in wanted:
        row = found[value["event_id"]]
        time = row["event_time"].replace(" ", "T").removesuffix("Z").rstrip("0").rstrip(".")
        assert time == value["event_time"].removesuffix("Z").rstrip("0").rstrip(".")
        del value["event_time"]
        assert value.items() <= row.items()
    again = run(cluster, "--to-folder", str(folder), "--format", form)
    assert again.exit_code == 1 and "is there already" in again.output


def test_what_cannot_be_is_one_sentence(spark: SparkSession, cluster: KafkaCluster) -> None:
    with pytest.raises(PipelineError, match="generate-nowhere"):
        generate(spark, cluster, "generate-nowhere", PLAN)
    for arguments, sentence in {
        (): "writes to a TOPIC or --to-folder",
        ("t", "--to-folder", "f"): "one of the two",
        ("t", "--duration", "5m"): "--duration goes with --rate",
        ("t", "--rate", "fast"): "is no rate",
        ("t", "--span", "0s"): "is no duration",
        ("t", "--start", "soon"): "is no time",
        ("t", "--start", "@0"): "1970-01-02 at the earliest",
    }.items():
        done = run(cluster, *arguments)
        assert done.exit_code == 2 and sentence in done.output, arguments
    done = CliRunner().invoke(pipeline, ["generate", "t", "--bootstrap", "127.0.0.1:1"])
    assert done.exit_code == 1 and "127.0.0.1:1" in done.output


def test_a_topic_whose_retention_ends_before_the_stream_is_told_of(
    spark: SparkSession, cluster: KafkaCluster, broker_admin: BrokerAdmin
) -> None:
    topic = broker_admin.create_topic("generate-expired", 1, {"retention.ms": "1000"})
    done = run(cluster, topic, "--events", "10", "--start", "2020-01-01")
    assert "retention" in done.stderr and "2020-01-01" in done.stderr
