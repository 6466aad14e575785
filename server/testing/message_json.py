"""Requests and responses as JSON and back: an object per struct, under Barnabas's field names.

Bytes are base64, ids are Kafka's text of them, secrets and records are null. Every field is
there, those that the version does not carry with their defaults; so what is read back is equal
to what was written, but for secrets, records and unknown tagged fields.
"""

import base64
from collections.abc import Mapping
from typing import Any, TypeVar

from barnabas.wire.arrays import Array
from barnabas.wire.codec import Codec
from barnabas.wire.primitives import UuidCodec
from barnabas.wire.schema import Struct
from barnabas.wire.strings import BytesCodec, RecordsCodec
from barnabas.wire.structs import StructKind
from barnabas.wire.uuids import Uuid

S = TypeVar("S", bound=Struct)


def to_json(struct: Struct) -> dict[str, object]:
    """What `json.dumps` takes for a struct."""
    return {
        field.name: None if field.secret else _plain(getattr(struct, field.name), field.kind)
        for field in struct.FIELDS
    }


def from_json(cls: type[S], value: Mapping[str, Any]) -> S:
    """The struct that `to_json` made `value` of."""
    struct = cls()
    for field in cls.FIELDS:
        if not field.secret:
            setattr(struct, field.name, _typed(value[field.name], field.kind))
    return struct


def _plain(value: Any, kind: Codec) -> object:
    if value is None or isinstance(kind, RecordsCodec):
        return None
    if isinstance(kind, Array):
        return [_plain(each, kind.element) for each in value]
    if isinstance(value, Struct):
        return to_json(value)
    if isinstance(kind, UuidCodec):
        return str(Uuid(value))
    return base64.b64encode(value).decode() if isinstance(kind, BytesCodec) else value


def _typed(value: Any, kind: Codec) -> Any:
    if value is None:
        return None
    if isinstance(kind, Array):
        return [_typed(each, kind.element) for each in value]
    if isinstance(kind, StructKind):
        return from_json(kind.cls, value)
    if isinstance(kind, UuidCodec):
        return Uuid.from_text(value)
    return base64.b64decode(value) if isinstance(kind, BytesCodec) else value
