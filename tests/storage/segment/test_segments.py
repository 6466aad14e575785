from pathlib import Path

import pytest

from barnabas.storage.disk.fs import REAL
from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.segment.segment import Segment
from barnabas.storage.segment.segments import Segments

from ..logs import config


def a_segment(base_offset: int) -> Segment:
    return Segment(FileCache(REAL), "/nowhere", base_offset, config(), 0)


@pytest.fixture
def segments(tmp_path: Path) -> Segments:
    segments = Segments()
    for base_offset in (20, 0, 10):
        segments.add(a_segment(base_offset))
    return segments


def base_of(segment: Segment | None) -> int | None:
    return None if segment is None else segment.base_offset


def test_stand_in_order(segments: Segments) -> None:
    assert segments.base_offsets == [0, 10, 20] == [each.base_offset for each in segments]
    assert (segments.first.base_offset, segments.last.base_offset, len(segments)) == (0, 20, 3)


def test_one_with_the_same_base_offset_is_replaced(segments: Segments) -> None:
    new = a_segment(10)
    segments.add(new)
    assert len(segments) == 3
    assert segments.floor(15) is new


def test_removal(segments: Segments) -> None:
    segments.remove(10)
    segments.remove(11)
    assert segments.base_offsets == [0, 20]
    assert 20 in segments
    assert 10 not in segments


def test_neighbours(segments: Segments) -> None:
    assert [base_of(segments.floor(offset)) for offset in (-1, 0, 9, 10, 99)] == [
        None, 0, 0, 10, 20
    ]  # fmt: skip
    assert [base_of(segments.after(offset)) for offset in (-1, 0, 9, 10, 20)] == [
        0, 10, 10, 20, None
    ]  # fmt: skip
    assert [base_of(segments.before(offset)) for offset in (0, 1, 10, 20, 99)] == [
        None, 0, 0, 10, 20
    ]  # fmt: skip
    found = segments.starting_with(segments.first)
    assert [segment.base_offset for segment in found] == [0, 10, 20]


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (0, 10, [0]),
        (5, 11, [0, 10]),
        (10, 10, []),
        (15, 99, [10, 20]),
        (30, 40, [20]),
        (-5, 5, [0]),
    ],
)
def test_those_that_may_hold_a_range(
    segments: Segments, start: int, end: int, expected: list[int]
) -> None:
    assert [segment.base_offset for segment in segments.between(start, end)] == expected
