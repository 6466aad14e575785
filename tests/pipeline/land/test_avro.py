"""Avro's values as the specification writes them down, and what is none of them."""

from __future__ import annotations

import decimal
import json
import struct
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.pipeline.land.avro_arrow import read_array
from barnabas.pipeline.land.avro_schema import AvroError, AvroType, compile_schema, read_value


def record(*types: Any) -> AvroType:
    """A record with fields a, b, c, … of these types."""
    fields = [{"name": chr(97 + number), "type": each} for number, each in enumerate(types)]
    return compile_schema(json.dumps({"type": "record", "name": "r", "fields": fields}))


def long(value: int) -> bytes:
    """As the specification has it: zigzag, then seven bits to a byte, lowest first."""
    rest = (value << 1) ^ (value >> 63)
    rest &= (1 << 64) - 1
    out = b""
    while rest > 0x7F:
        out += bytes([rest & 0x7F | 0x80])
        rest >>= 7
    return out + bytes([rest])


@pytest.mark.parametrize(
    ("kind", "hexed", "value"),
    [
        # the examples of the specification
        ("long", "00", 0),
        ("long", "01", -1),
        ("long", "7f", -64),
        ("long", "8001", 64),
        ("string", "06666f6f", "foo"),
        ({"type": "array", "items": "long"}, "04063600", [3, 27]),
        (["null", "string"], "00", None),
        (["null", "string"], "020261", "a"),
        # and the rest
        ("boolean", "01", True),
        ("int", "feffffff0f", 2**31 - 1),
        ("long", "ffffffffffffffffff01", -(2**63)),
        ("float", struct.pack("<f", 1.5).hex(), 1.5),
        ("double", struct.pack("<d", -0.1).hex(), -0.1),
        ("bytes", "04ff00", b"\xff\x00"),
        ({"type": "array", "items": "long"}, "0304063600", [3, 27]),  # a block with its size
        ({"type": "map", "values": "int"}, "0202610400", [("a", 2)]),
        ({"type": "enum", "name": "e", "symbols": ["x", "y"]}, "02", "y"),
        ({"type": "fixed", "name": "f", "size": 2}, "0102", b"\x01\x02"),
        (["int", "null", "string"], "04026b", {"member1": "k"}),
        (["int", "null", "string"], "02", None),
        ({"type": "long", "logicalType": "timestamp-millis"}, "04", 2000),
        ({"type": "long", "logicalType": "nobody's"}, "04", 2),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
            "04ff85",
            decimal.Decimal("-1.23"),
        ),
    ],
)
def test_a_value_is_read(kind: Any, hexed: str, value: Any) -> None:
    assert read_value(record(kind), bytes.fromhex(hexed)) == {"a": value}


@given(st.integers(-(2**63), 2**63 - 1), st.text(), st.lists(st.integers(-(2**31), 2**31 - 1)))
def test_what_is_written_as_specified_comes_back(number: int, text: str, items: list[int]) -> None:
    data = long(number) + long(len(text.encode())) + text.encode()
    for item in items:
        data += long(1) + long(item)
    type_ = record("long", "string", {"type": "array", "items": "int"})
    assert read_value(type_, data + b"\0") == {"a": number, "b": text, "c": items}


@given(st.binary(max_size=60))
def test_any_bytes_are_a_value_or_told_to_be_none(data: bytes) -> None:
    inner = {"type": "record", "name": "i", "fields": [{"name": "m", "type": ["null", "bytes"]}]}
    type_ = record("int", {"type": "map", "values": inner}, {"type": "array", "items": "null"})
    try:
        assert set(read_value(type_, data)) == {"a", "b", "c"}
    except AvroError as error:
        assert str(error)


@pytest.mark.parametrize(
    ("kind", "hexed", "reason"),
    [
        ("string", "0861", "field a: byte 1: 4 bytes are wanted, 1 are left"),
        ("string", "02ff", "field a: byte 0: a string that is not UTF-8"),
        ("string", "01", "field a: byte 1: -1 bytes are wanted, 0 are left"),
        ("int", "8080808010", "field a: byte 0: 2147483648 has more than 32 bits"),
        ("long", "ff" * 11, "field a: byte 0: a number of more than ten bytes"),
        ("boolean", "02", "field a: byte 0: 2 is no boolean"),
        ("long", "0000", "1 bytes are left after the record"),
        (["null", "int"], "04", "field a: byte 0: 2 is none of the 2 of a union"),
        (
            {"type": "enum", "name": "e", "symbols": ["x"]},
            "02",
            "field a: byte 0: 1 is none of an enum's 1",
        ),
        (
            {"type": "array", "items": "null"},
            long(10**9).hex(),
            "field a: byte 5: more than 1,000,000 items",
        ),
        (
            {"type": "long", "logicalType": "timestamp-millis"},
            long(2**62).hex(),
            "field a: byte 0: a time that microseconds cannot tell",
        ),
    ],
)
def test_why_bytes_are_no_value(kind: Any, hexed: str, reason: str) -> None:
    with pytest.raises(AvroError) as caught:
        read_value(record(kind), bytes.fromhex(hexed))
    assert str(caught.value) == reason


def test_the_path_of_a_field_that_is_wrong_is_told() -> None:
    inner = {"type": "record", "name": "i", "fields": [{"name": "deep", "type": "string"}]}
    with pytest.raises(AvroError, match=r"^field a.deep: byte 0: 1 bytes are wanted"):
        read_value(record(inner), b"")


@pytest.mark.parametrize(
    "schema",
    [
        "",
        "[]",
        '"string"',
        '{"type":"record","name":"r","fields":[]}',
        '{"type":"record","name":"r","fields":[{"name":"a","type":"nothing"}]}',
        '{"type":"record","name":"r","fields":[{"name":"a","type":["null","r"]}]}',
        '{"type":"record","fields":[{"name":"a","type":"int"}]}',
        '{"type":"record","name":"r","fields":[{"name":"a","type":[]}]}',
    ],
)
def test_what_is_no_schema_is_told(schema: str) -> None:
    with pytest.raises(AvroError):
        compile_schema(schema)


def test_names_are_known_in_their_namespace() -> None:
    color = {"type": "enum", "name": "color", "namespace": "x", "symbols": ["red"]}
    assert read_value(record(color, "x.color"), b"\0\0") == {"a": "red", "b": "red"}


def test_an_array_has_a_reason_for_each_value_that_is_none() -> None:
    schema = '{"type":"record","name":"r","fields":[{"name":"a","type":"int"}]}'
    parsed = pa.struct([("a", pa.int32())])
    found = read_array(pa.array([b"\x02", None, b"", b"\x02\x02"]), schema, parsed).to_pylist()
    assert found == [
        {"parsed": {"a": 1}, "reason": None},
        {"parsed": None, "reason": None},
        {"parsed": None, "reason": "the value is empty"},
        {"parsed": None, "reason": "1 bytes are left after the record"},
    ]
