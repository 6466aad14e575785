"""Spark's own Kafka source and sink, unchanged, as one program: a JSON line in, one out.

    python program.py BOOTSTRAP JARS   reads {"do": NAME, ...} lines on standard input

Digests instead of rows go back over the pipe, computed by Spark: of each partition the count,
the first and last offset, and the sum of crc32(value) weighted by the offset.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f


def session(jars: str) -> SparkSession:
    """A local Spark of two cores with the connector's jars."""
    paths = ",".join(str(path) for path in sorted(Path(jars).glob("*.jar")))
    made = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars", paths)
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
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


class Program:
    """The commands."""

    def __init__(self, bootstrap: str, jars: str) -> None:
        self.bootstrap = bootstrap
        self.spark = session(jars)

    def batch(self, topic: str, **options: str) -> dict[str, Any]:
        """Read a topic as a batch; options are the source's (startingOffsets, ...)."""
        return digests(self._source(self.spark.read, topic, options))

    def copy(self, topic: str, target: str) -> dict[str, Any]:
        """Write a topic into another, keys, headers and partitions kept, through the sink."""
        frame = self._source(self.spark.read, topic, {"includeHeaders": "true"})
        (
            frame.select("key", "value", "headers", "partition")
            .sortWithinPartitions("partition")
            .write.format("kafka")
            .option("kafka.bootstrap.servers", self.bootstrap)
            .option("topic", target)
            .save()
        )
        return {}

    def stream(self, topic: str, checkpoint: str, lake: str) -> dict[str, Any]:
        """Land what is there and new in a folder: Trigger.AvailableNow with a checkpoint."""
        query = (
            self._source(self.spark.readStream, topic, {"startingOffsets": "earliest"})
            .select("partition", "offset", "value")
            .writeStream.format("parquet")
            .option("path", lake)
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return {"rows": sum(p["numInputRows"] for p in query.recentProgress)}

    def lake(self, lake: str) -> dict[str, Any]:
        """What has landed."""
        return digests(self.spark.read.parquet(lake))

    def micro_batches(self, topic: str, checkpoint: str, count: int) -> dict[str, Any]:
        """Seconds from a record's production to the end of the micro-batch that has it."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.bootstrap})
        query = (
            self._source(self.spark.readStream, topic, {"startingOffsets": "earliest"})
            .select("value")
            .writeStream.format("noop")
            .option("checkpointLocation", checkpoint)
            .start()
        )
        seconds = []
        for number in range(count):
            producer.produce(topic, str(number).encode(), partition=0)
            producer.flush(30)
            started = time.monotonic()
            query.processAllAvailable()
            seconds.append(time.monotonic() - started)
        query.stop()
        return {"seconds": seconds}

    def _source(self, reader: Any, topic: str, options: dict[str, str]) -> DataFrame:
        reader = reader.format("kafka").option("kafka.bootstrap.servers", self.bootstrap)
        for name, value in {"subscribe": topic, **options}.items():
            reader = reader.option(name, value)
        frame: DataFrame = reader.load()
        return frame


def main() -> None:
    """Answer commands until the input ends."""
    program = Program(sys.argv[1], sys.argv[2])
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = getattr(program, command.pop("do"))(**command)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:2000]}
        print(json.dumps(answer), flush=True)
    program.spark.stop()


main()
