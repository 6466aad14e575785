"""A lake as its readers see it: the rows of all batches that have landed whole.

lake = Lake(spark, "/data/lake")
lake.rows(["orders"]).where("date = '2026-03-01'").show()
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.pipeline.lake.entries import DEAD_LETTERS, LakeState, LandedFile, LandedTopic
from barnabas.pipeline.lake.folders import Folder, folder_at
from barnabas.pipeline.lake.log import read_state
from barnabas.pipeline.lake.schema import LAKE_SCHEMA, ROWS_SCHEMA, file_schema
from barnabas.pipeline.spark.kafka import NO_TOPIC_ID

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HIDDEN = ("_", ".")


class Lake:
    """The lake in a folder of any file system that Spark knows.

    Every call looks at the entries anew. A frame that it returned stays as it was: what lands
    later is not in it; it can no longer be read after a compaction has replaced its files.
    """

    def __init__(self, spark: SparkSession, path: str | Path) -> None:
        self._spark = spark
        self._folder = folder_at(spark, path)

    def state(self) -> LakeState:
        """Files and landings of one moment."""
        return read_state(self._folder)

    def rows(
        self,
        topics: Sequence[str] | None = None,
        *,
        dead_letters: bool = True,
        files: Iterable[LandedFile] | None = None,
    ) -> DataFrame:
        """One row per landed record: the columns of LAKE_SCHEMA, and `reason`.

        `topics` keeps those, None all; `reason` is null for what is no dead letter. `files`
        reads those of `files()` only, as one may do that knows that others have gone.
        """
        chosen = self.files() if files is None else files
        wanted = [
            file
            for file in chosen
            if (topics is None or file.topic in topics)
            and (dead_letters or not file.is_dead_letters)
        ]
        landed = self._read([file for file in wanted if not file.is_dead_letters])
        dead = self._read([file for file in wanted if file.is_dead_letters], DEAD_LETTERS)
        frames = [frame.select(ROWS_SCHEMA.names) for frame in (landed, dead) if frame is not None]
        if not frames:
            return self._spark.createDataFrame([], ROWS_SCHEMA)
        return frames[0] if len(frames) == 1 else frames[0].unionByName(frames[1])

    def parsed(self, topic: str) -> DataFrame:
        """The records of a topic that were parsed.

        The columns are those of LAKE_SCHEMA, `parsed`, and `unknown_fields`, the names of what
        the schema did not know.
        Records that landed with different schemas have the fields of all of them, null where
        their own has none.
        """
        by_schema: dict[str, list[LandedFile]] = {}
        for file in self.files():
            if file.topic == topic and file.parsed and not file.is_dead_letters:
                by_schema.setdefault(file.parsed, []).append(file)
        joined: DataFrame | None = None
        for schema, files in by_schema.items():
            frame = self._read(files, parsed=schema)
            assert frame is not None
            frame = frame.select(*LAKE_SCHEMA.names, "parsed", "unknown_fields")
            joined = frame if joined is None else joined.unionByName(frame, True)
        if joined is None:
            columns = f"{_ddl()}, parsed STRUCT<>, unknown_fields ARRAY<STRING>"
            return self._spark.createDataFrame([], columns)
        return joined

    def landings(self) -> tuple[LandedTopic, ...]:
        """Per landing, topic and topic id: the cluster, and by partition what has landed."""
        return self.state().landings

    def files(self) -> tuple[LandedFile, ...]:
        """The Parquet files that count."""
        return self.state().files

    def missing(self) -> tuple[LandedFile, ...]:
        """The files that count and are not there."""
        there = dict(self._folder.walk())
        return tuple(file for file in self.files() if file.path not in there)

    def strangers(self) -> tuple[str, ...]:
        """The Parquet files among the data that do not count: left by a kill, or put there."""
        found = [path for path, _ in self._folder.walk() if path.endswith(".parquet")]
        known = {file.path for file in self.files()}
        return tuple(sorted(path for path in found if path not in known and _is_data(path)))

    def _read(
        self, files: Sequence[LandedFile], below: str = "", *, parsed: str = ""
    ) -> DataFrame | None:
        if not files:
            return None
        return read_files(self._spark, self._folder, files, below, parsed=parsed)


def read_files(
    spark: SparkSession,
    folder: Folder,
    files: Sequence[LandedFile],
    below: str = "",
    *,
    parsed: str = "",
) -> DataFrame:
    """These files of a lake, or of the folder below it that their paths begin with.

    Rows of clusters without topic ids have null for one, also where an earlier Barnabas landed
    Kafka's word for that.
    """
    from pyspark.sql import functions as f

    base = folder.uri.rstrip("/")
    reader = spark.read.schema(file_schema(parsed))
    reader = reader.option("basePath", f"{base}/{below}".rstrip("/"))
    reader = reader.option("datetimeRebaseMode", "CORRECTED")
    reader = reader.option("__globPaths__", "false")  # a path may have brackets in it
    rows = reader.parquet(*(f"{base}/{file.path}" for file in files))
    return rows.withColumn("topic_id", f.nullif("topic_id", f.lit(NO_TOPIC_ID)))


def _ddl() -> str:
    return ", ".join(f"`{each.name}` {each.dataType.simpleString()}" for each in LAKE_SCHEMA)


def _is_data(path: str) -> bool:
    first, _, rest = path.partition("/")
    return (first == DEAD_LETTERS or not first.startswith(HIDDEN)) and not any(
        part.startswith(HIDDEN) for part in rest.split("/")
    )
