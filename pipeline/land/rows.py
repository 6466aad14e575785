"""The rows of a batch: what Spark's source gives, as the lake has it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as f

from barnabas.pipeline.land.leader_epochs import EpochRanges
from barnabas.pipeline.land.spark_checkpoint import TopicPartition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from barnabas.pipeline.land.parsing import Parsing

RANGES_SCHEMA = (
    "of_topic STRING, of_partition INT, first_offset BIGINT, end_offset BIGINT, "
    "topic_id STRING, leader_epoch INT"
)
# How the files of a batch are laid out while it is written; `dead` decides on the final place.
STAGED_FOLDERS = ("dead", "topic", "date")
ORDER = (*STAGED_FOLDERS, "partition", "offset")


def landed_rows(
    batch: DataFrame,
    topic_ids: Mapping[str, str | None],
    epochs: Mapping[TopicPartition, EpochRanges],
    landed_at: datetime.datetime,
    parsing: Parsing | None = None,
) -> DataFrame:
    """The columns of the lake, and `dead`: whether a record is a dead letter, with `reason`.

    `batch` is of Spark's source with headers. Nothing is shuffled: each row is looked up by its
    offset in a small table that goes to every executor.
    """
    table: list[Any] = [
        (topic, partition, first, end, topic_ids.get(topic), epoch)
        for (topic, partition), ranges in epochs.items()
        for first, end, epoch in ranges
    ]
    ranges = f.broadcast(batch.sparkSession.createDataFrame(table, RANGES_SCHEMA))
    is_in_range = (
        (f.col("topic") == f.col("of_topic"))
        & (f.col("partition") == f.col("of_partition"))
        & (f.col("offset") >= f.col("first_offset"))
        & (f.col("offset") < f.col("end_offset"))
    )
    rows = batch.join(ranges, is_in_range, "left").select(
        "topic",
        "topic_id",
        "partition",
        "offset",
        "timestamp",
        f.col("timestampType").alias("timestamp_type"),
        "key",
        "value",
        "headers",
        "leader_epoch",
        f.lit(landed_at).alias("landed_at"),
        f.to_date("timestamp").alias("date"),
    )
    if parsing is None:
        rows = rows.withColumn("schema_id", f.lit(None).cast("int"))
        rows = rows.withColumn("dead", f.lit(False))
    else:
        rows = parsing.parsed(rows).withColumn("dead", f.col("reason").isNotNull())
    return rows.sortWithinPartitions(*ORDER)
