"""The partitions that are audited, and what is known of each before a record is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from barnabas.pipeline.audit.ranges import LAYER_SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PART_SCHEMA = "part int, topic string, topic_id string, partition int"


class PartKey(NamedTuple):
    """A partition of one incarnation of a topic; the id is empty on clusters before 2.8."""

    topic: str
    topic_id: str
    partition: int


@dataclass(frozen=True)
class Part:
    """One partition of one incarnation of a topic; `number` stands for it in Spark.

    Offsets of the broker are those of one moment, after the lake's entries were read; all are 0
    for a topic that is no longer there.
    """

    number: int
    key: PartKey
    is_current: bool
    log_start: int
    last_stable: int
    log_end: int
    landed: tuple[tuple[int, int], ...]
    is_compacting: bool = False
    is_trimmed: bool = False  # what is below the log start went by DeleteRecords

    @property
    def place(self) -> tuple[str, int]:
        return self.key.topic, self.key.partition

    @property
    def landed_start(self) -> int | None:
        return self.landed[0][0] if self.landed else None

    @property
    def landed_end(self) -> int | None:
        return self.landed[-1][1] if self.landed else None

    def stretches(self) -> dict[str, list[tuple[int, int]]]:
        """What is known of it as layers of stretches [start, end)."""
        held = [(self.log_start, self.log_end)]
        landed_end = 0 if self.landed_end is None else self.landed_end
        if not self.is_current:
            return {"landed": list(self.landed)}
        return {
            "held": held,
            "below": [(0, self.log_start)],
            "stable": [(0, self.last_stable)],
            "landed": list(self.landed),
            "late": [(landed_end, max(self.log_end, landed_end))],
        }


def small_frame(spark: SparkSession, schema: str, rows: Sequence[tuple[Any, ...]]) -> DataFrame:
    """A few rows as a frame that Spark's planner knows to be small."""
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    pa = import_module("pyarrow")  # it says nothing of its types
    parsed = StructType.fromDDL(schema)
    assert isinstance(parsed, StructType)
    fields = to_arrow_schema(parsed)
    columns = zip(*rows, strict=True) if rows else [()] * len(fields)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, fields, strict=True)]
    return spark.createDataFrame(pa.Table.from_arrays(arrays, schema=fields))


def part_rows(spark: SparkSession, parts: Sequence[Part]) -> DataFrame:
    """The numbers of the partitions, to be joined (broadcast) with either side."""
    rows = [(part.number, *part.key) for part in parts]
    return small_frame(spark, PART_SCHEMA, rows)


def known_layers(
    spark: SparkSession,
    parts: Sequence[Part],
    damaged: Mapping[PartKey, Sequence[tuple[int, int]]],
) -> DataFrame:
    """What is known of all partitions, as layers for `ranges.segments`."""
    rows = []
    for part in parts:
        stretches = part.stretches() | {"damaged": list(damaged.get(part.key, ()))}
        for layer, found in stretches.items():
            rows += [(part.number, layer, start, end, 1) for start, end in found if start < end]
    return small_frame(spark, LAYER_SCHEMA, rows)
