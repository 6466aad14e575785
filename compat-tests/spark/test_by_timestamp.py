"""Where Spark's Kafka source begins and ends by timestamp."""

from __future__ import annotations

from pathlib import Path

import pytest
from spark_link import Spark, SparkFailure
from spark_topics import START_MS, STEP_MS, Record, Topics

NEVER_MS = START_MS * 2


def stamp(number: int) -> int:
    """When the n-th record was made."""
    return START_MS + number * STEP_MS


def test_each_partition_begins_and_ends_by_its_own_records(spark: Spark, topics: Topics) -> None:
    topic, rows = topics.filled("timed", 10, partitions=2)
    by_time = {"startingTimestamp": stamp(4) - 1, "endingTimestamp": stamp(7)}
    assert spark.read(topic, **by_time).rows == rows[4:7] + rows[14:17]


def test_partitions_may_have_timestamps_of_their_own(spark: Spark, topics: Topics) -> None:
    topic, rows = topics.filled("timed-apart", 10, partitions=2)
    found = spark.read(
        topic,
        startingOffsetsByTimestamp={topic: {"0": stamp(2), "1": stamp(8)}},
        endingOffsetsByTimestamp={topic: {"0": stamp(5), "1": NEVER_MS}},
    )
    assert found.rows == rows[2:5] + rows[18:20]


def test_of_stamps_in_no_order_the_first_that_is_late_enough_counts(
    spark: Spark, topics: Topics
) -> None:
    topic = topics.make("unordered")
    records = [Record(b"at %d" % at, timestamp_ms=stamp(at)) for at in (1, 5, 3, 9, 7, 2)]
    rows = topics.send(topic, records, batch_num_messages=2)
    assert spark.read(topic, startingTimestamp=stamp(3)).rows == rows[1:]
    assert spark.read(topic, startingTimestamp=stamp(6)).rows == rows[3:]
    assert spark.read(topic, endingTimestamp=stamp(9)).rows == rows[:3]


def test_a_start_that_nobody_has_come_to_is_an_error(spark: Spark, topics: Topics) -> None:
    topic, _ = topics.filled("too-early", 3)
    with pytest.raises(SparkFailure) as failure:
        spark.read(topic, startingTimestamp=NEVER_MS)
    assert f"No offset matched from request of topic-partition {topic}-0" in failure.value.text


def test_or_the_end_where_one_says_so(spark: Spark, topics: Topics) -> None:
    topic, rows = topics.filled("too-early", 3, partitions=2)
    latest = {"startingOffsetsByTimestampStrategy": "latest"}
    assert spark.read(topic, startingTimestamp=NEVER_MS, **latest).rows == []
    apart = {topic: {"0": stamp(1), "1": NEVER_MS}}
    assert spark.read(topic, startingOffsetsByTimestamp=apart, **latest).rows == rows[1:3]


def test_an_end_that_nobody_has_come_to_is_the_end(spark: Spark, topics: Topics) -> None:
    topic, rows = topics.filled("not-yet", 3)
    assert spark.read(topic, endingTimestamp=NEVER_MS).rows == rows


def test_a_stream_begins_by_timestamp_once(spark: Spark, topics: Topics, checkpoint: Path) -> None:
    """Its checkpoint says where it goes on, whatever the option says then."""
    topic, rows = topics.filled("streamed", 10)
    assert spark.run(checkpoint, topic, startingTimestamp=stamp(6)).rows == rows[6:]
    more = topics.send(topic, [Record(b"more", timestamp_ms=stamp(0))])
    assert spark.run(checkpoint, topic, startingTimestamp=stamp(2)).rows == more
