"""Both sides as runs of offsets, each with a digest of its records: no row is sorted or shuffled.

A run is found without putting rows in order. Where one offset follows another, the offset less
the row's place stays the same: in a file its row number, in a task that reads a topic a counter.
So one grouping makes runs of rows, within cells of `CELL_OFFSETS`, and what is shuffled are runs.

A record's content is one number, computed the same way on both sides: 64 bits of xxhash64 over
offset, key, value, headers, timestamp and its type. Spark's hash skips nulls, so whether each part
is null is hashed beside it: a null key is not an empty one. A digest is all of them by XOR: where
counts and digests of a cell agree, both sides hold the same records there.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

CELL_BITS = 12
"""A cell has 4,096 offsets: what is looked at row by row where anything differs in it."""
IN_FILE = ("file", "topic", "topic_id", "partition")


def content_hash(timestamp_type: str) -> Column:
    """The hash of a row with the columns key, value, headers, timestamp and `timestamp_type`."""
    header_count = f.coalesce(f.size("headers"), f.lit(0))
    # JSON tells null from empty, and a record without headers does not pay for it.
    headers = f.when(header_count > 0, f.to_json("headers", {"ignoreNullFields": "false"}))
    return f.xxhash64(
        f.col("offset"),
        f.col("key").isNull(),
        f.col("key"),
        f.col("value").isNull(),
        f.col("value"),
        headers,
        f.unix_millis(f.col("timestamp")),
        f.col(timestamp_type).cast("int"),
    )


def cell_of(offset: str) -> Column:
    """The cell of a column with offsets."""
    return f.shiftright(offset, CELL_BITS)


def broker_runs(records: DataFrame) -> DataFrame:
    """Runs of rows of Spark's Kafka source.

    Columns: topic, partition, start, end, rows, digest, first_ms, last_ms. The source gives every
    offset once and in order, so that a run without holes has `end - start` rows.
    """
    step = f.col("offset") - f.monotonically_increasing_id()
    rows = records.select(
        "topic", "partition", "offset", "key", "value", "headers", "timestamp", "timestampType",
        step.alias("step"),
    )  # fmt: skip
    cell = cell_of("offset").alias("cell")
    return (
        rows.groupBy("topic", "partition", cell, "step")
        .agg(*_sums("timestampType"))
        .drop("cell", "step")
    )


def lake_runs(rows: DataFrame) -> DataFrame:
    """Runs of rows of the lake's files, by file and partition.

    Beside the columns of `broker_runs`: file, topic_id, times_named, first_row, last_row. In a
    file that was not written in order a run may have fewer rows than offsets, or others within it
    (`lake_facts.FileHolds.is_tangled`): then `runs_as_written` finds the runs of that file.
    """
    step = (f.col("offset") - f.col("row_index")).alias("step")
    cell = cell_of("offset").alias("cell")
    placed = [f.min("row_index").alias("first_row"), f.max("row_index").alias("last_row")]
    return (
        _placed(rows)
        .groupBy(*IN_FILE, "times_named", cell, step)
        .agg(*_sums("timestamp_type"), *placed)
        .drop("cell", "step")
    )


def runs_as_written(rows: DataFrame) -> DataFrame:
    """The same as `lake_runs` of any files, by sorting the rows of each as they were written."""
    as_written = Window.partitionBy(*IN_FILE).orderBy("row_index")
    goes_on = (f.col("offset") == f.lag("offset").over(as_written) + 1) & (
        cell_of("offset") == f.lag(cell_of("offset")).over(as_written)
    )
    marked = _placed(rows).withColumn("begins", f.when(goes_on, 0).otherwise(1))
    numbered = marked.withColumn("run", f.sum("begins").over(as_written))
    placed = [f.min("row_index").alias("first_row"), f.max("row_index").alias("last_row")]
    grouped = numbered.groupBy(*IN_FILE, "times_named", "run")
    return grouped.agg(*_sums("timestamp_type"), *placed).drop("run")


def _placed(rows: DataFrame) -> DataFrame:
    """Without rows that have no place to be looked for."""
    return rows.where("partition IS NOT NULL AND offset IS NOT NULL")


def _sums(timestamp_type: str) -> list[Column]:
    time_ms = f.unix_millis("timestamp")
    return [
        f.min("offset").alias("start"),
        (f.max("offset") + 1).alias("end"),
        f.count("*").alias("rows"),
        f.bit_xor(content_hash(timestamp_type)).alias("digest"),
        f.min(time_ms).alias("first_ms"),
        f.max(time_ms).alias("last_ms"),
    ]


# --- both sides ----------------------------------------------------------------------------


def cells(broker: DataFrame, lake: DataFrame) -> DataFrame:
    """Both sides' runs by cell: part, cell, stored, first_ms, last_ms, is_unlike.

    `is_unlike`: the lake has rows there that are not, or not once, those of the broker. A row that
    no entry names is none of the lake's, but makes unlike what it lies beside.
    """
    in_cell = Window.partitionBy("part", "cell").orderBy("start")
    before = f.max("end").over(in_cell.rowsBetween(Window.unboundedPreceding, -1))
    sides = [
        runs.select(
            "part",
            f.shiftright("start", CELL_BITS).alias("cell"),
            "start", "end", "rows", "digest", "first_ms", "last_ms",
            f.lit(is_lake).alias("is_lake"),
            times_named.alias("times_named"),
        )
        for runs, is_lake, times_named in (
            (broker, False, f.lit(1)), (lake, True, f.col("times_named")),
        )
    ]  # fmt: skip
    in_lake = f.col("is_lake")
    laid = sides[1].withColumn("is_over", f.coalesce(f.col("start") < before, f.lit(False)))
    both = sides[0].withColumn("is_over", f.lit(False)).unionByName(laid)
    grouped = both.groupBy("part", "cell").agg(
        f.sum(f.when(in_lake, 0).otherwise(f.col("rows"))).alias("stored"),
        f.sum(f.when(in_lake, f.col("rows")).otherwise(0)).alias("lake"),
        f.max(f.when(in_lake, f.col("times_named")).otherwise(0)).alias("most_named"),
        f.min("times_named").alias("least_named"),
        f.bit_xor("digest").alias("difference"),
        f.max("is_over").alias("is_over"),
        f.min("first_ms").alias("first_ms"),
        f.max("last_ms").alias("last_ms"),
    )
    is_alike = (f.col("stored") == f.col("lake")) & (f.col("difference") == 0)
    is_compared = (f.col("stored") > 0) | f.col("is_over")
    is_unlike = is_compared & (~is_alike | f.col("is_over") | (f.col("least_named") < 1))
    return grouped.select(
        "part", "cell", "stored", "first_ms", "last_ms",
        ((f.col("most_named") > 0) & is_unlike).alias("is_unlike"),
    )  # fmt: skip


def differing(broker: DataFrame | None, lake: DataFrame) -> DataFrame:
    """Where rows of one offset are not alike, as offsets: part, start, end.

    `broker` and `lake` are rows of both sides with `part`, those of unlike cells.
    """
    rows = lake.select(
        "part",
        "offset",
        f.col("times_named").alias("named"),
        f.lit(None).cast("long").alias("broker_hash"),
        content_hash("timestamp_type").alias("lake_hash"),
    )
    if broker is not None:
        records = broker.select(
            "part",
            "offset",
            f.lit(0).alias("named"),
            content_hash("timestampType").alias("broker_hash"),
            f.lit(None).cast("long").alias("lake_hash"),
        )
        rows = rows.unionByName(records)
    offsets = rows.groupBy("part", "offset").agg(
        f.sum("named").alias("named"),
        f.max("broker_hash").alias("broker_hash"),
        f.min("lake_hash").alias("least_hash"),
        f.max("lake_hash").alias("most_hash"),
    )
    is_same = (f.col("least_hash") == f.col("most_hash")) & (
        f.col("broker_hash").isNull() | (f.col("broker_hash") == f.col("most_hash"))
    )
    found = offsets.where((f.col("named") > 0) & ~is_same)
    return found.select("part", f.col("offset").alias("start"), (f.col("offset") + 1).alias("end"))
