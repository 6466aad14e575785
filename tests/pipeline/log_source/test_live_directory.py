"""A directory whose broker goes on: segments grow, go and are compacted while they are read."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from barnabas.pipeline.log_source.errors import LostRecords
from barnabas.pipeline.log_source.pieces import Piece
from barnabas.pipeline.log_source.segment_files import READ_ONLY

from .reads import a_batch, offsets, planned, rows, write_segment


def of_pieces(path: Path, pieces: list[Piece], **options: str) -> list[int]:
    return [row["offset"] for row in rows(path, pieces=pieces, **options)]


def a_log(path: Path) -> Path:
    """Two segments: offsets 0 to 5 and 6 to 8."""
    directory = path / "t-0"
    write_segment(directory, 0, a_batch(0), a_batch(3))
    write_segment(directory, 6, a_batch(6))
    return directory


def test_what_is_appended_later_is_not_of_the_read(tmp_path: Path) -> None:
    directory = a_log(tmp_path)
    pieces = planned([tmp_path])
    with (directory / f"{6:020d}.log").open("ab") as file:
        file.write(a_batch(9))
    assert of_pieces(tmp_path, pieces) == list(range(9))
    assert offsets(tmp_path) == list(range(12))


@pytest.mark.parametrize("cut", [1, 16, 60, 61, 70])
def test_a_batch_that_is_being_written_is_not_there_yet(cut: int, tmp_path: Path) -> None:
    directory = a_log(tmp_path)
    with (directory / f"{6:020d}.log").open("ab") as file:
        file.write(a_batch(9)[:cut])
    assert offsets(tmp_path) == list(range(9))


def test_a_preallocated_segment_ends_where_its_zeros_begin(tmp_path: Path) -> None:
    directory = a_log(tmp_path)
    with (directory / f"{6:020d}.log").open("ab") as file:
        file.truncate(file.tell() + 3_000_000)
    assert offsets(tmp_path) == list(range(9))


def test_a_deleted_segment_is_read_under_its_other_name(tmp_path: Path) -> None:
    directory = a_log(tmp_path)
    pieces = planned([tmp_path])
    path = directory / f"{0:020d}.log"
    path.rename(f"{path}.deleted")
    assert of_pieces(tmp_path, pieces) == list(range(9))
    assert offsets(tmp_path) == [6, 7, 8]


def test_a_segment_that_is_gone_is_said(tmp_path: Path) -> None:
    directory = a_log(tmp_path)
    pieces = planned([tmp_path])
    (directory / f"{0:020d}.log").unlink()
    with pytest.raises(LostRecords, match="t-0: offsets 0 to 5 cannot be read: they were deleted"):
        of_pieces(tmp_path, pieces)
    assert of_pieces(tmp_path, pieces, failOnDataLoss="false") == [6, 7, 8]


def test_a_partition_that_is_gone_is_said(tmp_path: Path) -> None:
    directory = a_log(tmp_path)
    pieces = planned([tmp_path])
    directory.rename(tmp_path / f"t-0.{'0' * 32}-delete")
    with pytest.raises(LostRecords, match="t-0: offsets 0 to 5 cannot be read"):
        of_pieces(tmp_path, pieces)
    assert of_pieces(tmp_path, pieces, failOnDataLoss="false") == []


def test_a_compaction_gives_the_name_to_another_file(tmp_path: Path) -> None:
    """The positions of the plan mean nothing in it: the offsets are looked for."""
    directory = a_log(tmp_path)
    pieces = planned([tmp_path])
    cleaned = write_segment(tmp_path / "elsewhere", 0, a_batch(2, 1), a_batch(5, 1), a_batch(7, 1))
    cleaned.replace(directory / f"{0:020d}.log")
    (directory / f"{6:020d}.log").unlink()
    assert of_pieces(tmp_path, pieces) == [2, 5, 7]


def test_a_compaction_between_its_renames(tmp_path: Path) -> None:
    """The segments it replaces have gone, and the new one has not its name yet."""
    directory = a_log(tmp_path)
    (directory / f"{0:020d}.log").rename(directory / f"{0:020d}.log.deleted")
    write_segment(tmp_path / "elsewhere", 0, a_batch(1, 2)).rename(directory / f"{0:020d}.log.swap")
    assert offsets(tmp_path) == [1, 2, 6, 7, 8]


def test_a_compaction_that_is_not_finished_is_not_there(tmp_path: Path) -> None:
    directory = a_log(tmp_path)
    write_segment(tmp_path / "elsewhere", 0, a_batch(1, 2)).rename(
        directory / f"{0:020d}.log.cleaned"
    )
    assert offsets(tmp_path) == list(range(9))


def test_nothing_can_be_written(tmp_path: Path) -> None:
    path = write_segment(tmp_path / "t-0", 0, a_batch(0))
    with pytest.raises(OSError, match="barnabas-log only reads"):
        READ_ONLY.open(str(path), os.O_RDWR, 0)
    with pytest.raises(OSError, match="barnabas-log only reads"):
        READ_ONLY.unlink(str(path))


def test_a_read_leaves_the_directory_as_it_was(tmp_path: Path) -> None:
    a_log(tmp_path)

    def state() -> str:
        command = ["find", str(tmp_path), "-printf", "%p %s %T@ %C@ %m\n"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    before = state()
    assert offsets(tmp_path, kafka__isolation__level="read_committed") == list(range(9))
    assert state() == before
