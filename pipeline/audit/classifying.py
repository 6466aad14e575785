"""Every offset of every partition by kind: runs of both sides, what is known, what was seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as f

from barnabas.pipeline.audit.kinds import FLAGS, Kind, kind_column
from barnabas.pipeline.audit.parts import Part, small_frame
from barnabas.pipeline.audit.ranges import layers, segments

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = 5
LAYERS = (
    "held", "below", "stable", "landed", "late", "damaged",
    "stored", "lake", "folder", "differing", "committed", "marker", "thinned",
)  # fmt: skip


def lake_layers(runs: DataFrame) -> DataFrame:
    """Runs of the lake's rows as layers: what entries name, and what lies in the folder."""
    named = f.col("times_named")
    return layers(runs, {"lake": f.least(named, f.lit(1)), "folder": f.greatest(named, f.lit(1))})


def holes(wanted: DataFrame, filled: DataFrame) -> DataFrame:
    """The stretches of `wanted` that no stretch of `filled` covers: part, start, end."""
    both = [layers(wanted, {"wanted": 1}), layers(filled, {"filled": 1})]
    found = segments(both, ("wanted", "filled")).where("wanted > 0 AND filled = 0")
    return found.select("part", "start", "end")


def classified(
    spark: SparkSession,
    laid: Sequence[DataFrame],
    parts: Sequence[Part],
    *,
    unprobed: Set[int],
    is_everything: bool,
) -> DataFrame:
    """Segments with their kind: part, start, end, kind, count, committed, stored, rows.

    `count` is the number of offsets; of DOUBLED, of rows too many. `stored`: the broker gave a
    record there; `committed`: a committed one, which the log still holds; `rows`: of the lake.
    """
    facts = small_frame(
        spark,
        "part int, current boolean, compacting boolean, trimmed boolean, unprobed boolean",
        [
            (
                part.number,
                part.is_current,
                part.is_compacting,
                part.is_trimmed,
                part.number in unprobed,
            )
            for part in parts
        ],
    )
    names = facts.columns
    found = segments(laid, LAYERS).join(f.broadcast(facts), "part")
    flags = {name: f.col(name) for name in FLAGS if name in names}
    flags |= {name: f.col(name) > 0 for name in FLAGS if name in LAYERS}
    flags["doubled"] = flags["lake"] & (f.col("folder") > 1)
    flags["everything"] = f.lit(is_everything)
    if is_everything:  # nobody has asked for committed records alone
        flags["committed"] = flags["stored"] & flags["stable"]
    length = f.col("end") - f.col("start")
    kind = kind_column(flags)
    return found.select(
        "part",
        "start",
        "end",
        kind.alias("kind"),
        f.when(kind == Kind.DOUBLED.value, length * (f.col("folder") - 1))
        .otherwise(length)
        .alias("count"),
        (flags["held"] & flags["stored"] & flags["committed"]).alias("committed"),
        flags["stored"].alias("stored"),
        f.when(flags["lake"], length * f.col("folder")).otherwise(0).alias("rows"),
    )


def by_kind(segments: DataFrame) -> DataFrame:
    """One row per part and kind: count, ranges, committed, stored, rows, examples (its largest few
    segments)."""
    largest = Window.partitionBy("part", "kind").orderBy(f.col("start") - f.col("end"), "start")
    ranked = segments.withColumn("rank", f.row_number().over(largest))
    length = f.col("end") - f.col("start")
    example = f.when(f.col("rank") <= EXAMPLES, f.struct("start", "end"))
    return ranked.groupBy("part", "kind").agg(
        f.sum("count").alias("count"),
        f.count("*").alias("ranges"),
        f.sum(f.when(f.col("committed"), length).otherwise(0)).alias("committed"),
        f.sum(f.when(f.col("stored"), length).otherwise(0)).alias("stored"),
        f.sum("rows").alias("rows"),
        f.sort_array(f.collect_list(example)).alias("examples"),
    )


def map_cells(
    spark: SparkSession, segments: DataFrame, widths: Mapping[int, tuple[int, int]]
) -> DataFrame:
    """The gap map: part, bin, kind, count. `widths`: first offset and offsets of a bin, by part."""
    rows = [(part, low, width) for part, (low, width) in widths.items()]
    known = small_frame(spark, "part int, low bigint, width bigint", rows)
    placed = segments.where("kind IS NOT NULL").join(f.broadcast(known), "part")
    placed = placed.where("end > low").withColumn("start", f.greatest("start", "low"))
    first = f.floor((f.col("start") - f.col("low")) / f.col("width"))
    last = f.floor((f.col("end") - 1 - f.col("low")) / f.col("width"))
    cells = placed.withColumn("bin", f.explode(f.sequence(first, last)))
    bin_start = f.col("low") + f.col("bin") * f.col("width")
    overlap = f.least("end", bin_start + f.col("width")) - f.greatest("start", bin_start)
    return cells.groupBy("part", "bin", "kind").agg(f.sum(overlap).alias("count"))
