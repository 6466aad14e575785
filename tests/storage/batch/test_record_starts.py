"""The walk that finds where records begin, held against the walk that finds all of their parts."""

from array import array

import pytest

from barnabas.storage.batch.record_starts import add_record_starts
from barnabas.storage.batch.records import append_record, walk_frames
from barnabas.storage.batch.varint import append_varint
from barnabas.storage.errors import CorruptBatch

SIZES = [0, 1, 40, 54, 55, 56, 57, 58, 200, 8100, 8180, 8190, 8200, 70_000, 1_100_000]


def records_of(sizes: list[int]) -> bytes:
    out = bytearray()
    for number, size in enumerate(sizes):
        append_record(out, number, number, b"key", bytes(size))
    return bytes(out)


def starts_in(data: bytes, count: int, start: int = 0, end: int | None = None) -> list[int]:
    starts = array("q")
    add_record_starts(starts, data, start, len(data) if end is None else end, count)
    return list(starts)


def test_it_finds_the_records_that_the_other_walk_finds() -> None:
    data = records_of(SIZES)
    assert starts_in(data, len(SIZES)) == [frame[0] for frame in walk_frames(data, len(SIZES))]


def test_a_batch_lies_among_other_bytes() -> None:
    data = records_of([5, 300])
    among = b"\xff" * 61 + data + b"\xff" * 61
    found = starts_in(among, 2, 61, 61 + len(data))
    assert found == [61 + start for start in starts_in(data, 2)]


def test_records_cut_anywhere_are_refused() -> None:
    data = records_of([5, 300, 0])
    for size in range(len(data)):
        with pytest.raises(CorruptBatch):
            starts_in(data[:size], 3)
        with pytest.raises(CorruptBatch):
            starts_in(data, 3, 0, size)


def test_bytes_behind_the_last_record_are_refused() -> None:
    with pytest.raises(CorruptBatch, match="do not agree"):
        starts_in(records_of([5]) + b"\0", 1)


@pytest.mark.parametrize("length", [-1, -64, -65, -8192, -8193, -(1 << 31)])
def test_a_negative_length_is_refused(length: int) -> None:
    data = bytearray()
    append_varint(data, length)
    with pytest.raises(CorruptBatch, match="negative"):
        starts_in(bytes(data) + bytes(10), 1)


def test_a_length_that_does_not_end_is_refused() -> None:
    with pytest.raises(CorruptBatch):
        starts_in(b"\xff" * 20, 1)
