"""A buffer of batches is cut into short work, between batches only."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.header import walk
from barnabas.storage.batch.pieces import pieces
from barnabas.storage.batch.records import Record


def batch(size: int) -> bytes:
    return bytes(build_batch([Record(offset=0, timestamp=0, key=None, value=bytes(size))]))


@given(
    sizes=st.lists(st.integers(0, 300), max_size=12),
    most_bytes=st.integers(1, 800),
    most_batches=st.integers(1, 5),
    cut=st.integers(0, 60),
)
def test_pieces_are_the_buffer_and_hold_whole_batches(
    sizes: list[int], most_bytes: int, most_batches: int, cut: int
) -> None:
    data = b"".join(map(batch, sizes))
    data = data[: len(data) - cut] if cut else data
    found = list(pieces(memoryview(data), most_bytes, most_batches))
    assert b"".join(found) == data
    for piece in found:
        headers = list(walk(piece, partial_tail=True))
        assert len(headers) <= most_batches
        assert len(headers) <= 1 or headers[-1].end <= most_bytes
    for piece in found[:-1]:
        assert len(piece) == list(walk(piece))[-1].end


@pytest.mark.parametrize("garbage", [b"x", bytes(12), b"\xff" * 40, bytes(8) + b"\x7f" * 40])
def test_what_makes_no_sense_stays_at_the_end(garbage: bytes) -> None:
    data = batch(3) + batch(4) + garbage
    assert b"".join(pieces(memoryview(data), 1, 1)) == data


def test_nothing_has_no_pieces() -> None:
    assert list(pieces(memoryview(b""), 1, 1)) == []


def test_offsets_that_are_far_apart_are_not_in_one_piece() -> None:
    offsets = (3, 1 << 30, (1 << 30) + 4, 1 << 40, (1 << 40) + 1)
    data = b"".join(offset.to_bytes(8, "big") + batch(3)[8:] for offset in offsets)
    found = [
        [header.base_offset for header in walk(piece)]
        for piece in pieces(memoryview(data), 1 << 20, 100)
    ]
    assert found == [[3, 1 << 30], [(1 << 30) + 4], [1 << 40, (1 << 40) + 1]]
