"""Barnabas's declarations as `apache.Layout`s, to be held against Apache's definitions."""

from __future__ import annotations

import apache

from barnabas.wire.arrays import Array
from barnabas.wire.codec import Codec
from barnabas.wire.primitives import Fixed, UuidCodec
from barnabas.wire.schema import EMPTY_LIST, Field, Message
from barnabas.wire.strings import BytesCodec, RecordsCodec
from barnabas.wire.structs import StructCodec, StructKind
from tests.wire.kafka_json import kafka_name
from tests.wire.strategies import declared

FIXED = {
    "?": "bool",
    "b": "int8",
    "h": "int16",
    "H": "uint16",
    "i": "int32",
    "I": "uint32",
    "q": "int64",
    "d": "float64",
}


def layouts() -> dict[tuple[str, int], apache.Layout]:
    """Every message and version that Barnabas declares."""
    return {
        (name, version): layout(message, version)
        for name, message in declared().items()
        for version in message.VERSIONS
    }


def layout(message: type[Message], version: int) -> apache.Layout:
    """A message at one version as its bound codec has it."""
    codec = message.at(version).reference
    return apache.Layout(codec.flexible, _members(codec), _absent(codec))


def _members(codec: StructCodec) -> tuple[apache.Field, ...]:
    return tuple(_field(field, bound, codec) for field, bound in codec.present + codec.tagged)


def _absent(codec: StructCodec) -> dict[str, bool]:
    return {kafka_name(field): field.may_be_dropped_at(codec.version) for field in codec.absent}


def _field(field: Field, codec: Codec, owner: StructCodec) -> apache.Field:
    element = codec.element if isinstance(codec, Array) else codec
    return apache.Field(
        name=kafka_name(field),
        type=("[]" if isinstance(codec, Array) else "") + _type(element),
        nullable=getattr(codec, "nullable", False),
        default=_default(field, getattr(codec, "nullable", False)),
        tag=field.tag if field.is_tagged_at(owner.version) else None,
        ignorable=field.may_be_dropped_at(owner.version),
        flexible=getattr(codec, "flexible", owner.flexible and field.flexible),
        fields=_members(element) if isinstance(element, StructCodec) else (),
        absent=_absent(element) if isinstance(element, StructCodec) else {},
    )


def _type(codec: Codec) -> str:
    if isinstance(codec, StructCodec):
        return "struct"
    if isinstance(codec, UuidCodec):
        return "uuid"
    if isinstance(codec, Fixed):
        return FIXED[codec.char]
    if isinstance(codec, RecordsCodec):
        return "records"
    return "bytes" if isinstance(codec, BytesCodec) else "string"


def _default(field: Field, nullable: bool) -> object:
    """The default in Apache's terms.

    Absent records are None here as in Java, and None stands for a tagged struct that was
    not sent where Java makes a struct of defaults.
    """
    default = field.default
    if default is EMPTY_LIST:
        return ()
    if isinstance(default, type):
        return "struct"
    if default is None and not nullable:
        return "struct" if isinstance(field.kind, StructKind) else b""
    if isinstance(field.kind, UuidCodec):
        return apache.ZERO_UUID if default == bytes(16) else str(default)
    return default
