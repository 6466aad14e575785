"""Small files through Hadoop's FileSystem."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from barnabas.pipeline.spark.failures import PipelineError
from barnabas.pipeline.spark.files import FileEntry, Files
from barnabas.pipeline.spark.replacing import unfinished_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def files(spark: SparkSession, tmp_path: Path) -> Files:
    return Files(spark, str(tmp_path / "a lake"))


def test_a_text_is_written_whole_and_read_again(files: Files) -> None:
    assert not files.exists("logs/1.json") and files.entries() == []
    files.write_text("logs/1.json", "grüße\n")
    assert files.read_text("logs/1.json") == "grüße\n"
    files.write_text("logs/1.json", "")
    assert files.read_text("logs/1.json") == ""
    assert files.entries("logs") == [FileEntry("logs/1.json", 0, False)]


def test_one_text_takes_the_place_of_another_in_one_step(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.write_text("tally.json", "1")
    monkeypatch.setattr(Files, "delete", None)
    monkeypatch.setattr(Files, "rename", None)
    files.write_text("tally.json", "2")
    assert files.read_text("tally.json") == "2"


def test_what_a_kill_leaves_of_a_text_is_in_no_list(files: Files, tmp_path: Path) -> None:
    files.make_folder("")
    (tmp_path / "a lake" / unfinished_name()).write_text("{")
    assert files.entries() == files.entries(recursive=True) == []


def test_a_checksum_of_hadoops_does_not_outlive_its_file(files: Files, tmp_path: Path) -> None:
    files._write("tally.json", "1")
    assert (tmp_path / "a lake" / ".tally.json.crc").exists()
    files.write_text("tally.json", "22")
    assert files.read_text("tally.json") == "22"


def test_a_text_that_cannot_be_written_is_said(files: Files, tmp_path: Path) -> None:
    (tmp_path / "a lake").write_text("no folder")
    with pytest.raises(PipelineError, match="a lake: not a directory"):
        files.write_text("tally.json", "1")


def test_a_folder_lists_itself_or_all_below_it(files: Files) -> None:
    for name in ("b/2", "b/c/3", "1"):
        files.write_text(name, name)
    found = [(entry.path, entry.is_folder) for entry in files.entries()]
    assert found == [("1", False), ("b", True)]
    assert [entry.path for entry in files.entries(recursive=True)] == ["1", "b/2", "b/c/3"]


def test_a_name_that_is_taken_is_not_given_twice(files: Files) -> None:
    files.write_text("a", "1")
    files.write_text("b", "2")
    with pytest.raises(PipelineError, match="is there already"):
        files.rename("a", "b")
    files.rename("a", "deep/down/c")
    assert files.read_text("deep/down/c") == "1" and not files.exists("a")
    with pytest.raises(PipelineError, match="FileNotFoundException"):
        files.read_text("a")


def test_what_is_deleted_is_gone_with_all_in_it(files: Files) -> None:
    files.write_text("deep/a", "1")
    assert files.delete("deep") and not files.delete("deep")
    assert not files.exists("deep/a")


def test_a_file_system_that_spark_does_not_know_is_said(spark: SparkSession) -> None:
    with pytest.raises(PipelineError, match=r"gopher://x/y: .*[Nn]o FileSystem for scheme"):
        Files(spark, "gopher://x/y")
