"""`barnabas pipeline aggregate`, held against plain Python over the same records."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from aggregation_oracle import Expected, batches_of, expected
from broker_admin import BrokerAdmin
from click.testing import CliRunner, Result
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from barnabas.pipeline.aggregate import job
from barnabas.pipeline.aggregate.counts import Rules, results
from barnabas.pipeline.aggregate.job import Aggregation, aggregate
from barnabas.pipeline.cli import pipeline
from barnabas.pipeline.generate.job import generate
from barnabas.pipeline.generate.plan import HOUR_MS, Plan
from barnabas.pipeline.spark.failures import PipelineError
from barnabas.pipeline.spark.kafka import KafkaCluster, read_batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from barnabas.pipeline.aggregate.tally import Tally
    from barnabas.pipeline.spark.files import Files

PLAN = Plan(6_000, seed=11, users=800, span_ms=12 * HOUR_MS)
PARTITIONS = 3
MILLISECONDS = ("unix_millis(start)", "unix_millis(end)")


@pytest.fixture(scope="module")
def topic(spark: SparkSession, broker_address: str, broker_admin: BrokerAdmin) -> str:
    """A generated stream; in the midst of it three that are no events, and one of a wrong clock."""
    cluster = KafkaCluster(broker_address)
    name = broker_admin.create_topic("aggregate", PARTITIONS, {"retention.ms": "-1"})
    generate(spark, cluster, name, replace(PLAN, events=2_000))
    producer = Producer({"bootstrap.servers": broker_address})
    ahead = (
        b'{"event_id": "2", "event_time": "2100-01-01T00:00:00Z", "user_id": "u", "kind": "search"}'
    )
    for value in (b"no event", b'{"event_id": "1", "kind": "search"}', None, ahead):
        producer.produce(name, value, b"key", partition=1)
    assert producer.flush(30) == 0
    later = replace(PLAN, start_ms=PLAN.start_ms + 6 * HOUR_MS, seed=12)
    generate(spark, cluster, name, later)
    return name


@pytest.fixture
def aggregation(topic: str, tmp_path: Path) -> Aggregation:
    """Of the topic to a folder, in batches small enough that the watermark moves between them."""
    return Aggregation(
        topic,
        str(tmp_path / "checkpoint"),
        folder=str(tmp_path / "results"),
        most_records=1_500,
        once=True,
    )


def expected_of(spark: SparkSession, cluster: KafkaCluster, aggregation: Aggregation) -> Expected:
    frame = read_batch(spark, cluster, topics=[aggregation.topic])
    values: list[list[bytes]] = [[] for _ in range(PARTITIONS)]
    for partition, _, value in sorted(
        frame.selectExpr("partition", "offset", "coalesce(value, '') AS value").collect()
    ):
        values[partition].append(bytes(value))
    batches, watermark_ms = batches_of(Path(aggregation.checkpoint) / "query", aggregation.topic)
    assert len(batches) > 3
    return expected(values, batches, watermark_ms)


def windows_of(frame: DataFrame) -> Counter[tuple[int, str, bool]]:
    """The windows of a folder; one that is there twice fails."""
    rows = frame.selectExpr(*MILLISECONDS, "kind", "is_bot", "events").collect()
    assert all(end - start == 300_000 for start, end, *_ in rows)
    found = Counter({(start, kind, is_bot): n for start, _, kind, is_bot, n in rows})
    assert len(found) == len(rows)
    return found


def sessions_of(frame: DataFrame) -> set[tuple[Any, ...]]:
    """The sessions of a folder; one that is there twice fails."""
    columns = ("user_id", "is_bot", "page_views", "searches", "sign_ins")
    rows = [tuple(row) for row in frame.selectExpr(*MILLISECONDS, *columns).collect()]
    assert len(set(rows)) == len(rows)
    return set(rows)


def assert_as_expected(spark: SparkSession, wanted: Expected, folder: str | None) -> None:
    assert windows_of(spark.read.parquet(f"{folder}/windows")) == wanted.windows
    assert sessions_of(spark.read.parquet(f"{folder}/sessions")) == wanted.sessions


def test_windows_sessions_and_what_was_late_are_those_of_plain_python(
    spark: SparkSession, cluster: KafkaCluster, aggregation: Aggregation
) -> None:
    tally = aggregate(spark, cluster, aggregation)
    wanted = expected_of(spark, cluster, aggregation)
    assert wanted.late and wanted.duplicates and wanted.sessions and len(wanted.windows) > 100
    assert_as_expected(spark, wanted, aggregation.folder)
    assert (tally.late, tally.duplicates) == (wanted.late, wanted.duplicates)
    assert (tally.unreadable, tally.ahead, tally.untold) == (3, 1, 0)
    assert tally.records == 2_000 + 4 + PLAN.events


def test_a_batch_that_failed_between_folder_and_topic_is_there_once(
    spark: SparkSession,
    cluster: KafkaCluster,
    broker_admin: BrokerAdmin,
    aggregation: Aggregation,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target = broker_admin.create_topic("aggregated", 2)
    both = replace(aggregation, to_topic=target)
    original = job.to_topic
    fails_at = [2, 3]

    def failing_to_topic(cluster: KafkaCluster, topic: str) -> Any:
        write = original(cluster, topic)

        def failing(results: DataFrame, batch: int) -> None:
            write(results, batch)
            if batch in fails_at:
                fails_at.remove(batch)
                raise OSError("the driver is gone")

        return failing

    monkeypatch.setattr(job, "to_topic", failing_to_topic)
    for _ in range(2):
        with pytest.raises(Exception, match="the driver is gone"):
            aggregate(spark, cluster, both)
    aggregate(spark, cluster, both)
    wanted = expected_of(spark, cluster, both)
    assert_as_expected(spark, wanted, both.folder)
    assert_topic_has(spark, cluster, target, wanted)


def assert_topic_has(
    spark: SparkSession, cluster: KafkaCluster, target: str, wanted: Expected
) -> None:
    """Every result under its key, repeated at most with the same value."""
    by_key: dict[str, str] = {}
    frame = read_batch(spark, cluster, topics=[target])
    for key, value in frame.selectExpr("string(key)", "string(value)").collect():
        assert by_key.setdefault(key, value) == value
        assert json.loads(key).items() <= json.loads(value).items()
    values = [json.loads(value) for value in by_key.values()]
    windows = {(v["kind"], v["is_bot"], v["start"]): v for v in values if v["what"] == "window"}
    assert len(windows) == len(wanted.windows)
    assert sum(v["events"] for v in windows.values()) == wanted.windows.total()
    assert len(values) - len(windows) == len(wanted.sessions)


def run(cluster: KafkaCluster, *arguments: str) -> Result:
    """`barnabas pipeline aggregate`, in the session that is there."""
    bootstrap = ("--bootstrap", cluster.bootstrap_servers)
    return CliRunner().invoke(pipeline, ["aggregate", *bootstrap, *arguments])


def test_the_command_goes_on_where_its_checkpoint_ends_and_tells_what_was_late(
    spark: SparkSession, cluster: KafkaCluster, aggregation: Aggregation
) -> None:
    where = ("--checkpoint", aggregation.checkpoint, "--to-folder", str(aggregation.folder))
    asked = (aggregation.topic, *where, "--once", "--json", "--most-records", "1500")
    first, second = run(cluster, *asked), run(cluster, *asked)
    assert (first.exit_code, second.exit_code) == (0, 0), first.output + second.output
    wanted = expected_of(spark, cluster, aggregation)
    told = json.loads(first.stdout)
    assert (told["late"], told["records"]) == (wanted.late, 2_004 + PLAN.events)
    assert json.loads(second.stdout) == told
    assert_as_expected(spark, wanted, aggregation.folder)
    other = run(cluster, *asked, "--window", "1 hour")
    assert other.exit_code == 1
    assert "is of the window 5 minutes, not of 1 hour" in other.output


def test_a_gap_longer_than_the_session_gap_begins_another_session(spark: SparkSession) -> None:
    seconds = (0, 1799, 3598, 5398, 7199)
    rows = [
        (f"{n}", datetime.fromtimestamp(at, UTC), "u", "search") for n, at in enumerate(seconds)
    ]
    events = spark.createDataFrame(
        [(*row, False) for row in [*rows, rows[0]]],
        "event_id string, event_time timestamp, user_id string, kind string, is_bot boolean",
    )
    found = results(events, Rules()).where("what = 'session'")
    spans = found.selectExpr("unix_seconds(start)", "unix_seconds(end)", "searches").collect()
    assert sorted(tuple(span) for span in spans) == [
        (0, 7198, 4),
        (7199, 8999, 1),
    ]


def event(number: int) -> bytes:
    """An event of its own, of a time at which nothing is late."""
    told = {"event_id": f"{number}", "event_time": f"2026-03-02T00:00:{number:02d}Z"}
    return json.dumps(told | {"user_id": "u", "kind": "search"}).encode()


def test_only_committed_events_count(
    spark: SparkSession, cluster: KafkaCluster, broker_admin: BrokerAdmin, tmp_path: Path
) -> None:
    """Flow: a transaction is committed, one aborted, one still open when the topic is counted."""
    name = broker_admin.create_topic("aggregate-committed")
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": name}
    producer = Producer(settings)
    producer.init_transactions(30)
    ends = (producer.commit_transaction, producer.abort_transaction, None)
    for transaction, end in enumerate(ends):
        producer.begin_transaction()
        for number in range(3):
            producer.produce(name, event(10 * transaction + number), partition=0)
        assert producer.flush(30) == 0
        if end is not None:
            end(30)
    checkpoint, folder = str(tmp_path / "checkpoint"), str(tmp_path / "results")
    tally = aggregate(spark, cluster, Aggregation(name, checkpoint, folder=folder, once=True))
    producer.abort_transaction(30)
    assert (tally.records, tally.counted) == (3, 3)


def test_records_deleted_before_they_were_counted_are_said_and_may_be_passed_over(
    spark: SparkSession, cluster: KafkaCluster, broker_admin: BrokerAdmin, tmp_path: Path
) -> None:
    """Flow: five are counted, five more come, three of which are deleted at once."""
    name = broker_admin.create_topic("aggregate-lost")
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})

    def send(numbers: range) -> None:
        for number in numbers:
            producer.produce(name, event(number), partition=0)
        assert producer.flush(30) == 0

    checkpoint, folder = str(tmp_path / "checkpoint"), str(tmp_path / "results")
    wanted = Aggregation(name, checkpoint, folder=folder, once=True)
    send(range(5))
    assert aggregate(spark, cluster, wanted).counted == 5
    send(range(5, 10))
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    (deleted,) = admin.delete_records([TopicPartition(name, 0, 8)]).values()
    deleted.result(30)
    with pytest.raises(PipelineError, match=r"deleted before .*; --accept-loss goes on"):
        aggregate(spark, cluster, wanted)
    assert aggregate(spark, cluster, replace(wanted, accept_loss=True)).counted == 7


@pytest.mark.parametrize("accept_loss", [True, False])
def test_the_query_begins_again_where_the_connector_gives_a_consumer_to_two_tasks(
    spark: SparkSession, cluster: KafkaCluster, topic: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, accept_loss: bool,
) -> None:  # fmt: skip
    """As it does now and then where it passes over records that were deleted."""
    failures = [f"java.util.ConcurrentModificationException: {job.TWO_READERS}"]
    followed = job._followed

    def fails_once(query: Any, checkpoint: Files) -> Tally:
        if failures:
            query.stop()
            raise RuntimeError(failures.pop())
        return followed(query, checkpoint)

    monkeypatch.setattr(job, "_followed", fails_once)
    places = str(tmp_path / "checkpoint"), str(tmp_path / "results")
    wanted = Aggregation(topic, places[0], folder=places[1], once=True, accept_loss=accept_loss)
    if accept_loss:
        assert aggregate(spark, cluster, wanted).counted > 0
    else:
        with pytest.raises(RuntimeError, match="not safe"):
            aggregate(spark, cluster, wanted)


def test_what_cannot_be_is_one_sentence(
    spark: SparkSession, cluster: KafkaCluster, topic: str, tmp_path: Path
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    checkpoint = str(tmp_path / "checkpoint")
    aggregation = Aggregation(topic, checkpoint, folder=str(tmp_path / "full"), once=True)
    with pytest.raises(PipelineError, match="is not empty"):
        aggregate(spark, cluster, aggregation)
    with pytest.raises(PipelineError, match="no-such-topic"):
        aggregate(spark, cluster, replace(aggregation, topic="no-such-topic"))
    for arguments, sentence in {
        (topic, "--checkpoint", checkpoint): "--to-topic, --to-folder or both",
        (topic, "--checkpoint", checkpoint, "--to-topic", topic): "is what is read",
        (topic, "--checkpoint", checkpoint, "--to-folder", "f", "--window", "long"): "duration",
    }.items():
        done = run(cluster, *arguments)
        assert done.exit_code == 2 and sentence in done.output, done.output
