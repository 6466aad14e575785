"""Fixed-width values: their bytes, their ranges, their ends."""

from __future__ import annotations

import math
from typing import Any

import pytest

from barnabas.wire.codec import Codec
from barnabas.wire.errors import Malformed, Truncated
from barnabas.wire.primitives import (
    UUID,
    UVARINT,
    Boolean,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    Uint16,
    Uint32,
)
from barnabas.wire.uuids import Uuid
from tests.wire.both_paths import read, refuses_to_read, refuses_to_write, write

GOLDEN: list[tuple[Codec, Any, str]] = [
    (Boolean, True, "01"),
    (Boolean, False, "00"),
    (Int8, -1, "ff"),
    (Int16, -2, "fffe"),
    (Int16, 32_767, "7fff"),
    (Uint16, 65_535, "ffff"),
    (Int32, 1, "00000001"),
    (Int32, -(2**31), "80000000"),
    (Uint32, 2**32 - 1, "ffffffff"),
    (Int64, -1, "ffffffffffffffff"),
    (Int64, 2**63 - 1, "7fffffffffffffff"),
    (Float64, 1.5, "3ff8000000000000"),
    (Float64, -math.inf, "fff0000000000000"),
    (UVARINT, 300, "ac02"),
    (UUID, Uuid(range(16)), "000102030405060708090a0b0c0d0e0f"),
]
OUT_OF_RANGE: list[tuple[Codec, Any]] = [
    (Int8, 128),
    (Int16, 32_768),
    (Uint16, -1),
    (Int32, 2**31),
    (Uint32, 2**32),
    (Int64, -(2**63) - 1),
    (Int32, "1"),
    (Int32, None),
    (Float64, "1.5"),
]


@pytest.mark.parametrize(("codec", "value", "data"), GOLDEN)
def test_big_endian(codec: Codec, value: Any, data: str) -> None:
    encoded = bytes.fromhex(data)
    assert write(codec, value) == encoded
    assert read(codec, encoded) == value
    assert read(codec, encoded + b"rest") == value


@pytest.mark.parametrize(("codec", "value", "data"), GOLDEN)
def test_one_byte_less_is_truncated(codec: Codec, value: Any, data: str) -> None:
    refuses_to_read(codec, bytes.fromhex(data)[:-1], Truncated, "the bytes end inside")


@pytest.mark.parametrize(("codec", "value"), OUT_OF_RANGE)
def test_what_a_field_cannot_hold_is_malformed(codec: Codec, value: Any) -> None:
    refuses_to_write(codec, value, Malformed, "a value its field cannot hold")


def test_any_byte_but_zero_is_true() -> None:
    assert read(Boolean, b"\x02") is True


def test_an_id_is_read_as_one() -> None:
    assert isinstance(read(UUID, bytes(16)), Uuid)


def test_none_of_them_has_a_null() -> None:
    with pytest.raises(TypeError, match="has no null"):
        Int32.bind(0, True, nullable=True)
