import errno
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.storage.disk.fs import REAL
from barnabas.storage.disk.open_files import CachedFile, ColdRead, FileCache, FileSlice, OpenFile


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


PAGE_BYTES = 4096


def half_warm(folder: Path, warm_bytes: int) -> CachedFile:
    """A file of three pages of which only the start is in the page cache."""
    content = os.urandom(3 * PAGE_BYTES)

    def preadv(
        fd: int, buffers: Sequence[bytearray | memoryview], position: int, flags: int = 0
    ) -> int:
        assert flags == os.RWF_NOWAIT
        if warm_bytes <= position < len(content):
            raise BlockingIOError
        end = max(warm_bytes, position)
        return os.preadv(fd, [memoryview(buffers[0])[: end - position]], position)

    return a_file(FileCache(replace(REAL, preadv=preadv)), folder, "file", content)


def test_a_warm_only_read_says_what_has_to_be_read_ahead(tmp_path: Path) -> None:
    file = half_warm(tmp_path, PAGE_BYTES)
    cache, content = file._cache, (tmp_path / "file").read_bytes()
    stretches = []
    with cache.warm_only():
        assert file.open().read(100, 20) == content[20:120]
        for read in (file.open().read, file.open().read_fully):
            with pytest.raises(ColdRead) as cold:
                read(PAGE_BYTES, 100)  # the first page is there
            stretches.append(cold.value.stretch)
        assert file.open().read(100, len(content)) == b""
    assert [each.read() for each in stretches] == [content, content]
    assert file.open().read(PAGE_BYTES, 100) == content[100 : 100 + PAGE_BYTES]


def test_a_worker_waits_for_the_disk_whatever_the_loop_looks_up(tmp_path: Path) -> None:
    file = half_warm(tmp_path, PAGE_BYTES)
    content = (tmp_path / "file").read_bytes()
    stretch = FileSlice(file.open(), 100, 2 * PAGE_BYTES)
    with file._cache.warm_only(), ThreadPoolExecutor(1) as worker:
        assert worker.submit(stretch.read_waiting).result() == content[100:][: 2 * PAGE_BYTES]
        with pytest.raises(ColdRead):
            stretch.read()


def test_a_warm_only_read_ends_where_the_file_ends(tmp_path: Path) -> None:
    file = half_warm(tmp_path, 3 * PAGE_BYTES)
    content = (tmp_path / "file").read_bytes()
    with file._cache.warm_only():
        assert file.open().read(PAGE_BYTES, len(content) - 10) == content[-10:]


@pytest.mark.parametrize("code", [errno.EOPNOTSUPP, errno.EIO])
def test_where_it_cannot_be_told_what_is_warm_reads_wait(tmp_path: Path, code: int) -> None:
    def preadv(*_: object) -> int:
        raise OSError(code, "no")

    cache = FileCache(replace(REAL, preadv=preadv))
    file = a_file(cache, tmp_path, "file", b"content")
    with cache.warm_only():
        if code == errno.EOPNOTSUPP:
            assert file.open().read(100, 0) == b"content"
            assert cache.mode.is_warm_only
        else:
            with pytest.raises(OSError, match="no"):
                file.open().read(100, 0)
    assert file.open().read(100, 0) == b"content"
