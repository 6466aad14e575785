import random
from bisect import bisect_right
from pathlib import Path

import pytest

from barnabas.storage.disk.fs import REAL
from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.errors import CorruptIndex
from barnabas.storage.segment.offset_index import OffsetIndex

BASE = 1000


def an_index(folder: Path, max_bytes: int = 10 << 20) -> OffsetIndex:
    return OffsetIndex(FileCache(REAL), str(folder / "i.index"), BASE, max_bytes)


def loaded(folder: Path) -> OffsetIndex:
    index = an_index(folder)
    index.load()
    return index


def filled(folder: Path, count: int, seed: int = 0) -> tuple[OffsetIndex, list[tuple[int, int]]]:
    """An index of entries with steps of any size, beside a list of them."""
    rng = random.Random(seed)
    index, entries = an_index(folder), []
    offset, position = BASE, 0
    for _ in range(count):
        offset += rng.choice((1, 3, 50, 4000))
        position += rng.randrange(61, 9000)
        index.append(offset, position)
        entries.append((offset, position))
    return index, entries


@pytest.mark.parametrize("count", [0, 1, 2, 31, 33, 511, 512, 513, 1500, 5000])
@pytest.mark.parametrize("is_written", [True, False])
def test_finds_the_last_entry_at_or_below(tmp_path: Path, count: int, is_written: bool) -> None:
    index, entries = filled(tmp_path, count, seed=count)
    if is_written:
        index.trim()
        index = loaded(tmp_path)
    assert index.entries() == entries
    offsets = [offset for offset, _ in entries]
    wanted = {BASE, BASE - 1, *offsets, *(offset - 1 for offset in offsets[::7])}
    for offset in wanted | {offset + 1 for offset in offsets[::5]}:
        slot = bisect_right(offsets, offset)
        expected = entries[slot - 1] if slot else (BASE, 0)
        assert index.lookup(offset) == expected
        assert index.position_for(offset) == expected[1]


@pytest.mark.parametrize("keep", [0, 1, 300, 512, 700, 1000])
def test_truncation_keeps_what_is_below(tmp_path: Path, keep: int) -> None:
    index, entries = filled(tmp_path, 1000)
    end = entries[keep][0] if keep < 1000 else entries[-1][0] + 1
    index.truncate_to(end)
    assert index.entries() == entries[:keep]
    index.append(entries[-1][0] + 10, entries[-1][1] + 10)
    index.trim()
    assert loaded(tmp_path).entries()[:keep] == entries[:keep]
    assert index.count == keep + 1


def test_offset_of_the_first_entry_from_a_position(tmp_path: Path) -> None:
    index, entries = filled(tmp_path, 600)
    for offset, position in entries[::29]:
        assert index.first_entry_from(position) == (offset, position)
        assert index.first_entry_from(position - 1) == (offset, position)
    assert index.first_entry_from(entries[-1][1] + 1) is None


def test_is_full_at_its_size(tmp_path: Path) -> None:
    index = an_index(tmp_path, max_bytes=20)
    index.append(BASE + 1, 100)
    assert not index.is_full
    index.append(BASE + 2, 200)
    assert index.is_full


def test_offsets_have_to_rise(tmp_path: Path) -> None:
    index = an_index(tmp_path)
    index.append(BASE + 5, 100)
    with pytest.raises(ValueError, match="not above"):
        index.append(BASE + 5, 200)


def test_a_preallocated_file_counts_up_to_its_zeros(tmp_path: Path) -> None:
    index, entries = filled(tmp_path, 700)
    index.trim()
    with (tmp_path / "i.index").open("ab") as file:
        file.write(bytes(65536 - 700 * 8))
    index = loaded(tmp_path)
    assert index.entries() == entries
    index.append(entries[-1][0] + 1, entries[-1][1] + 1)
    index.trim()
    assert (tmp_path / "i.index").stat().st_size == 701 * 8


@pytest.mark.parametrize("content", [b"\0" * 7 + b"\1", b"\xff\xff\xff\xff\0\0\0\1", b"12345"])
def test_refuses_what_is_no_index(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "i.index").write_bytes(content)
    with pytest.raises(CorruptIndex):
        loaded(tmp_path)
