"""Arrays: counts, null, elements read in one call, counts that cannot be."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.wire.arrays import Array
from barnabas.wire.codec import Codec
from barnabas.wire.compiler import compile_build
from barnabas.wire.errors import Malformed, Truncated
from barnabas.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from barnabas.wire.primitives import UUID, Boolean, Int16, Int32
from barnabas.wire.schema import Struct, field, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import Uuid
from tests.wire.both_paths import read, refuses_to_read, refuses_to_write, write
from tests.wire.steps import finished


@struct
class Pair(Struct):
    name: str = field(String)
    number: int = field(Int16)


NUMBERS = Array(Int32).bind(0, flexible=False, nullable=False)
COMPACT_NUMBERS = Array(Int32).bind(0, flexible=True, nullable=False)
NULLABLE_NUMBERS = Array(Int32).bind(0, flexible=False, nullable=True)
COMPACT_NULLABLE_NUMBERS = Array(Int32).bind(0, flexible=True, nullable=True)
PAIRS = Array(Pair).bind(0, flexible=True, nullable=False)
TEXTS = Array(String).bind(0, flexible=True, nullable=False)

GOLDEN: list[tuple[Codec, Any, str]] = [
    (NUMBERS, [], "00000000"),
    (NUMBERS, [1, -1], "00000002 00000001 ffffffff"),
    (COMPACT_NUMBERS, [], "01"),
    (COMPACT_NUMBERS, [1, -1], "03 00000001 ffffffff"),
    (NULLABLE_NUMBERS, None, "ffffffff"),
    (NULLABLE_NUMBERS, [7], "00000001 00000007"),
    (COMPACT_NULLABLE_NUMBERS, None, "00"),
    (COMPACT_NULLABLE_NUMBERS, [7], "02 00000007"),
    (TEXTS, ["a", ""], "03 02 61 01"),
    (Array(Boolean), [True, False], "00000002 01 00"),
    (Array(UUID), [Uuid(16)], "00000001" + "00" * 16),
    # count, then text, number and an empty tag section of each
    (PAIRS, [Pair(name="a", number=1), Pair(name="", number=2)], "03 0261 0001 00 01 0002 00"),
]


@pytest.mark.parametrize(("codec", "value", "data"), GOLDEN)
def test_count_then_elements(codec: Codec, value: Any, data: str) -> None:
    encoded = bytes.fromhex(data)
    assert write(codec, value) == encoded
    assert read(codec, encoded) == value


def test_long_arrays_have_a_longer_count() -> None:
    for count in (126, 127, 128, 20_000):
        numbers = list(range(count))
        assert read(COMPACT_NUMBERS, write(COMPACT_NUMBERS, numbers)) == numbers


@pytest.mark.parametrize(
    ("codec", "data"),
    [
        (NUMBERS, "7fffffff"),
        (NUMBERS, "00000002 00000001 ffffff"),
        (COMPACT_NUMBERS, "ffffffff0f"),
        (TEXTS, "04 01 01"),
        (PAIRS, "03 010001 00 010001"),
    ],
)
def test_a_count_larger_than_the_rest(codec: Codec, data: str) -> None:
    refuses_to_read(codec, bytes.fromhex(data), Malformed, "a count larger than the rest")


def test_a_cut_inside_an_element_is_truncated() -> None:
    refuses_to_read(TEXTS, b"\x03\x01\x03a", Truncated, "the bytes end inside")


@pytest.mark.parametrize(("codec", "data"), [(NUMBERS, b"\xff" * 4), (COMPACT_NUMBERS, b"\x00")])
def test_null_where_none_may_be(codec: Codec, data: bytes) -> None:
    refuses_to_read(codec, data, Malformed, "null where none may be")


@pytest.mark.parametrize("value", [[1, "2"], [2**31]])
def test_an_element_that_does_not_fit(value: list[Any]) -> None:
    refuses_to_write(NUMBERS, value, Malformed, "a value its field cannot hold")


def test_the_reference_path_names_the_element() -> None:
    with pytest.raises(Truncated) as caught:
        PAIRS.parse(bytes.fromhex("03 010001 00 04616263"))
    assert caught.value.path.endswith("[1].number")


class BuiltPair(Pair):
    """A pair that brings its bytes."""

    __slots__ = ("built",)
    built: bytes


def test_an_element_may_bring_its_bytes() -> None:
    """They are written as they are; the array must be one that says so."""
    pair = BuiltPair(name="a", number=1)
    pairs = [pair, Pair(name="", number=2)]
    for array in (Array(Pair, built=True), Array(Pair)):
        assert write(array.bind(0, flexible=True, nullable=False), pairs) == PAIRS.build(pairs)
    pair.built = bytes.fromhex("0262 0009 00")
    out = bytearray()
    compile_build(Array(Pair, built=True).bind(0, flexible=True, nullable=False))(pairs, out, [])
    assert out == PAIRS.build([Pair(name="b", number=9), pairs[1]])


def test_the_bytes_of_one_element_are_made_in_steps() -> None:
    partition = MetadataResponsePartition(partition_index=0, leader_id=0, replica_nodes=[0])
    topic = MetadataResponseTopic(name="t", partitions=[partition] * 1_000)
    for version in (1, 12):
        bound = MetadataResponse.at(version)
        built = finished(bound.build_element("topics", topic))
        assert built.steps >= 3
        assert built.value in bound.build(MetadataResponse(topics=[topic]))
