from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.storage.disk.fs import REAL
from barnabas.storage.disk.open_files import CachedFile, FileCache, FileSlice, OpenFile


def a_file(cache: FileCache, folder: Path, name: str, content: bytes = b"") -> CachedFile:
    path = folder / name
    path.write_bytes(content)
    return CachedFile(cache, str(path))


def is_open(fd: int) -> bool:
    return Path(f"/proc/self/fd/{fd}").exists()


def test_opens_on_demand_and_creates_only_when_asked(tmp_path: Path) -> None:
    cache = FileCache(REAL)
    file = CachedFile(cache, str(tmp_path / "new"))
    with pytest.raises(FileNotFoundError):
        file.open()
    assert file.create() is file.open()
    assert (tmp_path / "new").exists()


def test_keeps_no_more_open_than_its_capacity(tmp_path: Path) -> None:
    cache = FileCache(REAL, capacity=3)
    files = [a_file(cache, tmp_path, f"f{number}") for number in range(5)]
    fds = [file.open().fd for file in files]
    assert len(cache) == 3
    assert [file.opened is not None for file in files] == [False, False, True, True, True]
    assert {fd for fd in fds if is_open(fd)} == {file.opened.fd for file in files if file.opened}


def test_spares_a_file_that_was_used_once_more(tmp_path: Path) -> None:
    cache = FileCache(REAL, capacity=2)
    first, second, third = (a_file(cache, tmp_path, name) for name in "abc")
    first.open()
    second.open()
    first.used = True
    third.open()
    assert first.opened is not None
    assert second.opened is None


def test_a_slice_outlives_eviction_renaming_and_unlinking(tmp_path: Path) -> None:
    cache = FileCache(REAL, capacity=1)
    file = a_file(cache, tmp_path, "segment", b"0123456789")
    piece = FileSlice(file.open(), 2, 5)
    file.rename(str(tmp_path / "segment.deleted"))
    file.close()
    (tmp_path / "segment.deleted").unlink()
    assert file.opened is None
    assert (len(piece), piece.read()) == (5, b"23456")
    fd = piece.fd
    del piece
    assert not is_open(fd)


def test_reads_on_after_short_reads() -> None:
    data = b"abcdefgh"

    def pread(fd: int, size: int, position: int) -> bytes:
        return data[position : position + min(size, 3)]

    opened = OpenFile(replace(REAL, pread=pread, close=lambda fd: None), 0)
    assert opened.read_fully(6, 1) == b"bcdefg"
    assert opened.read_fully(100, 4) == b"efgh"
    assert opened.read_fully(5, 9) == b""
