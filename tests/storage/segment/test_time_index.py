from pathlib import Path

import pytest

from barnabas.storage.disk.fs import REAL
from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.errors import CorruptIndex
from barnabas.storage.segment.time_index import TimeIndex

BASE = 50


def an_index(folder: Path, max_bytes: int = 1 << 20) -> TimeIndex:
    return TimeIndex(FileCache(REAL), str(folder / "i.timeindex"), BASE, max_bytes)


def loaded(folder: Path) -> TimeIndex:
    index = an_index(folder)
    index.load()
    return index


def test_keeps_only_timestamps_that_rise(tmp_path: Path) -> None:
    index = an_index(tmp_path)
    for timestamp, offset in ((10, 51), (10, 52), (9, 53), (12, 54)):
        index.maybe_append(timestamp, offset)
    assert index.entries() == [(10, 51), (12, 54)]
    with pytest.raises(ValueError, match="below"):
        index.maybe_append(13, 53)


def test_finds_the_last_entry_at_or_below(tmp_path: Path) -> None:
    index = an_index(tmp_path)
    for number in range(1000):
        index.maybe_append(100 + 10 * number, BASE + number)
    assert index.lookup(99) == (-1, BASE)
    for timestamp in (100, 109, 4321, 10089, 10090, 99999):
        number = min((timestamp - 100) // 10, 999)
        assert index.lookup(timestamp) == (100 + 10 * number, BASE + number)
    index.trim()
    assert loaded(tmp_path).lookup(4321) == (4320, BASE + 422)


def test_truncation_goes_by_offset(tmp_path: Path) -> None:
    index = an_index(tmp_path)
    for number in range(600):
        index.maybe_append(100 + number, BASE + 2 * number)
    index.truncate_to(BASE + 801)
    assert (index.count, index.last_timestamp, index.last_offset) == (401, 500, BASE + 800)
    index.truncate_to(BASE + 800)
    assert (index.count, index.last_timestamp) == (400, 499)
    index.truncate_to(BASE)
    assert (index.count, index.last_timestamp, index.last_offset) == (0, -1, BASE)


def test_keeps_room_for_the_entry_of_the_roll(tmp_path: Path) -> None:
    index = an_index(tmp_path, max_bytes=36)
    index.maybe_append(1, BASE)
    assert not index.is_full
    index.maybe_append(2, BASE + 1)
    assert index.is_full


def entry(timestamp: int, offset: int) -> bytes:
    return timestamp.to_bytes(8) + offset.to_bytes(4)


@pytest.mark.parametrize("content", [entry(9, 1) + entry(8, 2), b"\xff" * 12, b"1" * 13])
def test_refuses_what_is_no_index(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "i.timeindex").write_bytes(content)
    with pytest.raises(CorruptIndex):
        loaded(tmp_path).lookup(5)


@pytest.mark.parametrize("middle", [entry(5, 2), entry(90, 2), entry(15, 9)])
def test_a_wrong_entry_in_the_middle_is_found_out_when_it_matters(
    tmp_path: Path, middle: bytes
) -> None:
    (tmp_path / "i.timeindex").write_bytes(entry(10, 1) + middle + entry(20, 3))
    index = loaded(tmp_path)
    with pytest.raises(CorruptIndex, match="do not rise"):
        index.lookup(12)
