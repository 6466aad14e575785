"""What the lake holds: the files that entries name, and those that lie in its folder.

Whoever reads the lake by its entries sees the former, whoever opens the folder with another tool
sees the latter; a record has to be there once for both. Files, entries and what they say are
listed on the driver (a line each), rows stay in Spark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from barnabas.pipeline.audit.parts import PartKey
from barnabas.pipeline.lake.entries import DEAD_LETTERS, Entry, LakeState, LandedFile, state_of
from barnabas.pipeline.lake.folders import Folder, folder_at
from barnabas.pipeline.lake.lake import read_files
from barnabas.pipeline.lake.log import read_entries
from barnabas.pipeline.lake.schema import file_schema
from barnabas.pipeline.spark.failures import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EXTENSION = ".parquet"
ROW_COLUMNS = (
    "topic", "partition", "offset", "timestamp", "timestamp_type", "key", "value", "headers",
    "landed_at",
)  # fmt: skip


@dataclass(frozen=True)
class LakeView:
    """A lake at one moment: its entries, and the Parquet files in its folder with their sizes."""

    folder: Folder
    state: LakeState
    times_named: Mapping[str, int]
    sizes: Mapping[str, int]
    topics: Sequence[str] = field(default_factory=tuple)

    def named(self) -> list[LandedFile]:
        """The files of the topics that entries name."""
        return [file for file in self.state.files if file.topic in self.topics]

    def gone(self) -> list[LandedFile]:
        """Of these, the ones that are not there."""
        return [file for file in self.named() if file.path not in self.sizes]

    def strangers(self) -> list[str]:
        """Parquet files among the data of the topics that no entry names."""
        named = {file.path for file in self.state.files}
        return [
            path
            for path in sorted(self.sizes)
            if path not in named and (_topic_in(path) in self.topics)
        ]

    def landed(self) -> dict[PartKey, tuple[tuple[int, int], ...]]:
        """The ranges of offsets that batches have read, by partition, in order and joined."""
        found: dict[PartKey, list[tuple[int, int]]] = {}
        for landing in self.state.landings:
            if landing.topic not in self.topics:
                continue
            for partition, ranges in landing.offsets.items():
                key = PartKey(landing.topic, landing.topic_id or "", partition)
                found.setdefault(key, []).extend(ranges)
        return {key: joined(ranges) for key, ranges in found.items()}

    def is_overtaken(self, now: LakeView) -> bool:
        """Whether files have come to count or have gone since: a compaction was at work."""
        named = {file.path for file in now.state.files}
        return any(path not in now.sizes for path in self.sizes) or any(
            path in named for path in self.strangers()
        )

    def cluster_ids(self) -> dict[str, str]:
        """The clusters that the topics were landed from, each with one of its topics."""
        return {
            landing.cluster_id: landing.topic
            for landing in self.state.landings
            if landing.topic in self.topics
        }


def joined(ranges: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Ranges [start, end) in order, those that touch or overlap as one, empty ones left out."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(each for each in ranges if each[0] < each[1]):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return tuple(found)


def look(spark: SparkSession, path: str) -> LakeView:
    """The lake at a path, all of its topics; PipelineError for a folder where nothing has landed.

    Entries are read before the folder is listed.
    """
    folder = folder_at(spark, path)
    entries = read_entries(folder)
    if not entries:
        raise PipelineError(f"{path} is no lake: nothing has landed there; --lake names another")
    sizes = {name: size for name, size in folder.walk() if _is_data(name)}
    return LakeView(folder, state_of(entries), _times_named(entries), sizes)


def _times_named(entries: Sequence[Entry]) -> dict[str, int]:
    return Counter(file.path for entry in entries for file in entry.added)


def _is_data(path: str) -> bool:
    parts = path.removeprefix(DEAD_LETTERS + "/").split("/")
    return path.endswith(EXTENSION) and not any(part[:1] in "_." for part in parts)


def _topic_in(path: str) -> str:
    parts = path.removeprefix(DEAD_LETTERS + "/").split("/")
    return parts[0].removeprefix("topic=") if parts[0].startswith("topic=") else ""


def rows(spark: SparkSession, view: LakeView, only: Set[str] | None = None) -> DataFrame:
    """Every row in the folder: ROW_COLUMNS, topic_id, file, row_index, times_named.

    `times_named` is how often entries name the row's file: 1, or something is wrong. `only`: of
    these files.
    """
    by_times: dict[tuple[int, bool], list[str]] = {}
    for file in view.named():
        if file.path in view.sizes and (only is None or file.path in only):
            key = (view.times_named[file.path], file.is_dead_letters)
            by_times.setdefault(key, []).append(file.path)
    for path in view.strangers():
        if only is None or path in only:
            by_times.setdefault((0, path.startswith(DEAD_LETTERS + "/")), []).append(path)
    frames = [
        _read(spark, view.folder, paths, times, is_dead)
        for (times, is_dead), paths in sorted(by_times.items())
    ]
    if not frames:
        return _read(spark, view.folder, [], 1, False)
    return reduce(lambda left, right: left.unionByName(right), frames)


def _read(
    spark: SparkSession, folder: Folder, paths: Sequence[str], times: int, is_dead: bool
) -> DataFrame:
    from pyspark.sql import functions as f

    if not paths:
        empty = spark.createDataFrame([], file_schema())
        placed = empty.withColumns({"file": f.lit(""), "row_index": f.lit(0).cast("long")})
    else:
        files = [LandedFile(path, 0, 0, None, {}) for path in paths]
        found = read_files(spark, folder, files, DEAD_LETTERS if is_dead else "")
        placed = found.withColumns(
            {"file": f.col("_metadata.file_path"), "row_index": f.col("_metadata.row_index")}
        )
    topic_id = f.coalesce(f.col("topic_id"), f.lit("")).alias("topic_id")
    times_named = f.lit(times).alias("times_named")
    return placed.select(*ROW_COLUMNS, topic_id, "file", "row_index", times_named)


def path_in_lake(folder: Folder, file: str) -> str:
    """The path of a file within the lake, from the address that Spark gives it."""
    root = unquote(urlsplit(folder.uri).path).rstrip("/")
    return unquote(urlsplit(file).path).removeprefix(root).lstrip("/")
