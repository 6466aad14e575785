"""Small files of a lake merged into larger ones, beside landings and readers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as f

from barnabas.pipeline.lake.entries import DEAD_LETTERS, Held
from barnabas.pipeline.lake.folders import Folder, folder_at
from barnabas.pipeline.lake.lake import read_files
from barnabas.pipeline.lake.log import read_state
from barnabas.pipeline.lake.schema import stored_schema
from barnabas.pipeline.land import staged
from barnabas.pipeline.land.bundles import Bundle, at_once, bundles
from barnabas.pipeline.land.compact_plan import (
    CompactPlan,
    carry_out,
    new_run_id,
    recover,
    staging_path,
    write_plan,
)
from barnabas.pipeline.spark.failures import PipelineError, is_of_spark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WANTED_BYTES = 128 << 20
BUNDLE = "bundle"


@dataclass(frozen=True)
class Compacted:
    """What a compaction has done."""

    merged: int = 0  # files that are no more
    into: int = 0  # files in their place
    carried_through: int = 0  # compactions that a kill had stopped


def compact(
    spark: SparkSession,
    path: str,
    *,
    topics: Sequence[str] | None = None,
    wanted_bytes: int = WANTED_BYTES,
    grace_s: int = 0,
    wait: Callable[[float], None] = time.sleep,
) -> Compacted:
    """Merge the small files of a lake, each topic, id and day for itself; nothing else changes.

    For `grace_s` merged files count already and what they replace is still there. PipelineError
    when what was written is not what was read: the lake is as it was then.
    """
    staged.set_up(spark)
    lake = folder_at(spark, path)
    before = recover(lake)
    files = [file for file in read_state(lake).files if topics is None or file.topic in topics]
    merged = into = 0
    for job in at_once(bundles(files, wanted_bytes)):
        plan = _written(spark, lake, job, grace_s)
        if plan is None:
            continue
        write_plan(lake, plan)
        if carry_out(lake, plan, wait):
            merged += len(plan.removed)
            into += len(plan.added)
    return Compacted(merged, into, before)


def _written(
    spark: SparkSession, lake: Folder, job: Sequence[Bundle], grace_s: int
) -> CompactPlan | None:
    """Step 1, cleaned up behind where it fails.

    None where another compaction has replaced the files while they were read.
    """
    run_id = new_run_id()
    try:
        return _merged(spark, lake, job, CompactPlan(run_id, (), (), (), grace_s))
    except Exception as error:
        with suppress(Exception):  # the JVM may be no more: that is told by the first
            lake.delete(staging_path(run_id))
        if is_of_spark(error) and not _still_count(lake, job):
            return None
        raise


def _still_count(lake: Folder, job: Sequence[Bundle]) -> bool:
    counting = {file.path for file in read_state(lake).files}
    return counting.issuperset(file.path for bundle in job for file in bundle.files)


def _merged(
    spark: SparkSession, lake: Folder, job: Sequence[Bundle], plan: CompactPlan
) -> CompactPlan:
    """The plan with its merged files, each checked against what its bundle holds."""
    uri = f"{lake.uri.rstrip('/')}/{plan.staging}"
    rows = merged_rows(spark, lake, job)
    rows.write.partitionBy(BUNDLE).options(**staged.WRITE_OPTIONS).parquet(uri)
    sizes = _checked(spark, uri, job)
    moves, added = [], []
    for number, bundle in enumerate(job):
        (file_name, size) = sizes[number]
        file = bundle.merged(f"compacted-{plan.run_id}-{number:05}.parquet", size)
        moves.append((f"{BUNDLE}={number}/{file_name}", file.path))
        added.append(file)
    removed = tuple(file.path for bundle in job for file in bundle.files)
    return replace(plan, moves=tuple(moves), added=tuple(added), removed=removed)


def merged_rows(spark: SparkSession, lake: Folder, job: Sequence[Bundle]) -> DataFrame:
    """The rows of all bundles with the number of their own; one task has all of a bundle."""
    is_dead, parsed = job[0].kind
    files = [file for bundle in job for file in bundle.files]
    numbers = [
        (file.path.rpartition("/")[2], number)
        for number, bundle in enumerate(job)
        for file in bundle.files
    ]
    table = f.broadcast(spark.createDataFrame(numbers, f"of_file STRING, {BUNDLE} INT"))
    rows = read_files(spark, lake, files, DEAD_LETTERS if is_dead else "", parsed=parsed)
    rows = rows.select("*", f.col("_metadata.file_name").alias("file_name"))
    columns = stored_schema(parsed).names
    numbered = rows.join(table, f.col("file_name") == f.col("of_file")).select(*columns, BUNDLE)
    return numbered.repartition(len(job), BUNDLE).sortWithinPartitions(
        BUNDLE, "partition", "offset"
    )


def _checked(spark: SparkSession, uri: str, job: Sequence[Bundle]) -> list[tuple[str, int]]:
    schema = f"partition INT, offset BIGINT, {BUNDLE} INT"
    written = spark.read.schema(schema).option("__globPaths__", "false").parquet(uri)
    found = (
        written.select(
            "*",
            f.col("_metadata.file_name").alias("file_name"),
            f.col("_metadata.file_size").alias("size_bytes"),
        )
        .groupBy(BUNDLE, "partition", "file_name", "size_bytes")
        .agg(
            f.min("offset").alias("first"),
            f.max("offset").alias("last"),
            f.count("*").alias("n"),
            f.count_distinct("offset").alias("different"),
        )
        .collect()
    )
    held: list[dict[int, Held]] = [{} for _ in job]
    names: dict[int, tuple[str, int]] = {}
    is_doubled = False
    for row in found:
        held[row[BUNDLE]][row.partition] = Held(row.first, row.last, row.n)
        is_doubled |= row.n != row.different
        names[row[BUNDLE]] = (row.file_name, row.size_bytes)
    files = {(row[BUNDLE], row.file_name) for row in found}
    if is_doubled or len(files) != len(job) or held != [bundle.held() for bundle in job]:
        raise PipelineError(
            "the merged files do not hold what the files to be merged do: nothing was changed; "
            "`barnabas pipeline audit` shows what is wrong in the lake"
        )
    return [names[number] for number in range(len(job))]
