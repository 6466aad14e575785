"""Tagged fields: order, size, what nobody knows, what is not written."""

from __future__ import annotations

import pytest

from barnabas.wire.errors import Malformed, Truncated
from barnabas.wire.primitives import Int32
from barnabas.wire.schema import Struct, field, struct
from barnabas.wire.strings import String
from barnabas.wire.structs import StructCodec
from barnabas.wire.tags import read_tag_head, skip_tags, write_tags
from tests.wire.both_paths import read, refuses_to_read, write


@struct
class Tagged(Struct):
    number: int = field(Int32, tag=3, default=-1)
    text: str | None = field(String, tag=1, nullable=0, default="none")


CODEC = StructCodec(Tagged, 0, flexible=True)


def test_golden() -> None:
    data = bytes.fromhex(
        "03"  # three fields
        "01 03 036869"  # tag 1, a compact text of three bytes in all
        "03 04 00000007"  # tag 3, four bytes
        "8001 01 ff"  # tag 128, which nobody declared
    )
    value = Tagged(number=7, text="hi")
    value.unknown_tagged_fields = ((128, b"\xff"),)
    assert write(CODEC, value) == data
    assert read(CODEC, data) == value


def test_defaults_are_not_written() -> None:
    assert write(CODEC, Tagged()) == b"\x00"
    assert read(CODEC, b"\x00") == Tagged(number=-1, text="none")


def test_null_is_written_where_it_is_not_the_default() -> None:
    assert write(CODEC, Tagged(text=None)) == bytes.fromhex("01 01 01 00")
    assert read(CODEC, bytes.fromhex("01 01 01 00")).text is None


def test_unknown_tags_between_known_ones_keep_their_place() -> None:
    data = bytes.fromhex("03 01 01 01 02 00 03 04 00000007")
    value = read(CODEC, data)
    assert value.unknown_tagged_fields == ((2, b""),)
    assert write(CODEC, value) == data


@pytest.mark.parametrize("data", ["02 03 04 00000007 01 01 01", "02 01 01 01 01 01 01"])
def test_tags_ascend(data: str) -> None:
    refuses_to_read(CODEC, bytes.fromhex(data), Malformed, "tags out of order")


@pytest.mark.parametrize("data", ["01 03 05 0000000700", "01 03 03 00000007"])
def test_a_field_fills_its_size(data: str) -> None:
    refuses_to_read(CODEC, bytes.fromhex(data), Malformed, "does not fill its size")


@pytest.mark.parametrize("data", ["", "01", "01 09", "01 09 02 00", "01 03 04 000000"])
def test_a_cut_is_truncated(data: str) -> None:
    refuses_to_read(CODEC, bytes.fromhex(data), Truncated, "the bytes end inside")


def test_the_helpers() -> None:
    data = memoryview(bytes.fromhex("ff 02 05 01 aa 07 00 ee"))
    assert skip_tags(data, 1) == (((5, b"\xaa"), (7, b"")), 7)
    assert read_tag_head(data, 2, -1) == (5, 4, 5)
    with pytest.raises(Malformed, match="out of order"):
        read_tag_head(data, 2, 5)
    out = bytearray()
    write_tags(out, [(7, b""), (5, b"\xaa")])
    assert out == data[1:7]
