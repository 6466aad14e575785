"""Landings for tests: run to their end in a folder, and what is in the lake then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from confluent_kafka import Producer
from pyspark.sql import Row, SparkSession

from barnabas.pipeline.lake.lake import Lake
from barnabas.pipeline.land.landing import LandedBatch, Landing
from barnabas.pipeline.land.landing_options import LandingOptions
from barnabas.pipeline.land.marker import Selection
from barnabas.pipeline.spark.kafka import KafkaCluster

KEPT = {"retention.ms": "-1"}
DAY_MS = 1_772_323_200_000  # 2026-03-01
FLUSH_TIMEOUT_S = 60
Place = tuple[str, int, int]


@dataclass
class Landings:
    """One lake, and landings into it with a checkpoint each."""

    spark: SparkSession
    cluster: KafkaCluster
    folder: Path
    notes: list[str] = field(default_factory=list)

    @property
    def path(self) -> Path:
        return self.folder / "lake"

    @property
    def lake(self) -> Lake:
        return Lake(self.spark, self.path)

    def land(
        self, *topics: str, pattern: str | None = None, checkpoint: str = "checkpoint", **more: Any
    ) -> list[LandedBatch]:
        """Land what is there; what each batch brought."""
        batches: list[LandedBatch] = []
        options = LandingOptions(
            str(self.path), str(self.folder / checkpoint), Selection(topics, pattern), **more
        )
        landing = Landing(self.spark, self.cluster, options, batches.append, self.notes.append)
        try:
            landing.run()
        finally:
            landing.close()
        return batches

    def rows(self, *topics: str) -> list[Row]:
        """The lake's rows by topic, partition and offset."""
        return self.lake.rows(topics or None).orderBy("topic", "partition", "offset").collect()

    def places(self, *topics: str) -> list[Place]:
        """Of each row topic, partition and offset."""
        return [(row.topic, row.partition, row.offset) for row in self.rows(*topics)]

    def plain_places(self) -> list[Place]:
        """The same as somebody sees it who knows nothing of entries."""
        table = pq.read_table(self.path, columns=["topic", "partition", "offset"])
        columns = (table.column(name).to_pylist() for name in ("topic", "partition", "offset"))
        return sorted(
            (str(topic), part, offset) for topic, part, offset in zip(*columns, strict=True)
        )


def send(
    address: str, topic: str, values: Sequence[bytes | None], partition: int = 0, **more: Any
) -> None:
    """Produce values to a partition, all on one day."""
    producer = Producer({"bootstrap.servers": address})
    for number, value in enumerate(values):
        producer.produce(topic, value, partition=partition, timestamp=DAY_MS + number, **more)
    assert producer.flush(FLUSH_TIMEOUT_S) == 0
