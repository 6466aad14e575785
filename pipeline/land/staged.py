"""A batch as it was written: which files there are, and what each of them holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from barnabas.pipeline.lake.entries import DEAD_LETTERS, Held, LandedFile
from barnabas.pipeline.land.rows import STAGED_FOLDERS
from barnabas.pipeline.land.spark_checkpoint import BatchRanges
from barnabas.pipeline.spark.failures import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WRITE_OPTIONS = {
    "compression": "zstd",
    # Looked at after every few records: values of a megabyte would fill the memory before the
    # hundredth.
    "parquet.page.size.row.check.min": "4",
    "parquet.page.size.row.check.max": "1000",
    "parquet.block.size": str(64 * 1024 * 1024),
}
# By these Spark writes and reads times as they are, of any year; the default ends in 2262.
SESSION_SETTINGS = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.session.timeZone": "UTC",
}
SUMMARY_SCHEMA = (
    "topic_id STRING, partition INT, offset BIGINT, {}dead BOOLEAN, topic STRING, date DATE"
)
FILE = ("dead", "topic", "day", "file_name", "size_bytes", "topic_id")


@dataclass
class StagedFile:
    """A file in the staging folder."""

    path: str  # below the staging folder
    place: str  # the folder of the lake that it is for
    topic: str
    topic_id: str | None
    bytes: int
    offsets: dict[int, Held] = field(default_factory=dict)

    def landed(self, name: str, parsed: str) -> LandedFile:
        """The file under a name in its place."""
        rows = sum(held.rows for held in self.offsets.values())
        path = f"{self.place}/{name}"
        return LandedFile(path, rows, self.bytes, self.topic_id, self.offsets, parsed)


def set_up(spark: SparkSession) -> None:
    """The settings without which times would be changed; of this session only."""
    for name, value in SESSION_SETTINGS.items():
        spark.conf.set(name, value)


def write_staged(rows: DataFrame, uri: str) -> None:
    """Write the rows of a batch into a staging folder."""
    rows.write.partitionBy(*STAGED_FOLDERS).options(**WRITE_OPTIONS).parquet(uri)


def read_staged(spark: SparkSession, uri: str) -> list[StagedFile]:
    """What was written there: one line for each file and partition comes back."""
    staged = spark.read.schema(SUMMARY_SCHEMA.format("")).option("__globPaths__", "false")
    found = (
        staged.parquet(uri)
        .select(
            *SUMMARY_COLUMNS,
            f.col("date").cast("string").alias("day"),  # Python knows no year above 9999
            f.col("_metadata.file_name").alias("file_name"),
            f.col("_metadata.file_size").alias("size_bytes"),
        )
        .groupBy(*FILE, "partition")
        .agg(
            f.min("offset").alias("first"),
            f.max("offset").alias("last"),
            f.count("*").alias("rows"),
        )
        .collect()
    )
    files: dict[str, StagedFile] = {}
    for row in sorted(found, key=lambda row: (row.topic, row.partition, row.first)):
        place = f"topic={row.topic}/date={row.day}"
        path = f"dead={str(row.dead).lower()}/{place}/{row.file_name}"
        place = f"{DEAD_LETTERS}/{place}" if row.dead else place
        new = StagedFile(path, place, row.topic, row.topic_id, row.size_bytes)
        held = files.setdefault(path, new).offsets
        held[row.partition] = Held(row.first, row.last, row.rows)
    return list(files.values())


SUMMARY_COLUMNS = ("topic_id", "partition", "offset", "dead", "topic")


def unknown_fields(spark: SparkSession, uri: str) -> dict[tuple[str, str], int]:
    """(topic, field that the schema does not know) -> in how many records of a staged batch."""
    schema = SUMMARY_SCHEMA.format("unknown_fields ARRAY<STRING>, ")
    staged = spark.read.schema(schema).option("__globPaths__", "false").parquet(uri)
    counted = staged.select("topic", f.explode("unknown_fields").alias("name"))
    rows = counted.groupBy("topic", "name").count().orderBy("topic", "name").collect()
    return {(row["topic"], row["name"]): row["count"] for row in rows}


def check_staged(files: list[StagedFile], ranges: BatchRanges) -> None:
    """PipelineError unless what was written lies within what was to be read."""
    rows: dict[tuple[str, int], int] = {}
    for file in files:
        for partition, held in file.offsets.items():
            start, end = ranges.get((file.topic, partition), (0, 0))
            rows[file.topic, partition] = rows.get((file.topic, partition), 0) + held.rows
            if held.first < start or held.last >= end or rows[file.topic, partition] > end - start:
                raise PipelineError(
                    f"{file.topic}-{partition}: offsets {held.first} to {held.last} "
                    f"({held.rows} records) were written where {start} to {end - 1} were to be; "
                    "nothing of this batch has landed"
                )


def names_of(files: list[StagedFile], landing_id: str, batch: int) -> Mapping[str, str]:
    """Staged path -> the name in the lake, which says whose it is."""
    return {
        file.path: f"{landing_id}-{batch:020}-{number:05}.parquet"
        for number, file in enumerate(sorted(files, key=lambda file: file.path))
    }
