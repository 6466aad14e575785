from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from barnabas.pipeline.lake.folders import LocalFolder
from barnabas.pipeline.spark.failures import PipelineError


@pytest.fixture
def folder(tmp_path: Path) -> LocalFolder:
    return LocalFolder(tmp_path / "a lake")


def test_a_folder_that_is_not_there_is_empty(folder: LocalFolder) -> None:
    assert folder.names() == folder.names("a/b") == list(folder.walk()) == []
    assert not folder.exists("a")
    folder.delete("a")


def test_what_is_published_can_be_read_and_is_alone(folder: LocalFolder) -> None:
    assert folder.publish("a/b/c.json", "é")
    assert folder.read("a/b/c.json") == "é"
    assert list(folder.walk()) == [("a/b/c.json", 2)]
    assert (folder.names(), folder.names("a/b")) == (["a"], ["c.json"])


def test_of_many_that_publish_one_name_one_comes_first(folder: LocalFolder) -> None:
    with ThreadPoolExecutor(8) as pool:
        for number in range(20):
            name = f"{number}.json"
            came_first = list(pool.map(lambda text: folder.publish(name, text), "abcdefgh"))  # noqa: B023
            assert came_first.count(True) == 1
            assert folder.read(name) == "abcdefgh"[came_first.index(True)]
    assert len(folder.names()) == 20


def test_replacing_and_moving(folder: LocalFolder) -> None:
    folder.replace("x/one", "1")
    folder.replace("x/one", "2")
    folder.move("x/one", "y/z/two")
    assert list(folder.walk()) == [("y/z/two", 1)]
    assert folder.read("y/z/two") == "2"


def test_a_move_of_what_is_not_there_is_told(folder: LocalFolder) -> None:
    with pytest.raises(FileNotFoundError):
        folder.move("x", "y")


def test_a_write_that_fails_leaves_nothing(folder: LocalFolder) -> None:
    (folder.root).mkdir()
    with pytest.raises(PipelineError, match="file name too long"):
        folder.publish("n" * 256, "too long a name")
    assert list(folder.walk()) == []


def test_a_name_may_be_as_long_as_names_can_be(folder: LocalFolder) -> None:
    assert folder.publish("n" * 255, "1")
    folder.replace("n" * 255, "2")
    assert list(folder.walk()) == [("n" * 255, 1)]


def test_folders_and_files_are_deleted(folder: LocalFolder) -> None:
    folder.publish("a/b", "")
    folder.publish("a/c/d", "")
    folder.delete("a/b")
    assert [path for path, _ in folder.walk()] == ["a/c/d"]
    folder.delete("a")
    assert folder.names() == []


@pytest.mark.parametrize("place", ["file/lake", "file", "/proc/none/lake"])
def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("no folder")
    folder = LocalFolder(tmp_path / place)
    for action in (folder.publish, folder.replace):
        with pytest.raises(PipelineError, match=r"x/y: (not a directory|no such|file exists)"):
            action("x/y", "")
    assert folder.names() == folder.names("x") == list(folder.walk()) == []
    assert not folder.exists("x")


def test_what_moves_while_a_folder_is_walked_through_is_passed_over(folder: LocalFolder) -> None:
    for name in "abc":
        folder.publish(f"x/{name}", name)
    found = folder.walk()
    assert next(found) == ("x/a", 1)
    folder.move("x/b", "y/b")
    assert list(found) == [("x/c", 1)]


def test_what_two_delete_at_once_is_gone(folder: LocalFolder) -> None:
    with ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            for name in range(10):
                folder.publish(f"x/{name}/{name}", "")
            assert list(pool.map(folder.delete, ["x"] * 4)) == [None] * 4
            assert folder.names() == []
