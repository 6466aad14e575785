"""`Lake` over files that pyarrow wrote and entries by hand."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from barnabas.pipeline.lake.entries import Entry, Held, LandedFile, to_json
from barnabas.pipeline.lake.folders import HadoopFolder, LocalFolder, folder_at
from barnabas.pipeline.lake.lake import Lake
from barnabas.pipeline.lake.schema import LAKE_SCHEMA, ROWS_SCHEMA

UTC = datetime.UTC
NEW_YEAR_9999 = datetime.datetime(9999, 12, 31, 23, 59, 59, 999000, UTC)
BEFORE_1970 = datetime.datetime(1912, 6, 23, tzinfo=UTC)
PARSED = '{"type":"struct","fields":[{"name":"a","type":"long","nullable":true,"metadata":{}}]}'
MORE = PARSED.replace('"a"', '"b"')


def write(
    lake: Path, path: str, offsets: list[int], *, parsed: str = "", **columns: object
) -> LandedFile:
    """A file of partition 0 as a landing writes it."""
    count = len(offsets)
    timestamp = columns.get("timestamp", BEFORE_1970)
    table = {
        "topic_id": pa.array([columns.get("topic_id", "id")] * count, pa.string()),
        "partition": pa.array([0] * count, pa.int32()),
        "offset": pa.array(offsets, pa.int64()),
        "timestamp": pa.array([timestamp] * count, pa.timestamp("us", "UTC")),
        "timestamp_type": pa.array([0] * count, pa.int32()),
        "key": pa.array([None] * count, pa.binary()),
        "value": pa.array([b"v%d" % offset for offset in offsets]),
        "headers": pa.array(
            [[{"key": "h", "value": b"\xff"}]] * count,
            pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
        ),
        "leader_epoch": pa.array([4] * count, pa.int32()),
        "landed_at": pa.array([BEFORE_1970] * count, pa.timestamp("us", "UTC")),
        "schema_id": pa.array([None] * count, pa.int32()),
    }
    if "reason" in columns:
        table["reason"] = pa.array([columns["reason"]] * count)
    if parsed:
        name = "a" if parsed == PARSED else "b"
        table["parsed"] = pa.array([{name: offset} for offset in offsets])
    (lake / path).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(table), lake / path)
    held = {0: Held(min(offsets), max(offsets), count)}
    return LandedFile(path, count, (lake / path).stat().st_size, "id", held, parsed)


def enter(lake: Path, batch: int, *files: LandedFile, removed: tuple[str, ...] = ()) -> None:
    """An entry of these files."""
    entry = Entry("l", batch, "c", 0, {}, {}, files, removed)
    assert LocalFolder(lake).publish(entry.path, to_json(entry))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a lake may be: brackets and blanks mean nothing in it."""
    return tmp_path / "a lake [1] {2} %20 *"


def offsets(lake: Lake, *topics: str, **options: bool) -> list[int]:
    rows = lake.rows(topics or None, **options).select("offset").collect()
    return sorted(row.offset for row in rows)


def test_a_lake_that_is_not_there_is_empty(spark: SparkSession, path: Path) -> None:
    lake = Lake(spark, path)
    assert lake.rows().schema == ROWS_SCHEMA
    assert (lake.rows().count(), lake.files(), lake.landings()) == (0, (), ())
    assert lake.parsed("t").count() == 0


def test_rows_are_those_of_the_files_that_count(spark: SparkSession, path: Path) -> None:
    dead = "_dead_letters/topic=7/date=9999-12-31/d.parquet"
    enter(path, 0, write(path, "topic=7/date=1912-06-23/a.parquet", [0, 1]))
    enter(path, 1, write(path, dead, [2], reason="empty", timestamp=NEW_YEAR_9999))
    enter(path, 2, write(path, "topic=a.b_c/date=1912-06-23/b.parquet", [3]))
    write(path, "topic=7/date=1912-06-23/left-by-a-kill.parquet", [0, 1])
    lake = Lake(spark, path)
    assert offsets(lake) == [0, 1, 2, 3]
    assert offsets(lake, "7") == [0, 1, 2]
    assert offsets(lake, "7", dead_letters=False) == [0, 1]
    assert offsets(lake, "a.b_c", "none") == [3]
    (row,) = lake.rows().where("reason IS NOT NULL").collect()
    assert (row.topic, row.date, row.reason) == ("7", datetime.date(9999, 12, 31), "empty")
    (row,) = lake.rows(["a.b_c"]).collect()
    assert (row.topic, row.leader_epoch, row.value, row.reason) == ("a.b_c", 4, b"v3", None)
    assert [(h.key, h.value) for h in row.headers] == [("h", b"\xff")]
    assert lake.rows().selectExpr("min(timestamp)", "max(year(timestamp))").first() is not None


def test_a_compaction_takes_the_place_of_what_it_merged(spark: SparkSession, path: Path) -> None:
    first = write(path, "topic=t/date=1912-06-23/a.parquet", [0, 1])
    second = write(path, "topic=t/date=1912-06-23/b.parquet", [2])
    enter(path, 0, first, second)
    lake = Lake(spark, path)
    before = lake.rows()
    both = write(path, "topic=t/date=1912-06-23/ab.parquet", [0, 1, 2])
    enter(path, 1, both, removed=(first.path, second.path))
    assert before.count() == 3
    assert offsets(lake) == [0, 1, 2]
    assert lake.files() == (both,)
    assert (lake.missing(), lake.strangers()) == ((), (first.path, second.path))
    (path / both.path).unlink()
    assert lake.missing() == (both,)


def test_parsed_values_of_different_schemas_come_together(spark: SparkSession, path: Path) -> None:
    enter(path, 0, write(path, "topic=t/date=1912-06-23/a.parquet", [0], parsed=PARSED))
    enter(path, 1, write(path, "topic=t/date=1912-06-23/b.parquet", [1], parsed=MORE))
    enter(path, 2, write(path, "topic=t/date=1912-06-23/c.parquet", [2]))
    lake = Lake(spark, path)
    assert offsets(lake) == [0, 1, 2]
    assert lake.rows().schema == ROWS_SCHEMA
    parsed = lake.parsed("t")
    assert parsed.columns == [*LAKE_SCHEMA.names, "parsed", "unknown_fields"]
    rows = parsed.orderBy("offset").selectExpr("parsed.a", "parsed.b").collect()
    assert [tuple(row) for row in rows] == [(0, None), (None, 1)]


def test_both_kinds_of_folder_do_the_same(spark: SparkSession, path: Path) -> None:
    local = folder_at(spark, path)
    assert isinstance(local, LocalFolder)
    jvm = spark.sparkContext._jvm
    root = jvm.org.apache.hadoop.fs.Path(str(path.with_name("other lake")))
    files = root.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()).getRawFileSystem()
    for folder in (local, HadoopFolder(jvm, files, files.makeQualified(root))):
        assert folder.names("x") == list(folder.walk()) == []
        assert folder.publish("x/y.json", "é")
        assert not folder.publish("x/y.json", "2")
        assert (folder.read("x/y.json"), folder.exists("x/y.json")) == ("é", True)
        folder.replace("x/y.json", "3")
        folder.replace("x/new.json", "4")
        folder.move("x/new.json", "z/new.json")
        assert folder.read("x/y.json") == "3"
        assert sorted(folder.walk()) == [("x/y.json", 1), ("z/new.json", 1)]
        assert (folder.names(), folder.names("x")) == (["x", "z"], ["y.json"])
        folder.delete("x")
        folder.delete("x")
        assert folder.names() == ["z"]
        with pytest.raises(FileNotFoundError):
            folder.move("x/none", "y")
        with pytest.raises(FileNotFoundError):
            folder.read("x/none")


class Undeletable:
    """A file system of Hadoop's that deletes nothing."""

    def __init__(self, files: Any) -> None:
        self._files = files

    def __getattr__(self, name: str) -> Any:
        assert name != "delete"
        return getattr(self._files, name)


def test_no_kill_leaves_neither_the_old_file_nor_the_new_one(
    spark: SparkSession, path: Path
) -> None:
    jvm = spark.sparkContext._jvm
    root = jvm.org.apache.hadoop.fs.Path(str(path))
    files = root.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
    folder = HadoopFolder(jvm, Undeletable(files), files.makeQualified(root))
    folder.replace("landing.json", "1")
    folder.replace("landing.json", "22")
    assert folder.read("landing.json") == "22"
    assert [name for name in folder.names() if name.endswith(".unfinished")] == []


def test_a_file_system_that_spark_knows_by_one_way_only_replaces_files_too(
    spark: SparkSession, path: Path
) -> None:
    jvm = spark.sparkContext._jvm
    root = jvm.org.apache.hadoop.fs.Path(str(path))
    settings = jvm.org.apache.hadoop.conf.Configuration(
        spark.sparkContext._jsc.hadoopConfiguration()
    )
    settings.unset("fs.AbstractFileSystem.file.impl")
    files = jvm.org.apache.hadoop.fs.FileSystem.newInstance(root.toUri(), settings)
    folder = HadoopFolder(jvm, files, files.makeQualified(root))
    folder.replace("landing.json", "1")
    folder.replace("landing.json", "22")
    assert folder.read("landing.json") == "22"


def test_rows_of_a_cluster_without_topic_ids_have_none(spark: SparkSession, tmp_path: Path) -> None:
    path = "topic=orders/date=2026-03-01"
    files = [
        write(tmp_path, f"{path}/{name}.parquet", [offset], topic_id=topic_id)
        for offset, (name, topic_id) in enumerate([("old", "A" * 22), ("new", None), ("id", "id")])
    ]
    enter(tmp_path, 0, *files)
    rows = Lake(spark, tmp_path).rows().orderBy("offset").collect()
    assert [row.topic_id for row in rows] == [None, None, "id"]
