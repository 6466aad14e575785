"""What the broker holds: topics and their offsets at one moment, and the records behind them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from barnabas.pipeline.audit.contents import broker_runs
from barnabas.pipeline.audit.parts import Part, part_rows, small_frame
from barnabas.pipeline.spark.kafka import KafkaCluster, read_batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from barnabas.pipeline.spark.admin import Admin

RUN_COLUMNS = ("part", "start", "end", "rows", "digest", "first_ms", "last_ms")
RUN_SCHEMA = "part int, " + ", ".join(f"{name} bigint" for name in RUN_COLUMNS[1:])

TopicPartition = tuple[str, int]


@dataclass(frozen=True)
class BrokerView:
    """A cluster at one moment.

    Offsets by topic and partition: the log start, the last stable offset, the log end. A producer
    may go on; what comes later is not looked at.
    """

    cluster_id: str
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    log_starts: Mapping[TopicPartition, int] = field(default_factory=dict)
    last_stable: Mapping[TopicPartition, int] = field(default_factory=dict)
    log_ends: Mapping[TopicPartition, int] = field(default_factory=dict)
    configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def look(admin: Admin, topics: Sequence[str]) -> BrokerView:
    """The cluster and those of the topics that are there."""
    found = admin.existing(topics)
    partitions = [place for topic in found.values() for place in topic.partitions()]
    starts = admin.offsets(partitions, at="earliest", committed=False)
    # A transaction may end in between: the last stable offset is asked for first, so that it is
    # never above an end that was true before it.
    stable = admin.offsets(partitions, at="latest", committed=True)
    ends = admin.offsets(partitions, at="latest", committed=False)
    return BrokerView(
        admin.cluster_id(),
        {name: topic.topic_id or "" for name, topic in found.items()},
        {place: each.offset for place, each in starts.items()},
        {place: each.offset for place, each in stable.items()},
        {place: each.offset for place, each in ends.items()},
        {topic: admin.configs(topic) for topic in found},
    )


def records(
    spark: SparkSession, cluster: KafkaCluster, parts: Sequence[Part], *, committed: bool
) -> DataFrame | None:
    """The records of partitions from the log start to the log end.

    With `committed`, those that a reader of committed records gets, up to the last stable offset.
    None where there is nothing to read. What retention takes meanwhile is left out.
    """
    wanted = [part for part in parts if _end_of(part, committed) > part.log_start]
    if not wanted:
        return None
    assigned: dict[str, list[int]] = {}
    starts: dict[str, dict[str, int]] = {}
    ends: dict[str, dict[str, int]] = {}
    for part in wanted:
        topic, number = part.key.topic, part.key.partition
        assigned.setdefault(topic, []).append(number)
        starts.setdefault(topic, {})[str(number)] = part.log_start
        ends.setdefault(topic, {})[str(number)] = _end_of(part, committed)
    options = {
        "assign": json.dumps(assigned),
        "startingOffsets": json.dumps(starts),
        "endingOffsets": json.dumps(ends),
        "failOnDataLoss": "false",
        "kafka.isolation.level": "read_committed" if committed else "read_uncommitted",
        # A topic of one large partition is read by as many tasks as there are cores.
        "minPartitions": str(2 * spark.sparkContext.defaultParallelism),
    }
    return read_batch(spark, cluster, options=options)


def runs(
    spark: SparkSession, cluster: KafkaCluster, parts: Sequence[Part], *, committed: bool
) -> DataFrame:
    """The same records in runs: `contents.broker_runs` with `part`."""
    found = records(spark, cluster, parts, committed=committed)
    if found is None:
        return small_frame(spark, RUN_SCHEMA, [])
    return numbered(spark, broker_runs(found), parts).select(*RUN_COLUMNS)


def numbered(spark: SparkSession, frame: DataFrame, parts: Sequence[Part]) -> DataFrame:
    """Rows of topics as they are now, by topic and partition, with `part`."""
    from pyspark.sql import functions as f

    numbers = part_rows(spark, [part for part in parts if part.is_current]).drop("topic_id")
    return frame.join(f.broadcast(numbers), ["topic", "partition"])


def _end_of(part: Part, committed: bool) -> int:
    return min(part.last_stable, part.log_end) if committed else part.log_end
