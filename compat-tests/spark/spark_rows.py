"""A local Spark with the connector, and rows of the Kafka source as JSON has them.

Bytes go over the pipe as text of Latin-1. Rows of a partition stay in the order in which Spark
has read them, which a test may then hold against the order of their offsets.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

COLUMNS = (
    "topic",
    "partition",
    "offset",
    "unix_millis(timestamp) AS timestamp_ms",
    "timestampType",
    "key",
    "value",
)


def session(jars: str, java_options: str) -> SparkSession:
    """A local Spark of two cores with the connector's jars."""
    paths = ",".join(str(path) for path in sorted(Path(jars).glob("*.jar")))
    settings = {
        "spark.jars": paths,
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": java_options,
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    return made


def digests(frame: DataFrame) -> dict[str, list[int]]:
    """By partition: count, first offset, last offset, weighted checksum."""
    weighted = "crc32(value) * (offset % 65521 + 1) % 2147483647"
    rows = (
        frame.selectExpr("partition", "offset", f"{weighted} AS weighted")
        .groupBy("partition")
        .agg(f.count("*"), f.min("offset"), f.max("offset"), f.sum("weighted"))
        .collect()
    )
    return {str(row[0]): [int(value) for value in row[1:]] for row in rows}


def collected(frame: DataFrame) -> dict[str, Any]:
    """All rows, by topic and partition, and of each task how many it has read."""
    columns = [*COLUMNS, *(["headers"] if "headers" in frame.columns else [])]
    found = frame.selectExpr("spark_partition_id()", *columns).collect()
    tasks: dict[int, int] = {}
    for row in found:
        tasks[row[0]] = tasks.get(row[0], 0) + 1
    rows = sorted((_row(each) for each in found), key=lambda row: (row[0], row[1]))
    return {"rows": rows, "tasks": [tasks[number] for number in sorted(tasks)]}


def _row(row: Any) -> list[Any]:
    headers = row["headers"] if "headers" in row else None
    pairs = [[name, text(value)] for name, value in headers or ()]
    return [*row[1:6], text(row["key"]), text(row["value"]), pairs]


def text(data: bytes | bytearray | None) -> str | None:
    """Bytes as they go over the pipe."""
    return None if data is None else bytes(data).decode("latin-1")


def data(text: str | None) -> bytearray | None:
    """The way back."""
    return None if text is None else bytearray(text.encode("latin-1"))
