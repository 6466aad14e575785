"""Copies of a data directory: what is linked, what is copied, what a failure leaves."""

import errno
import os
from pathlib import Path

import pytest

from barnabas.server.testing.snapshots import is_snapshot, put_back, take_snapshot


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A stopped broker's data: one partition of two segments."""
    partition = tmp_path / "data" / "t-0"
    partition.mkdir(parents=True)
    (tmp_path / "data" / "meta.properties").write_text("broker.id=0\n")
    for name in ("0.log", "0.index", "7.log", "7.index", "partition.metadata"):
        (partition / name.replace(".", "0.")).write_text(name)
    return tmp_path / "data"


def test_closed_segments_are_linked_and_the_rest_is_copied(data_dir: Path, tmp_path: Path) -> None:
    snapshot = tmp_path / "snapshot"
    take_snapshot(data_dir, snapshot)
    linked = {
        entry.name
        for entry in (snapshot / "t-0").iterdir()
        if entry.samefile(data_dir / "t-0" / entry.name)
    }
    assert linked == {"00.log", "00.index"}
    assert (snapshot / "t-0" / "70.log").read_text() == "7.log"
    assert is_snapshot(snapshot) and not is_snapshot(tmp_path)


def test_going_back_takes_away_what_came_later(data_dir: Path, tmp_path: Path) -> None:
    take_snapshot(data_dir, tmp_path / "snapshot")
    (data_dir / "u-0").mkdir()
    (data_dir / "late").touch()
    (data_dir / "t-0" / "70.log").write_text("more")
    put_back(tmp_path / "snapshot", data_dir)
    assert sorted(each.name for each in data_dir.iterdir()) == ["meta.properties", "t-0"]
    assert (data_dir / "t-0" / "70.log").read_text() == "7.log"


def test_between_file_systems_everything_is_copied(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def elsewhere(source: Path, target: Path) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", elsewhere)
    take_snapshot(data_dir, tmp_path / "snapshot")
    assert (tmp_path / "snapshot" / "t-0" / "00.log").read_text() == "0.log"


def test_a_snapshot_that_fails_leaves_nothing(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "link", full)
    with pytest.raises(OSError, match="No space left"):
        take_snapshot(data_dir, tmp_path / "snapshot")
    assert not (tmp_path / "snapshot").exists()
