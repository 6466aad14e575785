"""Spark's own Kafka source and sink, unchanged, as one program: a JSON line in, one out.

    python program.py BOOTSTRAP JARS [JAVA_OPTION ...]

It reads {"do": NAME, ...} lines on standard input.

`options` are the source's or the sink's; those the program adds itself may be given as well.
Of large topics digests go back over the pipe, computed by Spark: of each partition the count,
the first and last offset, and the sum of crc32(value) weighted by the offset.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")

from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql import DataFrame
from spark_rows import collected, data, digests, session
from spark_streams import PATIENCE_S, PAUSE_S, Stream, failure_of, progress_of

SENT_SCHEMA = (
    "key binary, value binary, headers array<struct<key string, value binary>>, "
    "partition int, topic string"
)


class Program:
    """The commands."""

    def __init__(self, bootstrap: str, jars: str, *java_options: str) -> None:
        self.bootstrap = bootstrap
        self.spark = session(jars, " ".join(java_options))
        self.streams: dict[str, Stream] = {}

    def setting(self, name: str, value: str) -> dict[str, Any]:
        """Set one of the session's settings."""
        self.spark.conf.set(name, value)
        return {}

    # --- batches -----------------------------------------------------------------------

    def batch(self, topic: str, **options: str) -> dict[str, Any]:
        """Read a topic as a batch: digests; options are the source's (startingOffsets, ...)."""
        return digests(self._source(self.spark.read, {"subscribe": topic, **options}))

    def rows(self, options: dict[str, str]) -> dict[str, Any]:
        """Read a batch whole: its rows."""
        return collected(self._source(self.spark.read, options))

    def count(self, options: dict[str, str]) -> dict[str, Any]:
        """How many rows a batch has; no column is asked for."""
        return {"count": self._source(self.spark.read, options).count()}

    def write(
        self, sent: list[list[Any]], columns: list[str], options: dict[str, str]
    ) -> dict[str, Any]:
        """Write rows of (key, value, headers, partition, topic) by these columns of them."""
        rows = [
            (data(key), data(value), [(name, data(it)) for name, it in headers], *where)
            for key, value, headers, *where in sent
        ]
        frame = self.spark.createDataFrame(rows, SENT_SCHEMA).coalesce(1).selectExpr(*columns)
        self._sink(frame.write, options).save()
        return {}

    def copy(self, topic: str, target: str) -> dict[str, Any]:
        """Write a topic into another, keys, headers and partitions kept, through the sink."""
        frame = self._source(self.spark.read, {"subscribe": topic, "includeHeaders": "true"})
        kept = frame.select("key", "value", "headers", "partition")
        self._sink(kept.sortWithinPartitions("partition").write, {"topic": target}).save()
        return {}

    # --- streams -----------------------------------------------------------------------

    def start(
        self, name: str, options: dict[str, str], checkpoint: str, trigger: dict[str, Any]
    ) -> dict[str, Any]:
        """Start a query whose micro-batches are kept under its name."""
        source = self._source(self.spark.readStream, options)
        self.streams[name] = Stream(source, checkpoint, trigger)
        return {}

    def wait(self, name: str, rows: int | None = None) -> dict[str, Any]:
        """Wait until so many rows have come, or until the end; what is there by then."""
        self.streams[name].wait_for(rows)
        return self.streams[name].found()

    def wait_for_trigger(self, name: str) -> dict[str, Any]:
        """Wait until the query has looked at where its topics end."""
        self.streams[name].query.processAllAvailable()
        return {}

    def stop(self, name: str) -> dict[str, Any]:
        """Stop a query; all it has had."""
        stream = self.streams.pop(name)
        stream.query.stop()
        return stream.found()

    def forward(
        self,
        options: dict[str, str],
        columns: list[str],
        sink: dict[str, str],
        trigger: dict[str, Any],
        rows: int | None = None,
        mode: str = "append",
    ) -> dict[str, Any]:
        """Stream from topic to topic, to the end or until the sink's topic has so many records."""
        frame = self._source(self.spark.readStream, options).selectExpr(*columns)
        writer = self._sink(frame.writeStream.outputMode(mode), sink).trigger(**trigger)
        query = writer.start()
        try:
            if rows is None:
                assert query.awaitTermination(PATIENCE_S), "it has not ended"
            else:
                self._wait_for_records(query, sink["topic"], rows)
        finally:
            query.stop()
        return {"progress": [progress_of(each) for each in query.recentProgress]}

    def _wait_for_records(self, query: Any, topic: str, count: int) -> None:
        """By another client: tasks that never end may have every core of Spark."""
        deadline = time.monotonic() + PATIENCE_S
        while end_of(self.bootstrap, topic) < count:
            if not query.isActive:
                raise query.exception() or RuntimeError("the query has ended")
            if time.monotonic() > deadline:
                raise TimeoutError(f"{topic} has not come to {count} records")
            time.sleep(PAUSE_S)

    def stream(self, topic: str, checkpoint: str, lake: str) -> dict[str, Any]:
        """Land what is there and new in a folder: Trigger.AvailableNow with a checkpoint."""
        options = {"subscribe": topic, "startingOffsets": "earliest"}
        query = (
            self._source(self.spark.readStream, options)
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
        producer = Producer({"bootstrap.servers": self.bootstrap})
        options = {"subscribe": topic, "startingOffsets": "earliest"}
        query = (
            self._source(self.spark.readStream, options)
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

    # --- what all have in common -------------------------------------------------------

    def _source(self, reader: Any, options: dict[str, str]) -> DataFrame:
        return self._with(reader.format("kafka"), options).load()  # type: ignore[no-any-return]

    def _sink(self, writer: Any, options: dict[str, str]) -> Any:
        return self._with(writer.format("kafka"), options)

    def _with(self, target: Any, options: dict[str, str]) -> Any:
        for name, value in {"kafka.bootstrap.servers": self.bootstrap, **options}.items():
            target = target.option(name, value)
        return target


def end_of(bootstrap: str, topic: str) -> int:
    """How many records the partitions of a topic have had."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "ends", "log_level": 0})
    try:
        numbers = consumer.list_topics(topic, PATIENCE_S).topics[topic].partitions
        places = [TopicPartition(topic, number) for number in numbers]
        return sum(consumer.get_watermark_offsets(each, PATIENCE_S)[1] for each in places)
    finally:
        consumer.close()


def main() -> None:
    """Answer commands until the input ends."""
    program = Program(*sys.argv[1:])
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = getattr(program, command.pop("do"))(**command)
        except Exception as error:
            failure = failure_of(error)
            answer = {"error": failure["text"], "condition": failure["condition"]}
        print(json.dumps(answer), flush=True)
    program.spark.stop()


main()
