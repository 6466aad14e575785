"""The consumer groups of Spark's Kafka source: which names, and who joins."""

from __future__ import annotations

from pathlib import Path

import pytest
from broker_admin import unique_name
from confluent_kafka.admin import AdminClient
from spark_link import Spark
from spark_topics import PATIENCE_S, Topics, numbered

DEPRECATED = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"


def group_names(address: str) -> set[str]:
    """All groups that the broker knows."""
    admin = AdminClient({"bootstrap.servers": address})
    found = admin.list_consumer_groups().result(PATIENCE_S)
    assert found.errors == []
    return {group.group_id for group in found.valid}


@pytest.fixture
def deprecated(spark: Spark) -> object:
    """The driver asks for offsets by a consumer in a group, as before Spark 3.1."""
    spark("setting", name=DEPRECATED, value="true")
    yield
    spark("setting", name=DEPRECATED, value="false")


def test_nobody_joins_a_group(spark: Spark, topics: Topics, checkpoint: Path) -> None:
    topic, rows = topics.filled("no-group", 3)
    prefix = unique_name("prefix")
    with spark.stream(checkpoint, topic, groupIdPrefix=prefix) as running:
        assert running.wait(rows=3).rows == rows
        assert not any(name.startswith(prefix) for name in group_names(topics.address))


@pytest.mark.usefixtures("deprecated")
def test_with_deprecated_offset_fetching_the_driver_joins_one(
    spark: Spark, topics: Topics, checkpoint: Path
) -> None:
    topic, rows = topics.filled("a-group", 3)
    prefix = unique_name("prefix")
    with spark.stream(checkpoint, topic, groupIdPrefix=prefix) as running:
        assert running.wait(rows=3).rows == rows
        (name,) = [each for each in group_names(topics.address) if each.startswith(prefix)]
        assert name.startswith(f"{prefix}-")
        rows += topics.send(topic, numbered(3, 3))
        assert running.wait(rows=6).rows == rows
        running.settle()
    more = topics.send(topic, numbered(1, 6))
    assert spark.run(checkpoint, topic).rows == more


@pytest.mark.usefixtures("deprecated")
def test_deprecated_offset_fetching_finds_all_that_the_new_one_finds(
    spark: Spark, topics: Topics
) -> None:
    topic, rows = topics.filled("deprecated", 10, partitions=3)
    start, end = {topic: {"0": 3, "1": -2, "2": 9}}, {topic: {"0": -1, "1": 4, "2": 10}}
    found = spark.read(topic, startingOffsets=start, endingOffsets=end)
    assert found.rows == rows[3:10] + rows[10:14] + rows[29:]
    stamps = {"startingTimestamp": rows[4].timestamp_ms, "endingTimestamp": rows[6].timestamp_ms}
    by_time = spark.read(topic, **stamps).rows
    assert by_time == rows[4:6] + rows[14:16] + rows[24:26]
    assert spark.read(subscribePattern=f"^{topic}$").rows == rows
    assert spark.read(assign={topic: [2]}).rows == rows[20:]
    assert spark.read(unique_name("missing")).rows == []  # it may come


@pytest.mark.parametrize("way", ["false", "true"])
def test_a_group_id_that_one_names(
    spark: Spark, topics: Topics, checkpoint: Path, way: str
) -> None:
    """What it has committed elsewhere does not count; Spark commits nothing."""
    topic, rows = topics.filled("named-group", 3)
    group = unique_name("named")
    spark("setting", name=DEPRECATED, value=way)
    try:
        found = spark.run(checkpoint, topic, kafka_group_id=group)
    finally:
        spark("setting", name=DEPRECATED, value="false")
    assert found.rows == rows
    assert (group in group_names(topics.address)) == (way == "true")
    assert topics.admin.committed(group) == {}
