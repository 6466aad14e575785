"""A Kafka cluster as Spark's connector is told of it, and its source as a batch or a stream."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from barnabas.pipeline.spark.failures import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PREFIX = "kafka."
NO_TOPIC_ID = "A" * 22
"""Kafka's word for a topic without an id, of clusters before 2.8: 16 zero bytes in base64."""


def topic_id_in(text: str | None) -> str | None:
    """A topic's id; None for one that has none, however that was written."""
    return None if text in (None, "", NO_TOPIC_ID) else text


@dataclass(frozen=True)
class KafkaCluster:
    """Where a cluster is, and how it is spoken to.

    `options` are named as Spark's connector has them, `kafka.security.protocol` for instance;
    they may hold passwords and are not part of the repr.
    """

    bootstrap_servers: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def source_options(self) -> dict[str, str]:
        """The options of `format("kafka")`, for the source and for the sink."""
        return {**self.options, "kafka.bootstrap.servers": self.bootstrap_servers}

    def client_properties(self) -> dict[str, str]:
        """The properties of Kafka's own Java clients: the same without the prefix."""
        return {
            name.removeprefix(PREFIX): value
            for name, value in self.source_options().items()
            if name.startswith(PREFIX)
        }


def read_batch(
    spark: "SparkSession",
    cluster: KafkaCluster,
    *,
    topics: Sequence[str] | None = None,
    pattern: str | None = None,
    options: Mapping[str, str] | None = None,
) -> "DataFrame":
    """The records of topics, by name or by a Java pattern, as a batch, headers included.

    `options` are the source's (startingOffsets, endingOffsets, …). Without topics and pattern
    one of them has to be `assign`.
    """
    return _loaded(spark.read, cluster, topics, pattern, options)


def read_stream(
    spark: "SparkSession",
    cluster: KafkaCluster,
    *,
    topics: Sequence[str] | None = None,
    pattern: str | None = None,
    options: Mapping[str, str] | None = None,
) -> "DataFrame":
    """The same as a stream."""
    return _loaded(spark.readStream, cluster, topics, pattern, options)


def _loaded(
    reader: Any,
    cluster: KafkaCluster,
    topics: Sequence[str] | None,
    pattern: str | None,
    options: Mapping[str, str] | None,
) -> "DataFrame":
    if topics is not None and pattern is not None:
        raise PipelineError("topics are given by name or by a pattern, not both")
    chosen = {**cluster.source_options(), "includeHeaders": "true", **(options or {})}
    if topics is not None:
        chosen["subscribe"] = ",".join(topics)
    elif pattern is not None:
        chosen["subscribePattern"] = pattern
    frame: DataFrame = reader.format("kafka").options(**chosen).load()
    return frame
