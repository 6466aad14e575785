"""Text, bytes and records: both prefixes, null, the longest text, what is not copied."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.wire.bound import Cut
from barnabas.wire.codec import Codec
from barnabas.wire.compiler import compile_build, compile_parse
from barnabas.wire.errors import Malformed, Truncated
from barnabas.wire.strings import LONGEST_TEXT_BYTES, Bytes, Records, String
from tests.wire.both_paths import read, refuses_to_read, refuses_to_write, write

TEXT = String.bind(0, flexible=False, nullable=False)
NULLABLE_TEXT = String.bind(0, flexible=False, nullable=True)
COMPACT_TEXT = String.bind(0, flexible=True, nullable=False)
COMPACT_NULLABLE_TEXT = String.bind(0, flexible=True, nullable=True)
BYTES = Bytes.bind(0, flexible=False, nullable=False)
COMPACT_BYTES = Bytes.bind(0, flexible=True, nullable=False)
NULLABLE_RECORDS = Records.bind(0, flexible=False, nullable=True)
COMPACT_RECORDS = Records.bind(0, flexible=True, nullable=True)
TEXTS = (TEXT, NULLABLE_TEXT, COMPACT_TEXT, COMPACT_NULLABLE_TEXT)

GOLDEN: list[tuple[Codec, Any, str]] = [
    (TEXT, "", "0000"),
    (TEXT, "ab", "0002 6162"),
    (TEXT, "é", "0002 c3a9"),
    (NULLABLE_TEXT, None, "ffff"),
    (NULLABLE_TEXT, "", "0000"),
    (COMPACT_TEXT, "", "01"),
    (COMPACT_TEXT, "ab", "03 6162"),
    (COMPACT_NULLABLE_TEXT, None, "00"),
    (COMPACT_NULLABLE_TEXT, "ab", "03 6162"),
    (BYTES, b"", "00000000"),
    (BYTES, b"\x00\xff", "00000002 00ff"),
    (COMPACT_BYTES, b"\x00\xff", "03 00ff"),
    (NULLABLE_RECORDS, None, "ffffffff"),
    (NULLABLE_RECORDS, b"batch", "00000005 6261746368"),
    (COMPACT_RECORDS, None, "00"),
    (COMPACT_RECORDS, b"batch", "06 6261746368"),
]


class FileSlice:
    """What storage hands out: it has a length, and its bytes are elsewhere."""

    def __len__(self) -> int:
        return 1000


@pytest.mark.parametrize(("codec", "value", "data"), GOLDEN)
def test_length_then_bytes(codec: Codec, value: Any, data: str) -> None:
    encoded = bytes.fromhex(data)
    assert write(codec, value) == encoded
    assert read(codec, encoded) == value


@pytest.mark.parametrize("codec", [*TEXTS, BYTES, COMPACT_BYTES])
def test_one_byte_less_is_truncated(codec: Codec) -> None:
    value: Any = "abc" if codec in TEXTS else b"abc"
    for cut in range(len(write(codec, value))):
        refuses_to_read(codec, write(codec, value)[:cut], Truncated, "the bytes end inside")


@pytest.mark.parametrize(("codec", "data"), [(TEXT, b"\xff\xff"), (COMPACT_TEXT, b"\x00")])
def test_null_where_none_may_be(codec: Codec, data: bytes) -> None:
    refuses_to_read(codec, data, Malformed, "null where none may be")
    refuses_to_write(codec, None, Malformed)


def test_any_negative_length_is_null() -> None:
    assert read(NULLABLE_TEXT, b"\x80\x00") is None


@pytest.mark.parametrize("codec", [TEXT, COMPACT_TEXT])
def test_the_longest_text(codec: Codec) -> None:
    longest = "x" * LONGEST_TEXT_BYTES
    assert read(codec, write(codec, longest)) == longest


def test_text_that_is_longer() -> None:
    longer = "x" * (LONGEST_TEXT_BYTES + 1)
    refuses_to_write(COMPACT_TEXT, longer, Malformed, "more than 32,767 bytes")
    refuses_to_read(COMPACT_TEXT, b"\x81\x80\x02", Malformed, "more than 32,767 bytes")
    refuses_to_write(TEXT, longer, Malformed)


def test_text_that_is_not_utf_8() -> None:
    refuses_to_read(TEXT, b"\x00\x01\xff", Malformed, "not UTF-8")
    refuses_to_write(TEXT, "\ud800", Malformed, "a value its field cannot hold")


def test_bytes_are_a_copy_and_records_are_a_view() -> None:
    frame = bytearray(b"\x04abc")
    copied = compile_parse(COMPACT_BYTES)(memoryview(frame), 0)
    viewed = compile_parse(COMPACT_RECORDS)(memoryview(frame), 0)
    frame[1:] = b"xyz"
    assert copied == b"abc"
    assert viewed == b"xyz"


def test_records_in_a_file_are_left_where_they_are() -> None:
    out = bytearray(b"head")
    cuts: list[Cut] = []
    records = FileSlice()
    compile_build(NULLABLE_RECORDS)(records, out, cuts)
    assert out == b"head\x00\x00\x03\xe8"
    assert cuts == [(8, records)]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_records_in_memory_are_written_at_once(kind: type) -> None:
    out = bytearray()
    cuts: list[Cut] = []
    compile_build(COMPACT_RECORDS)(kind(b"batch"), out, cuts)
    assert out == b"\x06batch"
    assert cuts == []
