"""Which records a batch query of Spark's Kafka source reads, and by how many tasks."""

from __future__ import annotations

import pytest
from broker_admin import unique_name
from spark_link import Spark, SparkFailure
from spark_topics import Record, Topics, numbered

MANY_PARTITIONS = 160  # Spark keeps the consumers of 64


def test_ranges_may_begin_and_end_anywhere(spark: Spark, topics: Topics) -> None:
    topic, rows = topics.filled("ranges", 10, partitions=3)
    found = spark.read(
        topic,
        startingOffsets={topic: {"0": 3, "1": -2, "2": 10}},
        endingOffsets={topic: {"0": 7, "1": -1, "2": 10}},
    )
    assert found.rows == rows[3:7] + rows[10:20]


def test_topics_by_list_by_pattern_and_partitions_by_name(spark: Spark, topics: Topics) -> None:
    word = unique_name("listed")
    first, first_rows = topics.filled(f"{word}-a", 5, partitions=2)
    second, second_rows = topics.filled(f"{word}-b", 5)
    topics.filled(f"other-{word}", 5)
    rows = first_rows + second_rows
    assert spark.read(f"{first},{second}").rows == rows
    assert spark.read(subscribePattern=f"^{word}-.*").rows == rows
    assert spark.read(assign={first: [1], second: [0]}).rows == rows[5:]


def test_an_empty_topic_has_no_rows(spark: Spark, topics: Topics) -> None:
    assert spark.read(topics.make("empty", 3)).rows == []


def test_a_pattern_that_fits_nothing_has_no_rows(spark: Spark) -> None:
    assert spark.read(subscribePattern="no-topic-is-called-so-.*").rows == []


def test_a_topic_that_is_not_there_fails_the_query_and_is_not_made(
    spark: Spark, topics: Topics
) -> None:
    name = unique_name("missing")
    for _ in range(2):
        with pytest.raises(SparkFailure, match="UnknownTopicOrPartitionException"):
            spark.read(name)


def test_min_partitions_splits_partitions_among_tasks(spark: Spark, topics: Topics) -> None:
    topic, rows = topics.filled("split", 30, partitions=2)
    assert spark.read(topic) == (rows, [30, 30])
    assert spark.read(topic, minPartitions=6) == (rows, [10] * 6)


def test_a_count_asks_for_no_column(spark: Spark, topics: Topics) -> None:
    topic, rows = topics.filled("counted", 25, partitions=3)
    assert spark.count(topic) == len(rows)


def test_records_larger_than_every_limit_of_the_fetch_come_one_by_one(
    spark: Spark, topics: Topics
) -> None:
    topic = topics.make("large", 1, {"max.message.bytes": "4000000"})
    sizes = (10, 3_000_000, 1, 2_000_000, 5)
    rows = topics.send(
        topic,
        [Record(b"%d" % size * (size // len(str(size)))) for size in sizes],
        message_max_bytes=4_000_000,
        batch_num_messages=1,
    )
    limits = {"kafka.max.partition.fetch.bytes": 1000, "kafka.fetch.max.bytes": 1000}
    assert spark.read(topic, **limits).rows == rows


def test_more_partitions_than_spark_keeps_consumers_for(spark: Spark, topics: Topics) -> None:
    topic, rows = topics.filled("many", 3, MANY_PARTITIONS)
    assert spark.read(topic) == (rows, [3] * MANY_PARTITIONS)


def test_an_end_that_the_log_has_not_come_to(spark: Spark, topics: Topics) -> None:
    """Lost data, unless one says that it may be: then what there is."""
    topic, rows = topics.filled("short", 5)
    beyond = {"endingOffsets": {topic: {"0": 8}}, "kafkaConsumer.pollTimeoutMs": 3000}
    assert spark.read(topic, failOnDataLoss="false", **beyond).rows == rows
    with pytest.raises(SparkFailure) as failure:
        spark.read(topic, **beyond)
    assert failure.value.condition == "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE"
    assert "Could not read records in offset [5, 8)" in failure.value.text


def test_numbers_in_a_row_come_in_their_order(spark: Spark, topics: Topics) -> None:
    """Many batches, several to an answer."""
    topic = topics.make("ordered")
    rows = topics.send(topic, numbered(5_000), batch_num_messages=7)
    assert spark.read(topic, kafka_max_poll_records=100).rows == rows
