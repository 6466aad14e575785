"""Offsets that are not there any more: compacted, deleted, or of a topic that was made again."""

from __future__ import annotations

from pathlib import Path

import pytest
from broker_admin import unique_name
from spark_link import Spark, SparkFailure
from spark_topics import Topics, numbered, read_offsets, wait_until

COMPACTED = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.01",
    "segment.ms": "100",  # every record its own segment: they are a second apart
}
MAY_LOSE = {"failOnDataLoss": "false", "kafkaConsumer.pollTimeoutMs": 3000}


def lost(failure: SparkFailure | None) -> str:
    """What Spark says of the loss: its reason."""
    assert failure is not None
    assert (failure.condition or "").startswith("KAFKA_DATA_LOSS."), failure.text
    return failure.text.partition("Reason: ")[2]


def test_gaps_of_compaction_are_no_loss(spark: Spark, topics: Topics, checkpoint: Path) -> None:
    topic = topics.make("compacted", 1, COMPACTED)
    rows = topics.send(topic, numbered(30), batch_num_messages=1)
    kept = [26, 27, 28, 29]  # the last of each of three keys; the active segment is left alone
    wait_until(lambda: read_offsets(topics.address, topic) == kept, "the compaction")
    assert spark.read(topic).rows == rows[26:]
    assert spark.read(topic, startingOffsets={topic: {"0": 5}}).rows == rows[26:]
    assert spark.read(topic, endingOffsets={topic: {"0": 20}}).rows == []
    assert spark.run(checkpoint, topic).rows == rows[26:]


def test_a_batch_from_the_start_begins_where_records_were_deleted_to(
    spark: Spark, topics: Topics
) -> None:
    topic, rows = topics.filled("trimmed", 10)
    topics.delete_records(topic, 7)
    assert spark.read(topic).rows == rows[7:]


def test_a_batch_of_deleted_offsets_fails_unless_loss_is_allowed(
    spark: Spark, topics: Topics
) -> None:
    topic, rows = topics.filled("trimmed", 10)
    topics.delete_records(topic, 7)
    from_the_third = {"startingOffsets": {topic: {"0": 3}}}
    assert spark.read(topic, **from_the_third, **MAY_LOSE).rows == rows[7:]
    with pytest.raises(SparkFailure) as refused:
        spark.read(topic, **from_the_third)
    assert lost(refused.value).startswith("Could not read records in offset [3, 10)")


@pytest.mark.parametrize("everything", [False, True])
def test_a_stream_that_comes_back_after_a_deletion(
    spark: Spark, topics: Topics, checkpoint: Path, everything: bool
) -> None:
    """It ends with what is lost; where that is allowed it goes on with what there is."""
    topic, rows = topics.filled("came-back", 5)
    assert spark.run(checkpoint, topic).rows == rows
    more = topics.send(topic, numbered(5, 5))
    topics.delete_records(topic, 10 if everything else 8)
    assert lost(spark.run(checkpoint, topic).failure).startswith("Could not read records in offset")
    assert spark.run(checkpoint, topic, **MAY_LOSE).rows == more[5 if everything else 3 :]
    assert spark.run(checkpoint, topic).rows == []


def test_a_topic_made_again_with_fewer_records(
    spark: Spark, topics: Topics, checkpoint: Path
) -> None:
    """Where loss is allowed Spark goes on behind what it finds."""
    topic, rows = topics.filled("again", 10)
    assert spark.run(checkpoint, topic).rows == rows
    topics.delete(topic)
    topics.admin.create_topic_named(topic)
    topics.send(topic, numbered(4))
    reason = lost(spark.run(checkpoint, topic).failure)
    assert reason.startswith(f"Partition {topic}-0 offset was changed from 10 to 4.")
    assert spark.run(checkpoint, topic, **MAY_LOSE).rows == []
    more = topics.send(topic, numbered(2, 4))
    assert spark.run(checkpoint, topic, **MAY_LOSE).rows == more


def test_a_topic_made_again_with_as_many_records_is_taken_for_the_same(
    spark: Spark, topics: Topics, checkpoint: Path
) -> None:
    """Spark looks at offsets, not at topic ids: an audit has to tell this."""
    topic, rows = topics.filled("same", 3)
    assert spark.run(checkpoint, topic).rows == rows
    topics.delete(topic)
    topics.admin.create_topic_named(topic)
    new = topics.send(topic, numbered(5))
    assert spark.run(checkpoint, topic).rows == new[3:]


def test_a_topic_that_is_gone(spark: Spark, topics: Topics, checkpoint: Path) -> None:
    topic, rows = topics.filled("gone", 3)
    assert spark.run(checkpoint, topic).rows == rows
    topics.delete(topic)
    for options in ({}, MAY_LOSE):
        failure = spark.run(checkpoint, topic, **options).failure
        assert failure is not None and "UnknownTopicOrPartitionException" in failure.text


def test_readers_that_spark_keeps_find_the_topic_that_was_made_again(
    spark: Spark, topics: Topics, checkpoint: Path
) -> None:
    """Named by their group they are kept from query to query, with the old topic's id."""
    topic, rows = topics.filled("again-kept", 3, partitions=2)
    kept = {"kafka.group.id": unique_name("kept")}
    assert spark.run(checkpoint, topic, **kept).rows == rows
    for before, count in ((3, 5), (5, 8)):
        topics.delete(topic)
        topics.admin.create_topic_named(topic, 2)
        new = topics.send(topic, numbered(count) + numbered(count, partition=1))
        unread = [row for row in new if row.offset >= before]
        assert spark.run(checkpoint, topic, **kept).rows == unread
