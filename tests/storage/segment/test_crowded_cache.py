"""A cache so small that every file opened takes the place of the one before.

A file was read or written by its bare descriptor while another was opened: the cache closed the
first, and its number became the other's. A batch then went into an index, or nowhere. Compiled
code did so on an ordinary append, since it lets go of an object at its last mention.
"""

from pathlib import Path

import pytest

from barnabas.storage.batch.header import walk
from barnabas.storage.disk.fs import REAL
from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.producers.state import ProducerState
from barnabas.storage.segment.recovery import rebuild_indexes, recover_segment
from barnabas.storage.segment.segment import Segment

from ..logs import NOW_MS, config
from .test_segment import BASE, at, fill

SIZES = [5, 700, 60, 3000, 2400] * 200  # a read and a page of an index more than once


@pytest.fixture
def segment(tmp_path: Path) -> Segment:
    return Segment(FileCache(REAL, 1), str(tmp_path), BASE, config(index_interval_bytes=0), NOW_MS)


def assert_whole(segment: Segment, positions: list[int]) -> None:
    """Every batch lies where it was written and is found there."""
    assert (Path(segment.log_file.path)).stat().st_size == segment.size_bytes
    for number, position in enumerate(positions):
        offset = BASE + 2 * number
        found = segment.locate(offset)
        assert found is not None and found[0] == position
        expected = at(offset, 2, value_bytes=SIZES[number], timestamp=NOW_MS + number)
        assert segment.slice(*found).read() == expected


def test_what_is_appended_goes_into_the_log(segment: Segment) -> None:
    assert_whole(segment, fill(segment, SIZES))


def test_so_does_a_set_of_batches_that_makes_the_files(segment: Segment) -> None:
    batch = bytes(at(BASE, 2, value_bytes=SIZES[0], timestamp=NOW_MS))
    segment.append_set(batch, list(walk(batch)))
    assert_whole(segment, [0])


def test_indexes_are_made_anew_while_the_log_is_read(segment: Segment) -> None:
    positions = fill(segment, SIZES)
    segment.finish()
    rebuild_indexes(segment)
    assert_whole(segment, positions)


def test_a_segment_is_recovered_to_its_end(segment: Segment, tmp_path: Path) -> None:
    positions = fill(segment, SIZES)
    segment.finish()
    assert recover_segment(segment, ProducerState(REAL, str(tmp_path)), None) == 0
    assert_whole(segment, positions)
    assert segment.read_next_offset() == BASE + 2 * len(SIZES)


def test_a_truncated_segment_knows_its_largest_timestamp(segment: Segment) -> None:
    positions = fill(segment, SIZES)
    segment.truncate_to(BASE + 20, NOW_MS)
    assert segment.largest_timestamp()[0] == NOW_MS + 10
    assert_whole(segment, positions[:10])
