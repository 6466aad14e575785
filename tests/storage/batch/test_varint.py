"""Zig-zag variable-length integers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.storage.batch.varint import (
    append_varint,
    finish_varint,
    finish_varlong,
    read_varint,
)
from barnabas.storage.errors import CorruptBatch

KNOWN = {
    0: "00", -1: "01", 1: "02", 63: "7e", -64: "7f", 64: "8001", -65: "8101",
    (1 << 31) - 1: "feffffff0f", -(1 << 31): "ffffffff0f",
    (1 << 63) - 1: "feffffffffffffffff01", -(1 << 63): "ffffffffffffffffff01",
}  # fmt: skip


@pytest.mark.parametrize(("value", "encoded"), KNOWN.items())
def test_known_values(value: int, encoded: str) -> None:
    out = bytearray()
    append_varint(out, value)
    assert out.hex() == encoded


@given(st.integers(-(1 << 31), (1 << 31) - 1), st.binary(max_size=3))
def test_varint_round_trip(value: int, after: bytes) -> None:
    out = bytearray()
    append_varint(out, value)
    assert read_varint(bytes(out) + after, 0) == (value, len(out))


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_varlong_round_trip(value: int) -> None:
    out = bytearray()
    append_varint(out, value)
    if len(out) > 1:
        assert finish_varlong(bytes(out), 1, out[0]) == (value, len(out))


def test_integers_that_do_not_end() -> None:
    with pytest.raises(CorruptBatch):
        finish_varint(b"\xff" * 9, 1, 0xFF)
    with pytest.raises(CorruptBatch):
        finish_varlong(b"\xff" * 19, 1, 0xFF)
    with pytest.raises(IndexError):
        read_varint(b"\xff\xff", 0)
