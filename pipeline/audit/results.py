"""From segments in Spark to what the driver keeps: counts, examples, the map, time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from barnabas.pipeline.audit import classifying, lake_facts
from barnabas.pipeline.audit.kinds import Kind
from barnabas.pipeline.audit.lake_facts import FileHolds
from barnabas.pipeline.audit.parts import Part, PartKey
from barnabas.pipeline.audit.summary import Found, KindCount, MapCell, PartFound

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MAP_BINS = 240
MAP_CELLS = 24_000
TIME_BINS = 60
VOLUME_CELLS = 60_000


class PartFacts(NamedTuple):
    """What comparing the cells of a partition has shown; cells [first, last] are unlike."""

    records: int
    first_ms: int | None
    last_ms: int | None
    unlike_cells: int
    first_unlike: int | None
    last_unlike: int | None


def part_facts(cells: DataFrame) -> dict[int, PartFacts]:
    """By part, from `contents.cells`."""
    from pyspark.sql import functions as f

    unlike = f.when(f.col("is_unlike"), f.col("cell"))
    grouped = cells.groupBy("part").agg(
        f.sum("stored"),
        f.min("first_ms"),
        f.max("last_ms"),
        f.count(unlike),
        f.min(unlike),
        f.max(unlike),
    )
    return {row[0]: PartFacts(*row[1:]) for row in grouped.collect()}


def parts_found(
    segments: DataFrame,
    parts: Sequence[Part],
    facts: Mapping[int, PartFacts],
    behind: Mapping[PartKey, int],
) -> list[PartFound]:
    """Each partition with its kinds; `behind` are its rows out of order."""
    kinds: dict[int, dict[Kind, KindCount]] = {}
    totals: dict[int, Totals] = {}
    for row in classifying.by_kind(segments).collect():
        before = totals.get(row.part, Totals(0, 0, 0))
        totals[row.part] = Totals(
            before.stored + row.stored, before.committed + row.committed, before.rows + row.rows
        )
        if row.kind is not None:
            shown = tuple((each.start, each.end - 1) for each in row.examples)
            count = KindCount(Kind(row.kind), row["count"], row.ranges, shown)
            kinds.setdefault(row.part, {})[count.kind] = count
    for part in parts:
        if rows := behind.get(part.key):
            count = KindCount(Kind.OUT_OF_ORDER, rows, rows, ())
            kinds.setdefault(part.number, {})[count.kind] = count
    nothing = PartFacts(0, None, None, 0, None, None)
    return [
        _part_found(
            part,
            totals.get(part.number, Totals(0, 0, 0)),
            facts.get(part.number, nothing),
            kinds.get(part.number, {}),
        )
        for part in parts
    ]


class Totals(NamedTuple):
    """Of a partition: records of the broker, committed ones, rows of the lake."""

    stored: int
    committed: int
    rows: int


def _part_found(
    part: Part, totals: Totals, facts: PartFacts, kinds: Mapping[Kind, KindCount]
) -> PartFound:
    return PartFound(
        part=part,
        broker_records=totals.stored,
        committed_records=totals.committed,
        lake_rows=totals.rows,
        first_ms=facts.first_ms,
        last_ms=facts.last_ms,
        kinds={kind: kinds[kind] for kind in Kind if kind in kinds},
    )


def with_map(found: Found, spark: SparkSession, segments: DataFrame) -> Found:
    """The audit with its gap map: fewer bins, the more partitions there are."""
    bins = max(24, min(MAP_BINS, MAP_CELLS // max(len(found.parts), 1)))
    ranges = {each.part.number: map_range(each.part) for each in found.parts}
    ranges = {number: each for number, each in ranges.items() if each[0] < each[1]}
    if not ranges:
        return found
    widths = {number: (low, -(-(high - low) // bins)) for number, (low, high) in ranges.items()}
    rows = classifying.map_cells(spark, segments, widths).collect()
    cells = [MapCell(row.part, row.bin, Kind(row.kind), row["count"]) for row in rows]
    cells.sort(key=lambda cell: (cell.part, cell.bin))
    return replace(found, cells=cells, map_ranges=ranges, map_bins=bins)


def map_range(part: Part) -> tuple[int, int]:
    """The offsets that the gap map shows: not the long past of a log that begins far on."""
    if not part.is_current:
        return (part.landed[0][0], part.landed[-1][1]) if part.landed else (0, 0)
    low = part.log_start if part.landed_start is None else min(part.landed_start, part.log_start)
    high = max(part.log_end, part.landed_end or 0)
    return (0, high) if low <= 4 * (high - low) else (low, high)


def with_times(
    found: Found, rows: DataFrame, numbers: DataFrame, holds: Sequence[FileHolds]
) -> Found:
    """The audit with volume and delay over time; `rows` are the lake's."""
    span = lake_facts.time_range(holds)
    if span is None:
        return found
    bins = max(12, min(TIME_BINS, VOLUME_CELLS // max(len(found.parts), 1)))
    start, width = span[0], _width(span[0], span[1] + 1, bins)
    volumes, delays = lake_facts.over_time(rows, numbers, start, width, bins)
    if lake_facts.may_have_outliers(volumes, start, width, bins):
        start, end = lake_facts.without_outliers(*span, *lake_facts.inner_times(rows))
        if (start, end) != (span[0], span[1] + 1):
            width = _width(start, end, bins)
            volumes, delays = lake_facts.over_time(rows, numbers, start, width, bins)
    return replace(found, volumes=volumes, delays=delays, bin_ms=width)


def _width(start_ms: int, end_ms: int, bins: int) -> int:
    return max(1, -(-(end_ms - start_ms) // bins))
