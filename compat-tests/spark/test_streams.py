"""Streaming queries of Spark's Kafka source: what each micro-batch has, and where it goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from broker_admin import unique_name
from spark_brokers import AGAINST
from spark_link import Spark
from spark_topics import Topics, numbered

FAR_AWAY = "1h"


def test_new_topics_of_a_pattern_are_read_from_their_start(
    spark: Spark, topics: Topics, checkpoint: Path
) -> None:
    """Also where the first ones are read from their end."""
    word = unique_name("pattern")
    first, _ = topics.filled(f"{word}-a", 3)
    latest = {"subscribePattern": f"^{word}-", "startingOffsets": "latest"}
    with spark.stream(checkpoint, **latest) as running:
        running.settle()
        rows = topics.send(first, numbered(2, 3))
        assert running.wait(rows=2).rows == rows
        _, new = topics.filled(f"{word}-b", 3, partitions=2)
        assert running.wait(rows=8).rows == rows + new
        topics.filled(f"other-{word}", 3)
        rows += topics.send(first, numbered(1, 5))
        assert running.wait(rows=9).rows == rows + new


def test_new_partitions_are_read_from_their_start(
    spark: Spark, topics: Topics, checkpoint: Path
) -> None:
    topic, rows = topics.filled("grows", 3)
    with spark.stream(checkpoint, topic) as running:
        assert running.wait(rows=3).rows == rows
        topics.admin.add_partitions(topic, 3)
        rows += topics.send(topic, numbered(2, partition=1) + numbered(2, partition=2))
        assert running.wait(rows=7).rows == rows


def test_new_partitions_while_no_query_runs(spark: Spark, topics: Topics, checkpoint: Path) -> None:
    topic, rows = topics.filled("grows", 3)
    assert spark.run(checkpoint, topic).rows == rows
    topics.admin.add_partitions(topic, 2)
    new = topics.send(topic, numbered(2, 3)) + topics.send(topic, numbered(2, partition=1))
    assert spark.run(checkpoint, topic).rows == new


def test_max_offsets_per_trigger_makes_many_batches_of_what_there_is(
    spark: Spark, topics: Topics, checkpoint: Path
) -> None:
    topic, rows = topics.filled("many-batches", 25, partitions=2)
    found = spark.run(checkpoint, topic, maxOffsetsPerTrigger=20)
    assert (found.rows, found.sizes) == (rows, [20, 20, 10])


def test_min_offsets_per_trigger_holds_few_records_back(
    spark: Spark, topics: Topics, checkpoint: Path
) -> None:
    topic, rows = topics.filled("held-back", 3)
    held = {"minOffsetsPerTrigger": 20, "maxTriggerDelay": FAR_AWAY}
    with spark.stream(checkpoint, topic, **held) as running:
        assert running.wait(rows=3).sizes == [3]  # the first batch is not held back
        for start in range(3, 23, 5):
            rows += topics.send(topic, numbered(5, start))
        found = running.wait(rows=23)
    assert (found.rows, found.sizes) == (rows, [3, 20])


def test_but_not_longer_than_max_trigger_delay(
    spark: Spark, topics: Topics, checkpoint: Path
) -> None:
    topic, rows = topics.filled("let-go", 3)
    held = {"minOffsetsPerTrigger": 1_000_000, "maxTriggerDelay": "500ms"}
    with spark.stream(checkpoint, topic, **held) as running:
        running.wait(rows=3)
        rows += topics.send(topic, numbered(5, 3))
        assert running.wait(rows=8).rows == rows


def test_once_takes_all_in_one_batch(spark: Spark, topics: Topics, checkpoint: Path) -> None:
    topic, rows = topics.filled("once", 25)
    found = spark.run(checkpoint, topic, once=True, maxOffsetsPerTrigger=10)
    assert (found.rows, found.sizes) == (rows, [25])
    assert spark.run(checkpoint, topic, once=True).sizes == []


def test_from_its_checkpoint_a_stream_goes_on(
    spark: Spark, topics: Topics, checkpoint: Path
) -> None:
    topic, rows = topics.filled("goes-on", 5, partitions=2)
    assert spark.run(checkpoint, topic).rows == rows
    assert spark.run(checkpoint, topic).rows == []
    more = topics.send(topic, numbered(4, 5, partition=1))
    with spark.stream(checkpoint, topic) as running:
        assert running.wait(rows=4).rows == more
        yet_more = topics.send(topic, numbered(2, 9, partition=1))
        assert running.wait(rows=6).rows == more + yet_more


def test_from_latest_only_what_is_new(spark: Spark, topics: Topics, checkpoint: Path) -> None:
    topic, _ = topics.filled("from-latest", 5)
    with spark.stream(checkpoint, topic, startingOffsets="latest") as running:
        running.settle()
        rows = topics.send(topic, numbered(3, 5))
        assert running.wait(rows=3).rows == rows


def test_from_explicit_offsets(spark: Spark, topics: Topics, checkpoint: Path) -> None:
    topic, rows = topics.filled("from-offsets", 5, partitions=3)
    start = {topic: {"0": 2, "1": -1, "2": -2}}
    assert spark.run(checkpoint, topic, startingOffsets=start).rows == rows[2:5] + rows[10:]


def test_tasks_by_records_and_by_number(spark: Spark, topics: Topics, tmp_path: Path) -> None:
    topic, rows = topics.filled("tasks", 30, partitions=2)
    for option, count in (("maxRecordsPerPartition", 10), ("minPartitions", 6)):
        found = spark.run(tmp_path / option, topic, **{option: count})
        assert found.rows == rows
        assert [batch.tasks for batch in found.batches] == [[10] * 6]


def test_progress_says_what_was_read_and_how_far_behind_it_is(
    spark: Spark, topics: Topics, checkpoint: Path
) -> None:
    topic, _ = topics.filled("progress", 10, partitions=2)
    found = spark.run(checkpoint, topic, once=False, maxOffsetsPerTrigger=8)
    behind = [each["metrics"] for each in found.progress]
    ends = [json.loads(each["endOffset"])[topic] for each in found.progress]
    assert [each["numInputRows"] for each in found.progress] == [8, 8, 4]
    assert ends == [{"0": 4, "1": 4}, {"0": 8, "1": 8}, {"0": 10, "1": 10}]
    assert [each["maxOffsetsBehindLatest"] for each in behind] == ["6", "2", "0"]
    assert [each["avgOffsetsBehindLatest"] for each in behind] == ["6.0", "2.0", "0.0"]


def test_two_streams_and_a_batch_beside_one_another(
    spark: Spark, topics: Topics, tmp_path: Path
) -> None:
    topic, rows = topics.filled("shared", 10, partitions=2)
    with (
        spark.stream(tmp_path / "a", topic) as first,
        spark.stream(tmp_path / "b", topic, maxOffsetsPerTrigger=4) as second,
    ):
        rows += topics.send(topic, numbered(5, 10, partition=1))
        assert spark.read(topic).rows == rows
        assert first.wait(rows=25).rows == rows
        assert second.wait(rows=25).rows == rows


@pytest.mark.skipif(bool(AGAINST), reason="Apache Kafka answers in order")
def test_nobody_waits_behind_a_fetch_that_the_broker_has_parked(
    spark: Spark, topics: Topics, checkpoint: Path
) -> None:
    """A task looks up offsets on the connection on which it has a fetch for what is not there yet.

    That fetch would wait for longer than the test.
    """
    topic = topics.make("parked")
    rows = topics.send(topic, numbered(1))
    longer = {"kafka.fetch.max.wait.ms": 300_000}
    longer |= {"kafka.request.timeout.ms": 400_000, "kafka.default.api.timeout.ms": 400_000}
    with spark.stream(checkpoint, topic, **longer) as running:
        for number in range(1, 6):
            assert running.wait(rows=number).rows == rows
            rows += topics.send(topic, numbered(1, number))
        assert running.wait(rows=6).rows == rows
