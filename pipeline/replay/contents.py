"""What of a lake would be replayed, by partition, and why it must not be."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.pipeline.replay.selection import Selection
from barnabas.pipeline.spark.failures import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from barnabas.pipeline.lake.entries import LandedTopic


@dataclass(frozen=True)
class Content:
    """The selected rows of one partition of one topic."""

    topic: str
    topic_id: str  # empty where the cluster had none
    partition: int
    rows: int
    first: int
    last: int
    doubled: int  # rows beyond one of their offset
    unstamped: int  # rows with the timestamp 0
    oldest_ms: int


def contents_of(rows: "DataFrame") -> list[Content]:
    """Count rows of a lake by partition. Spark moves their offsets for it, not their contents."""
    from pyspark.sql import functions as f

    by_offset = (
        rows.select(
            "topic", f.coalesce("topic_id", f.lit("")).alias("topic_id"), "partition", "offset",
            f.unix_millis("timestamp").alias("ms"),
        )
        .groupBy("topic", "topic_id", "partition", "offset")
        .agg(
            f.count("*").alias("n"), f.min("ms").alias("oldest"),
            f.count_if(f.col("ms") == 0).alias("zero"),
        )
    )  # fmt: skip
    found = by_offset.groupBy("topic", "topic_id", "partition").agg(
        f.sum("n"), f.min("offset"), f.max("offset"), f.sum(f.col("n") - 1), f.sum("zero"),
        f.min("oldest"),
    )  # fmt: skip
    contents = (Content(*row) for row in found.collect())
    return sorted(contents, key=lambda each: (each.topic, each.partition))


def partition_counts(
    landings: Iterable["LandedTopic"], selection: Selection, where: str
) -> dict[str, int]:
    """How many partitions each selected topic has in the lake; PipelineError for unknown ones."""
    counts: dict[str, int] = {}
    for landed in landings:
        if landed.offsets:
            highest = max(landed.offsets)
            counts[landed.topic] = max(counts.get(landed.topic, 0), highest + 1)
    if not counts:
        raise PipelineError(f"there is no lake at {where}, or nothing has landed in it yet")
    for topic in selection.topics:
        if topic not in counts:
            raise PipelineError(
                f"the lake has no topic {topic}; it has {', '.join(sorted(counts))}"
            )
    return {topic: counts[topic] for topic in selection.topics}


def require_replayable(
    contents: Sequence[Content], selection: Selection, *, with_timestamps: bool
) -> None:
    """PipelineError where rows are doubled, of two topics of one name, or not to be kept."""
    if not contents:
        raise PipelineError("the lake has no such records: nothing is selected")
    for topic, ids in _topic_ids(contents).items():
        if len(ids) > 1:
            raise PipelineError(
                f"topic {topic} was made again under its name while it landed: the lake has "
                f"records of {', '.join(ids)}; --topic-id says of which"
            )
    if doubled := [each for each in contents if each.doubled]:
        raise PipelineError(
            f"the lake has {sum(each.doubled for each in doubled)} records twice, of "
            f"{_names(doubled)}; `barnabas pipeline audit` shows which"
        )
    unstamped = [each for each in contents if each.unstamped]
    if unstamped and with_timestamps:
        raise PipelineError(
            f"{sum(each.unstamped for each in unstamped)} records of {_names(unstamped)} are "
            "stamped 1970-01-01T00:00:00Z, for which Kafka's client would put the present: leave "
            "them out with --from-time, or replay with --new-timestamps"
        )


def _topic_ids(contents: Iterable[Content]) -> Mapping[str, list[str]]:
    found: dict[str, set[str]] = {}
    for each in contents:
        found.setdefault(each.topic, set()).add(each.topic_id)
    return {topic: sorted(ids) for topic, ids in found.items()}


def _names(contents: Sequence[Content], most: int = 3) -> str:
    names = [f"{each.topic}-{each.partition}" for each in contents]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
