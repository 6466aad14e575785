"""Stretches of offsets as rows: layers of stretches become segments.

All of it stays in Spark. A stretch is `[start, end)` of `part`, the number of a partition in
`audit.parts`. Stretches of a layer that touch become one in `segments`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

LAYER_SCHEMA = "part int, layer string, start bigint, end bigint, weight int"


def layers(stretches: DataFrame, weights: Mapping[str, Column | int]) -> DataFrame:
    """Stretches as layers of `segments`; a weight counts how much lies on each offset."""
    each = [
        f.struct(
            f.lit(name).alias("layer"),
            (weight if isinstance(weight, Column) else f.lit(weight)).cast("int").alias("weight"),
        )
        for name, weight in weights.items()
    ]
    laid = stretches.select("part", "start", "end", f.explode(f.array(*each)).alias("each"))
    found = laid.select("part", "each.layer", "start", "end", "each.weight")
    return found.where("weight != 0")


def segments(laid: Sequence[DataFrame], names: Sequence[str]) -> DataFrame:
    """Where the layers lie over one another: part, start, end, and each layer's depth.

    A sweep along each partition: a layer begins with its weight and ends with its negative, the
    running sum is how much of it lies here. Segments touch but never overlap.
    """
    columns = ["part", "layer", "start", "end", "weight"]
    stretches = reduce(DataFrame.union, [each.select(*columns) for each in laid])
    ends = f.explode(
        f.array(
            f.struct(f.col("start").alias("at"), f.col("weight").alias("change")),
            f.struct(f.col("end").alias("at"), (-f.col("weight")).alias("change")),
        )
    )
    changes = stretches.where("start < end").select("part", "layer", ends.alias("edge"))
    changed = [_change_of(name).alias(name) for name in names]
    at = changes.groupBy("part", f.col("edge.at").alias("start")).agg(*changed)
    at = at.where(reduce(Column.__or__, [f.col(name) != 0 for name in names]))
    in_order = Window.partitionBy("part").orderBy("start")
    depths = [f.sum(name).over(in_order).alias(name) for name in names]
    found = at.select("part", "start", f.lead("start").over(in_order).alias("end"), *depths)
    return found.where(f.col("end").isNotNull() & _any_of(names))


def _change_of(name: str) -> Column:
    return f.sum(f.when(f.col("layer") == name, f.col("edge.change")).otherwise(0))


def _any_of(names: Sequence[str]) -> Column:
    return reduce(Column.__or__, [f.col(name) != 0 for name in names])
