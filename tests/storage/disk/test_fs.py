"""The file seam: whole writes, atomic replacement, removal, and costs next to nothing."""

import os
from dataclasses import fields, replace
from pathlib import Path

import pytest

from barnabas.storage.disk import fs as fs_module
from barnabas.storage.disk.fs import REAL, FileSystem


def test_write_all_goes_on_after_a_short_write(tmp_path: Path) -> None:
    def three_bytes_at_a_time(fd: int, data: fs_module.Buffer) -> int:
        return os.write(fd, memoryview(data)[:3])

    short = replace(REAL, write=three_bytes_at_a_time)
    path = str(tmp_path / "file")
    fs_module.write_file(short, path, b"0123456789")
    assert fs_module.read_file(REAL, path) == b"0123456789"


def test_read_file_reads_more_than_one_chunk(tmp_path: Path) -> None:
    content = os.urandom((2 << 20) + 7)
    (tmp_path / "file").write_bytes(content)
    assert fs_module.read_file(REAL, str(tmp_path / "file")) == content


def test_replace_file_leaves_the_old_content_when_the_disk_fills_up(tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    fs_module.replace_file(REAL, path, b"old")

    def full(fd: int, data: fs_module.Buffer) -> int:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        fs_module.replace_file(replace(REAL, write=full), path, b"new")
    assert fs_module.read_file(REAL, path) == b"old"


def test_replace_file_syncs_the_file_before_and_the_directory_after_the_rename(
    tmp_path: Path,
) -> None:
    calls: list[str] = []

    def fsync(fd: int) -> None:
        calls.append("fsync " + Path(f"/proc/self/fd/{fd}").readlink().name)

    def rename(old: str, new: str) -> None:
        calls.append("rename")
        os.replace(old, new)  # noqa: PTH105 - the seam's own signature

    fs_module.replace_file(
        replace(REAL, fsync=fsync, rename=rename), str(tmp_path / "file"), b"content"
    )
    assert calls == ["fsync file.tmp", "rename", f"fsync {tmp_path.name}"]


def test_remove_tree_takes_directories_inside_and_does_not_mind_absence(tmp_path: Path) -> None:
    top = tmp_path / "top"
    (top / "inner").mkdir(parents=True)
    (top / "inner" / "file").write_bytes(b"1")
    (top / "file").write_bytes(b"2")
    fs_module.remove_tree(REAL, str(top))
    assert not top.exists()
    fs_module.remove_tree(REAL, str(top))


def test_exists(tmp_path: Path) -> None:
    assert fs_module.exists(REAL, str(tmp_path))
    assert not fs_module.exists(REAL, str(tmp_path / "absent"))


def test_the_real_file_system_is_the_operating_systems_own_functions() -> None:
    """Anything between a hot append and the kernel would show in its 6 µs."""
    python_functions = [
        f.name for f in fields(FileSystem) if hasattr(getattr(REAL, f.name), "__code__")
    ]
    assert python_functions == []
