"""Why there are offsets without a record: what is asked of the broker and its log, and when.

Committed records are read first. Where they leave holes, the batches are looked at; holes that a
marker or compaction explains need no more. What then is left may have been aborted, or be of a
transaction that is open: only there all records are read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from barnabas.pipeline.audit import broker_side, classifying, parts
from barnabas.pipeline.audit.parts import Part
from barnabas.pipeline.audit.probing import (
    CUT,
    MARKER,
    THINNED,
    UNDECIDED,
    UNREAD,
    Probe,
    probed,
)
from barnabas.pipeline.audit.question import Question
from barnabas.pipeline.audit.ranges import LAYER_SCHEMA, layers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STRETCH_SCHEMA = "part int, start bigint, end bigint"
Stretch = tuple[int, int, int]


@dataclass(frozen=True)
class Seen:
    """What has come of it: layers of markers, thinned batches and records that are not committed;
    by part the log start that lies within a batch, and why its batches could not be looked at."""

    layers: Sequence[DataFrame] = ()
    cut: Mapping[int, int] = field(default_factory=dict)
    unread: Mapping[int, str] = field(default_factory=dict)

    def notes(self) -> list[str]:
        """What could not be looked at, for the report."""
        if not self.unread:
            return []
        return [
            f"batches of {len(self.unread)} partitions could not be looked at, so that nothing "
            f"says why there are offsets without a record: {min(self.unread.values())}"
        ]


class Explaining:
    """For one audit. `keep` makes Spark work out a frame once."""

    def __init__(
        self,
        spark: SparkSession,
        question: Question,
        all_parts: Sequence[Part],
        keep: Callable[[DataFrame], DataFrame],
    ) -> None:
        self._spark, self._question, self._keep = spark, question, keep
        self._parts = [part for part in all_parts if part.is_current]
        self._numbers = parts.part_rows(spark, self._parts)

    def explain(self, stored: DataFrame, records: Mapping[int, int]) -> Seen:
        """`stored` are the runs of the records read first, `records` their number by part."""
        unlike = [
            (part.number, part.log_start, self._end(part))
            for part in self._parts
            if self._end(part) - part.log_start != records.get(part.number, 0)
        ]
        holes = self._holes(unlike, stored)
        beginnings = [
            (part.number, part.log_start, part.log_start)
            for part in self._parts
            if part.log_start > 0
        ]
        seen = self._look_into_log(holes, beginnings)
        if self._question.is_everything:
            return seen
        return self._with_uncommitted(seen, holes)

    def _with_uncommitted(self, seen: Seen, holes: DataFrame | None) -> Seen:
        is_open = [part for part in self._parts if part.last_stable < part.log_end]
        starts = {part.number: part.last_stable for part in is_open} | self._left(holes, seen)
        found = self._uncommitted(starts)
        if found is None:
            return seen
        above = [(part.number, part.last_stable, part.log_end) for part in is_open]
        seen_above = self._look_into_log(self._holes(above, found), [])
        return Seen(
            [*seen.layers, *seen_above.layers, layers(found, {"stored": 1})],
            seen.cut,
            {**seen.unread, **seen_above.unread},
        )

    def _end(self, part: Part) -> int:
        """Where the records end that are read first."""
        end = part.log_end if self._question.is_everything else part.last_stable
        return max(end, part.log_start)

    def _holes(self, wanted: Sequence[Stretch], filled: DataFrame) -> DataFrame | None:
        """The stretches in which no record was read."""
        if not wanted:
            return None
        among = filled.where(f.col("part").isin([number for number, *_ in wanted]))
        frame = parts.small_frame(self._spark, STRETCH_SCHEMA, wanted)
        return self._keep(classifying.holes(frame, among))

    def _left(self, holes: DataFrame | None, seen: Seen) -> dict[int, int]:
        """By part where the first hole begins that is not explained yet."""
        if holes is None:
            return {}
        empty = parts.small_frame(self._spark, LAYER_SCHEMA, [])
        explained = [each.where("NOT is_undecided") for each in seen.layers] or [empty]
        left = classifying.holes(holes, explained[0]).groupBy("part")
        rows = left.agg(f.min("start").alias("start")).collect()
        return {row.part: row.start for row in rows}

    def _uncommitted(self, starts: Mapping[int, int]) -> DataFrame | None:
        """All records of partitions from an offset on, in runs; None if there are none to read."""
        wanted = [
            replace(part, log_start=max(part.log_start, starts[part.number]))
            for part in self._parts
            if part.number in starts
        ]
        if not wanted:
            return None
        found = self._keep(
            broker_side.runs(self._spark, self._question.cluster, wanted, committed=False)
        )
        found.count()
        return found

    def _look_into_log(self, holes: DataFrame | None, beginnings: Sequence[Stretch]) -> Seen:
        """Look at the batches of holes, and at the first one of a log."""
        asked = [] if holes is None or holes.isEmpty() else [holes]
        if beginnings:
            asked.append(parts.small_frame(self._spark, STRETCH_SCHEMA, beginnings))
        if not asked:
            return Seen()
        probe = Probe(self._question.cluster, self._question.log_dirs)
        named = reduce(DataFrame.unionByName, asked).join(f.broadcast(self._numbers), "part")
        found = self._keep(probed(named, probe))
        told = found.where(f.col("layer").isin(CUT, UNREAD)).groupBy("part", "layer", "end")
        rows = told.agg(f.first("note").alias("note")).collect()
        seen = found.where(f.col("layer").isin(MARKER, THINNED, UNDECIDED))
        is_undecided = f.col("layer") == UNDECIDED
        weighed = seen.select(
            "part",
            f.when(is_undecided, THINNED).otherwise(f.col("layer")).alias("layer"),
            "start",
            "end",
            f.lit(1).alias("weight"),
            is_undecided.alias("is_undecided"),
        )
        return Seen(
            [weighed],
            {row.part: row.end for row in rows if row.layer == CUT},
            {row.part: row.note for row in rows if row.layer == UNREAD},
        )
