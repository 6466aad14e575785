"""From topic to topic without micro-batches: Spark's continuous and real-time processing."""

from __future__ import annotations

from pathlib import Path

from spark_link import Spark
from spark_topics import Topics, numbered

WHOLE = ("key", "value", "headers", "partition")
CONTINUOUS = {"continuous": "500 milliseconds"}
REAL_TIME = {"realTime": "5 seconds"}


def test_continuous_processing_and_its_restart(
    spark: Spark, topics: Topics, checkpoint: Path
) -> None:
    """It promises at least once: what came before its last epoch may come again."""
    source, rows = topics.filled("continuous", 10, partitions=2)
    target = topics.make("continuous-target", 2)
    sink = {"topic": target, "checkpointLocation": str(checkpoint)}
    spark.forward(source, WHOLE, sink, CONTINUOUS, rows=20)
    assert values_by_partition(spark, target) == [[row.value for row in rows[:10]]] * 2
    rows = topics.send(source, numbered(5, 10, partition=1))
    spark.forward(source, WHOLE, sink, CONTINUOUS, rows=25)
    found = values_by_partition(spark, target)[1]
    assert found[-5:] == [row.value for row in rows]
    assert set(found) == {b"%d" % number for number in range(15)}


def test_real_time_mode(spark: Spark, topics: Topics, checkpoint: Path) -> None:
    source, rows = topics.filled("real-time", 10)
    target = topics.make("real-time-target")
    sink = {"topic": target, "checkpointLocation": str(checkpoint)}
    spark.forward(source, WHOLE, sink, REAL_TIME, rows=10, mode="update")
    assert spark.read(target).values == [row.value for row in rows]


def values_by_partition(spark: Spark, topic: str) -> list[list[bytes | None]]:
    """Of a topic of two partitions."""
    rows = spark.read(topic).rows
    return [[row.value for row in rows if row.partition == number] for number in (0, 1)]
