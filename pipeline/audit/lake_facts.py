"""What is asked of the lake's rows alone: files against their entries, order, volume, delay."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as f

from barnabas.pipeline.audit.contents import IN_FILE
from barnabas.pipeline.audit.lake_side import LakeView, path_in_lake
from barnabas.pipeline.audit.parts import PartKey
from barnabas.pipeline.audit.summary import Delay, FileFault, Volume

if TYPE_CHECKING:
    from barnabas.pipeline.lake.entries import LandedFile

Span = tuple[int, int]
OUTLIER_SPANS = 10
DELAY_STEPS = 28  # of a doubling: a fortieth each


@dataclass(frozen=True)
class FileHolds:
    """What a file holds of a partition.

    `behind` rows come behind a larger offset. `is_tangled`: its runs of rows lie within one
    another, and have to be found again as they were written.
    """

    path: str
    key: PartKey
    rows: int
    first: int
    last: int
    times_ms: Span
    behind: int = 0
    is_tangled: bool = False


def file_holds(view: LakeView, runs: DataFrame) -> list[FileHolds]:
    """What each file holds, a row per file and partition, from the runs of its rows."""
    as_written = Window.partitionBy(*IN_FILE).orderBy("first_row")
    earlier = as_written.rowsBetween(Window.unboundedPreceding, -1)
    is_behind = f.col("start") < f.lag("end").over(as_written) - 1
    is_within = f.col("first_row") <= f.max("last_row").over(earlier)
    marked = runs.withColumns(
        {
            "is_behind": f.coalesce(is_behind, f.lit(False)),
            "is_tangled": f.coalesce(is_within, f.lit(False))
            | (f.col("rows") != f.col("end") - f.col("start")),
        }
    )
    grouped = marked.groupBy(*IN_FILE).agg(
        f.sum("rows").alias("rows"),
        f.min("start").alias("first"),
        (f.max("end") - 1).alias("last"),
        f.min("first_ms").alias("first_ms"),
        f.max("last_ms").alias("last_ms"),
        f.count_if("is_behind").alias("behind"),
        f.max("is_tangled").alias("is_tangled"),
    )
    return [
        FileHolds(
            path_in_lake(view.folder, row.file),
            PartKey(row.topic, row.topic_id, row.partition),
            row.rows,
            row["first"],
            row["last"],
            (row.first_ms, row.last_ms),
            row.behind,
            row.is_tangled,
        )
        for row in grouped.collect()
    ]


def file_faults(
    view: LakeView, holds: Iterable[FileHolds]
) -> tuple[list[FileFault], dict[PartKey, list[Span]]]:
    """Files that are not what their entries say, and the offsets that went with them.

    A file that no entry names is a fault where it begins below the end of what has landed: the
    entry that named it is lost, or somebody has put it there. From that end on it is what a batch
    that is not finished has written.
    """
    by_path: dict[str, list[FileHolds]] = {}
    for each in holds:
        by_path.setdefault(each.path, []).append(each)
    faults: list[FileFault] = []
    damaged: dict[PartKey, list[Span]] = {}
    for file in view.named():
        found = sum(each.rows for each in by_path.get(file.path, ()))
        if fault := _fault_of(file, found, view.sizes, view.times_named[file.path]):
            faults.append(fault)
        if found < file.rows:
            for partition, held in file.offsets.items():
                key = PartKey(file.topic, file.topic_id or "", partition)
                damaged.setdefault(key, []).append((held.first, held.last + 1))
    landed = view.landed()
    for path in view.strangers():
        below = [each for each in by_path.get(path, ()) if _is_below_end(each, landed)]
        if below:
            rows = sum(each.rows for each in below)
            faults.append(FileFault(path, "no entry of the lake names it", rows))
    return faults, damaged


def _fault_of(
    file: LandedFile, found: int, sizes: Mapping[str, int], times_named: int
) -> FileFault | None:
    if file.path not in sizes:
        return FileFault(file.path, "it is gone", file.rows)
    if times_named > 1:
        return FileFault(file.path, f"entries name it {times_named} times", found)
    if found != file.rows:
        said = f"it has {found:,} rows where its entry says {file.rows:,}"
        return FileFault(file.path, said, abs(file.rows - found))
    if sizes[file.path] != file.bytes:
        said = f"it has {sizes[file.path]:,} bytes where its entry says {file.bytes:,}"
        return FileFault(file.path, said, found)
    return None


def _is_below_end(holds: FileHolds, landed: Mapping[PartKey, Sequence[Span]]) -> bool:
    return any(holds.first < end for _, end in landed.get(holds.key, ()))


def out_of_order(holds: Iterable[FileHolds]) -> dict[PartKey, int]:
    """How many rows of each partition come behind a larger offset in their file."""
    found: dict[PartKey, int] = {}
    for each in holds:
        if each.behind:
            found[each.key] = found.get(each.key, 0) + each.behind
    return found


# --- over time -----------------------------------------------------------------------------


def time_range(holds: Sequence[FileHolds]) -> Span | None:
    """The time of the first record and of the last."""
    times = [each.times_ms for each in holds if each.times_ms[0] is not None]
    if not times:
        return None
    return min(least for least, _ in times), max(most for _, most in times)


def may_have_outliers(volumes: Sequence[Volume], start_ms: int, width_ms: int, bins: int) -> bool:
    """Whether all but a thousandth of the rows on either side lie in a tenth of the bins."""
    by_bin = [0] * bins
    for volume in volumes:
        by_bin[(volume.start_ms - start_ms) // width_ms] += volume.rows
    few = sum(by_bin) / 1000
    low = next(at for at in range(bins) if sum(by_bin[: at + 1]) > few)
    high = next(at for at in reversed(range(bins)) if sum(by_bin[at:]) > few)
    return high - low < bins / OUTLIER_SPANS + 2


def inner_times(rows: DataFrame) -> Span:
    """The times that all but a thousandth of the rows on either side lie between."""
    inner = f.percentile_approx(f.unix_millis("timestamp"), [0.001, 0.999], 1000)
    (row,) = rows.agg(inner.alias("inner")).collect()
    return row.inner[0], row.inner[1]


def without_outliers(least: int, most: int, low: int, high: int) -> Span:
    """A range of time to draw: all of it, unless a thousandth of the records stretch it tenfold."""
    allowance = OUTLIER_SPANS * max(high - low, 1000)
    start = least if low - least <= allowance else low
    end = most if most - high <= allowance else high
    return start, end + 1


def over_time(
    rows: DataFrame, numbers: DataFrame, start_ms: int, width_ms: int, bins: int
) -> tuple[list[Volume], list[Delay]]:
    """Rows by `part`, and their delays, by stretch of time; outside counts for the nearest.

    `numbers` has the numbers of partitions. Delays are counted by their size, in steps of a
    fortieth of it, and of what is as large the largest is shown.
    """
    delay = f.unix_millis("landed_at") - f.unix_millis("timestamp")
    key = ["topic", "topic_id", "partition"]
    placed = rows.select(*key, _bin(start_ms, width_ms, bins).alias("bin"), delay.alias("delay"))
    size = f.floor(f.log2(f.abs("delay") + 1) * DELAY_STEPS) * f.signum("delay")
    counted = placed.groupBy(*key, "bin", size.cast("int").alias("size")).agg(
        f.count("*").alias("rows"), f.max("delay").alias("delay")
    )
    numbered = counted.join(f.broadcast(numbers), key)
    both = numbered.groupingSets([["part", "bin"], ["bin"]], "part", "bin").agg(
        f.grouping("part").alias("is_all"),
        f.sum("rows").alias("rows"),
        f.percentile("delay", [0.5, 0.95], f.col("rows")).alias("inner"),
        f.max("delay").alias("most"),
    )
    volumes: list[Volume] = []
    delays: list[Delay] = []
    for row in both.collect():
        at = start_ms + row.bin * width_ms
        if not row.is_all:
            volumes.append(Volume(row.part, at, row.rows))
        elif row.most is not None:
            median_ms, p95_ms = (round(each) for each in row.inner)
            delays.append(Delay(at, row.rows, median_ms, p95_ms, row.most))
    by_part = sorted(volumes, key=lambda each: (each.part, each.start_ms))
    return by_part, sorted(delays, key=lambda each: each.start_ms)


def _bin(start_ms: int, width_ms: int, bins: int) -> Column:
    place = f.floor((f.unix_millis("timestamp") - f.lit(start_ms)) / f.lit(width_ms))
    return f.least(f.greatest(place, f.lit(0)), f.lit(bins - 1)).cast("int")
