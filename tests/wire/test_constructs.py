"""Constructs that are not ours, as fields; messages inside constructs; generated code in sight."""

from __future__ import annotations

import traceback
from typing import Any

import construct
import pytest

from barnabas.wire.arrays import Array
from barnabas.wire.compiler import compile_parse
from barnabas.wire.constructs import Foreign
from barnabas.wire.errors import Malformed, Truncated
from barnabas.wire.messages.fetch import LeaderIdAndEpoch
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.primitives import UUID, Fixed, Int16, Int64, UuidCodec
from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String
from barnabas.wire.uuids import Uuid
from tests.wire.both_paths import read, refuses_to_read, refuses_to_write, write

COLOUR = construct.Enum(construct.Int8ub, red=1, green=2)
WORDS = construct.GreedyRange(
    construct.Const(b"!") >> construct.PascalString(construct.Int8ub, "ascii")
)


@message(versions=(0, 1), flexible=1)
class Painting(Message):
    """A message with fields of other constructs, of a fixed and of no fixed size."""

    title: str = field(String)
    colour: str = field(COLOUR, default="red")
    sizes: list[int] = field(Array(construct.Int24ub))
    size: int = field(Int16)


def painted(**changes: Any) -> Painting:
    values: Any = {"title": "t", "sizes": [], "size": 0, **changes}
    return Painting(**values)


def test_fixed_width_codecs_are_constructs_own_fields() -> None:
    assert isinstance(Int64, construct.FormatField) and isinstance(Int64, Fixed)
    assert isinstance(UUID, construct.Adapter) and isinstance(UUID, UuidCodec)
    assert [codec.sizeof() for codec in (Int16, Int64, UUID)] == [2, 8, 16]


def test_a_struct_of_fixed_fields_has_a_size() -> None:
    assert LeaderIdAndEpoch.KIND.bind(11, False, False).sizeof() == 8
    with pytest.raises(construct.SizeofError):
        HeartbeatRequest.at(0).sizeof()


@pytest.mark.parametrize("version", [0, 1])
def test_any_construct_is_a_field_on_both_paths(version: int) -> None:
    codec = Painting.at(version).reference
    painting = Painting(title="t", colour="green", sizes=[1, 0xABCDEF], size=-3)
    data = write(codec, painting)
    assert b"\x02" in data and b"\x00\x00\x01\xab\xcd\xef" in data
    assert read(codec, data) == painting


def test_what_is_wrong_with_it_is_said_as_with_ours() -> None:
    codec = Painting.at(0).reference
    data = write(codec, painted())
    refuses_to_read(codec, data[:3], Truncated, "the bytes end inside a field")
    refuses_to_write(codec, painted(colour="blue"), Malformed)
    refuses_to_write(codec, painted(sizes=[-1]), Malformed)
    with pytest.raises(Truncated) as caught:
        Painting.at(0).parse(data[:3])
    assert caught.value.path == "colour"


def moody(error: Exception) -> Any:
    """A construct that raises what it is made with, whatever it is asked for."""

    def asked(*_: object) -> object:
        raise error

    return construct.ExprAdapter(construct.Int8ub, asked, asked)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (moody(OverflowError("too far")), "too far"),
        (moody(KeyError("colour")), "colour"),
        (moody(ZeroDivisionError()), "ZeroDivisionError"),
        (construct.Compressed(construct.GreedyBytes, "zlib"), "decompressing"),
    ],
)
def test_whatever_one_raises_over_the_bytes_of_a_client_is_malformed(
    kind: Any, reason: str
) -> None:
    refuses_to_read(Foreign(kind), b"\x01\x02", Malformed, reason)


@pytest.mark.parametrize(
    ("kind", "value"),
    [(moody(OverflowError("o")), 1), (construct.Struct("a" / construct.Int8ub), {})],
)
def test_whatever_one_raises_over_a_value_is_malformed(kind: Any, value: object) -> None:
    refuses_to_write(Foreign(kind), value, Malformed)


def test_one_that_looks_ahead_leaves_what_is_not_its_own() -> None:
    codec = Foreign(WORDS)
    assert list(compile_parse(codec)(memoryview(b"..!\x02ab!\x01c?rest"), 2)) == [
        [b"!", "ab"],
        [b"!", "c"],
    ]
    assert codec.read(memoryview(b"..!\x02ab!\x01c?rest"), 2)[1] == 9


def test_a_field_of_it_has_no_default_of_kafkas() -> None:
    with pytest.raises(TypeError, match="names its default"):
        field(COLOUR)


def beat_of(group_id: str, generation_id: object = 4) -> HeartbeatRequest:
    made: Any = HeartbeatRequest
    beat: HeartbeatRequest = made(group_id=group_id, generation_id=generation_id, member_id="m")
    return beat


def test_a_message_stands_in_other_constructs() -> None:
    packet = construct.Struct(
        "kind" / construct.Int8ub,
        "beat" / HeartbeatRequest.at(3),
        "crc" / construct.Int32ub,
    )
    beat = beat_of("g")
    data = packet.build({"kind": 12, "beat": beat, "crc": 99})
    assert data == b"\x0c" + HeartbeatRequest.at(3).build(beat) + b"\0\0\0\x63"
    found = packet.parse(data)
    assert (found.kind, found.beat, found.crc) == (12, beat, 99)


def test_a_message_after_a_message() -> None:
    two = construct.Array(2, HeartbeatRequest.at(0))
    beats = [beat_of(name) for name in ("a", "bcd")]
    assert list(two.parse(two.build(beats))) == beats


def test_a_traceback_shows_the_line_that_was_generated() -> None:
    bound = HeartbeatRequest.at(2)
    bound.encode(beat_of("g"), bytearray(), [])
    with pytest.raises(Malformed) as caught:
        bound.encode(beat_of("g", "four"), bytearray(), [])
    shown = "".join(traceback.format_exception(caught.value.__context__ or caught.value))
    assert "<wire: build HeartbeatRequest v2>" in shown
    assert "pack_i(value.generation_id)" in shown or "except (struct_error" in shown


def test_the_source_of_a_version_can_be_read() -> None:
    source = HeartbeatRequest.at(4).source
    assert "def parse(buf, pos):" in source and "def build(value, out, cuts):" in source
    assert "generation_id" in source
    assert HeartbeatRequest.at(0).source != source


def test_an_adapter_of_an_id_gives_ids() -> None:
    assert read(UUID, bytes(range(16))) == Uuid(bytes(range(16)))
