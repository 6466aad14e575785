"""Generate into a topic: what is there is looked up, tasks write, and what they wrote is summed."""

import time
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from barnabas.pipeline.generate.plan import Plan
from barnabas.pipeline.generate.write import SUMMARY, Target, share
from barnabas.pipeline.spark.admin import Admin
from barnabas.pipeline.spark.failures import PipelineError
from barnabas.pipeline.spark.kafka import KafkaCluster
from barnabas.pipeline.spark.python_client import python_client_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CREATE_TIMEOUT_S: Final = 60.0
PACED_STARTS_AFTER_S: Final = 1.0


class PartitionSummary(NamedTuple):
    """What one partition got: offsets [start_offset, end_offset) are of the stream.

    `skipped` records were there already, by an attempt of the task before.
    """

    partition: int
    events: int
    skipped: int
    start_offset: int
    end_offset: int


@dataclass(frozen=True)
class Generated:
    """What a run has written, and in how many seconds."""

    partitions: tuple[PartitionSummary, ...]
    seconds: float

    @property
    def events(self) -> int:
        return sum(partition.events for partition in self.partitions)


def generate(
    spark: "SparkSession",
    cluster: KafkaCluster,
    topic: str,
    plan: Plan,
    *,
    per_second: float | None = None,
    tasks: int | None = None,
) -> Generated:
    """Append the stream to a topic; the record timestamp is the event's.

    At a rate (`per_second`), all tasks have to run at once; without, their number is only a
    matter of speed. PipelineError says what went wrong.
    """
    bases = _ends(spark, cluster, topic)
    tasks = min(tasks or spark.sparkContext.defaultParallelism, len(bases))
    begun_at = time.time() + PACED_STARTS_AFTER_S
    target = Target(topic, bases, dict(python_client_settings(cluster)), per_second, begun_at)
    started = time.monotonic()
    rows = spark.range(0, tasks, 1, tasks).mapInArrow(share(plan, target, tasks), SUMMARY).collect()
    summaries = sorted(PartitionSummary(*row) for row in rows)
    return Generated(tuple(summaries), time.monotonic() - started)


def create_topic(cluster: KafkaCluster, topic: str, partitions: int) -> bool:
    """Make the topic unless it is there; whether it was made.

    It keeps its records for ever: their timestamps are those of the events, which may be older
    than a broker's retention from the start.
    """
    admin = _admin(python_client_settings(cluster))
    new_topic = import_module("confluent_kafka.admin").NewTopic(
        topic, partitions, config={"retention.ms": "-1"}
    )
    kafka = import_module("confluent_kafka")
    try:
        admin.create_topics([new_topic], operation_timeout=CREATE_TIMEOUT_S)[topic].result()
    except kafka.KafkaException as error:
        if error.args[0].code() == kafka.KafkaError.TOPIC_ALREADY_EXISTS:
            return False
        raise PipelineError(
            f"the topic {topic} cannot be created: {error.args[0].str()}"
        ) from error
    return True


def is_expired_at_once(
    spark: "SparkSession", cluster: KafkaCluster, topic: str, plan: Plan
) -> bool:
    """Whether the topic's retention deletes the stream as soon as it looks at it."""
    with Admin(spark, cluster) as admin:
        retention_ms = int(admin.configs(topic).get("retention.ms", -1))
    return 0 <= retention_ms < time.time() * 1000 - (plan.start_ms + plan.span_ms)


def _ends(spark: "SparkSession", cluster: KafkaCluster, topic: str) -> tuple[int, ...]:
    """Where each partition of the topic ends; PipelineError where there is no such topic."""
    with Admin(spark, cluster) as admin:
        partitions = admin.topics([topic])[topic].partitions()
        ends = admin.offsets(partitions, at="latest", committed=False)
    return tuple(ends[partition].offset for partition in partitions)


def _admin(settings: Any) -> Any:
    return import_module("confluent_kafka.admin").AdminClient(dict(settings))
