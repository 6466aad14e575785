"""Unsigned varints: the bytes of every length, and what is none."""

from __future__ import annotations

import pytest

from barnabas.wire.errors import Malformed, Truncated
from barnabas.wire.varint import read_uvarint, write_uvarint

GOLDEN = [
    (0, "00"),
    (1, "01"),
    (127, "7f"),
    (128, "8001"),
    (300, "ac02"),
    (16_383, "ff7f"),
    (16_384, "808001"),
    (2_097_151, "ffff7f"),
    (2_097_152, "80808001"),
    (268_435_455, "ffffff7f"),
    (268_435_456, "8080808001"),
    (2**32 - 1, "ffffffff0f"),
]


@pytest.mark.parametrize(("value", "data"), GOLDEN)
def test_seven_bits_a_byte_the_lowest_first(value: int, data: str) -> None:
    encoded = bytes.fromhex(data)
    out = bytearray()
    write_uvarint(out, value)
    assert out == encoded
    assert read_uvarint(memoryview(encoded), 0) == (value, len(encoded))


def test_it_is_read_where_it_stands_and_written_behind_the_rest() -> None:
    assert read_uvarint(memoryview(b"\xff\xff\xac\x02\xff"), 2) == (300, 4)
    out = bytearray(b"head")
    write_uvarint(out, 300)
    assert out == b"head\xac\x02"


def test_more_bytes_than_needed_are_no_fault() -> None:
    assert read_uvarint(memoryview(b"\x80\x80\x00"), 0) == (0, 3)


@pytest.mark.parametrize("data", ["", "80", "ffffffff"])
def test_an_unfinished_one_is_truncated(data: str) -> None:
    with pytest.raises(Truncated):
        read_uvarint(memoryview(bytes.fromhex(data)), 0)


def test_a_sixth_byte_is_malformed() -> None:
    with pytest.raises(Malformed, match="longer than five bytes"):
        read_uvarint(memoryview(b"\x80\x80\x80\x80\x80\x01"), 0)
