import os
import random
from pathlib import Path
from typing import Any

import pytest

from barnabas.storage.batch.header import HEADER, walk
from barnabas.storage.disk.fs import REAL, FileSystem
from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.errors import CorruptIndex
from barnabas.storage.segment.segment import Segment

from ..logs import NOW_MS, a_batch, config, file_name

BASE = 1000


def a_segment(folder: Path, fs: FileSystem = REAL, **settings: Any) -> Segment:
    return Segment(FileCache(fs), str(folder), BASE, config(**settings), NOW_MS)


def at(offset: int, count: int = 1, *, value_bytes: int = 5, timestamp: int = NOW_MS) -> bytearray:
    batch = a_batch(count, value=b"v" * value_bytes, timestamp=timestamp)
    batch[:8] = offset.to_bytes(8)
    return batch


def fill(segment: Segment, sizes: list[int], timestamps: list[int] | None = None) -> list[int]:
    """Append a batch of two records of each size: the positions."""
    positions = []
    for number, size in enumerate(sizes):
        offset = BASE + 2 * number
        timestamp = NOW_MS + number if timestamps is None else timestamps[number]
        positions.append(segment.size_bytes)
        batch = at(offset, 2, value_bytes=size, timestamp=timestamp)
        segment.append(batch, offset, offset + 1, timestamp + 1, offset + 1)
    return positions


@pytest.mark.parametrize("is_reopened", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_finds_every_offset(tmp_path: Path, seed: int, is_reopened: bool) -> None:
    rng = random.Random(seed)
    sizes = [rng.choice((5, 60, 700, 3000)) for _ in range(120)]
    segment = a_segment(tmp_path, index_interval_bytes=rng.choice((0, 100, 4096)))
    positions = fill(segment, sizes)
    if is_reopened:
        segment.finish()
        size = segment.size_bytes
        segment = a_segment(tmp_path)
        segment.attach(size)
    ends = [*positions[1:], segment.size_bytes]
    for number, (position, end) in enumerate(zip(positions, ends, strict=True)):
        for offset in (BASE + 2 * number, BASE + 2 * number + 1):
            assert segment.locate(offset) == (position, end - position)
    assert segment.locate(BASE + 240) is None
    assert segment.locate(BASE - 5) == (0, ends[0])
    assert segment.read_next_offset() == BASE + 240


def test_index_entries_are_sparse_and_carry_the_last_offset(tmp_path: Path) -> None:
    segment = a_segment(tmp_path, index_interval_bytes=200)
    size = len(at(0, 2))
    fill(segment, [5] * 10)
    every = 200 // size + 1
    expected = [(BASE + 2 * number + 1, number * size) for number in range(every, 10, every)]
    assert segment.offset_index.entries() == expected
    assert segment.time_index.entries() == [
        (NOW_MS + (offset - BASE) // 2 + 1, offset) for offset, _ in expected
    ]


def test_a_set_of_batches_is_one_write_with_an_entry_where_each_is_due(tmp_path: Path) -> None:
    calls: list[int] = []

    def pwrite(fd: int, data: Any, position: int) -> int:
        calls.append(len(data))
        return os.pwrite(fd, data, position)

    segment = a_segment(tmp_path, FileSystem(pwrite=pwrite), index_interval_bytes=100)
    data = b"".join(at(BASE + 2 * number, 2) for number in range(5))
    segment.append_set(data, list(walk(data)))
    assert calls == [len(data)]
    size = len(data) // 5
    assert segment.offset_index.entries() == [(BASE + 5, 2 * size), (BASE + 9, 4 * size)]
    assert segment.locate(BASE + 9) == (4 * size, size)


def test_goes_on_after_short_writes(tmp_path: Path) -> None:
    def pwrite(fd: int, data: Any, position: int) -> int:
        return os.pwrite(fd, memoryview(data)[:7], position)

    segment = a_segment(tmp_path, FileSystem(pwrite=pwrite))
    batch = at(BASE)
    segment.append(batch, BASE, BASE, NOW_MS, BASE)
    data = b"".join((at(BASE + 1), at(BASE + 2)))
    segment.append_set(data, list(walk(data)))
    assert (tmp_path / file_name(BASE, "log")).read_bytes() == bytes(batch) + data


def test_a_write_that_fails_is_written_over(tmp_path: Path) -> None:
    is_full = False

    def pwrite(fd: int, data: Any, position: int) -> int:
        if is_full:
            os.pwrite(fd, memoryview(data)[:20], position)
            raise OSError("full")
        return os.pwrite(fd, data, position)

    segment = a_segment(tmp_path, FileSystem(pwrite=pwrite))
    fill(segment, [5])
    size, is_full = segment.size_bytes, True
    with pytest.raises(OSError, match="full"):
        segment.append(at(BASE + 2), BASE + 2, BASE + 2, NOW_MS, BASE + 2)
    assert (segment.size_bytes, segment.locate(BASE + 2)) == (size, None)
    is_full = False
    segment.append(at(BASE + 2), BASE + 2, BASE + 2, NOW_MS, BASE + 2)
    assert segment.locate(BASE + 2) == (size, len(at(0)))


@pytest.mark.parametrize("keep", range(7))
def test_truncation(tmp_path: Path, keep: int) -> None:
    segment = a_segment(tmp_path)
    times = [NOW_MS + step for step in (0, 50, 20, 90, 10, 60)]
    positions = [*fill(segment, [5] * 6, times), segment.size_bytes]
    segment.truncate_to(BASE + 2 * keep, NOW_MS + 7)
    assert segment.size_bytes == positions[keep]
    largest = max([(time + 1, -n) for n, time in enumerate(times[:keep])], default=(-1, 0))
    offset = BASE + 2 * -largest[1] + 1 if keep else BASE
    assert segment.largest_timestamp() == (largest[0], offset)
    assert all(found < BASE + 2 * keep for found, _ in segment.offset_index.entries())
    segment.append(at(BASE + 2 * keep), BASE + 2 * keep, BASE + 2 * keep, NOW_MS, BASE + 2 * keep)
    assert segment.locate(BASE + 2 * keep) == (positions[keep], len(at(0)))


def test_timestamps(tmp_path: Path) -> None:
    segment = a_segment(tmp_path)
    assert segment.read_first_timestamp() == -1
    assert segment.largest_timestamp() == (-1, BASE)
    fill(segment, [5] * 3, [NOW_MS, NOW_MS + 99, NOW_MS + 50])
    assert segment.read_first_timestamp() == NOW_MS + 1
    assert segment.largest_timestamp() == (NOW_MS + 100, BASE + 3)
    segment.finish()
    again = a_segment(tmp_path)
    again.attach(segment.size_bytes)
    assert again.read_first_timestamp() == NOW_MS + 1
    assert again.largest_timestamp() == (NOW_MS + 100, BASE + 3)


def test_an_index_past_the_end_of_the_log_is_refused(tmp_path: Path) -> None:
    segment = a_segment(tmp_path)
    fill(segment, [5] * 6)
    segment.finish()
    again = a_segment(tmp_path)
    again.attach(200)
    with pytest.raises(CorruptIndex, match="past the end"):
        again.locate(BASE)


def test_which_offsets_it_can_hold(tmp_path: Path) -> None:
    segment = a_segment(tmp_path)
    assert segment.can_hold(BASE)
    assert segment.can_hold(BASE + 0x7FFFFFFF)
    assert not segment.can_hold(BASE + 0x80000000)
    assert not segment.can_hold(BASE - 1)


def test_legacy_messages_are_found_by_their_own_offset(tmp_path: Path) -> None:
    from barnabas.storage.batch.legacy import build_message_set
    from barnabas.storage.batch.records import Record

    records = [Record(BASE + number, NOW_MS, b"k", b"v") for number in range(30)]
    data = bytes(build_message_set(records, magic=1))
    segment = a_segment(tmp_path)
    segment.append_set(data, list(walk(data)))
    positions = [header.position for header in walk(data)]
    for number, position in enumerate(positions):
        found = segment.locate(BASE + number)
        assert found is not None and found[0] == position
    assert segment.locate(BASE + 30) is None
    assert HEADER.size > positions[1]
