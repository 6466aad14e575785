"""Values as the JSON that Kafka's own `…JsonConverter` classes write.

Tagged fields at their default are left out, bytes are base64, an id prints as Kafka prints
it. Records are base64 too (`records="data"`, as compat-tests/wire/Bridge.java has them) or
their size under another name (`records="size"`, as the converters alone write them). Unknown
tags, which the converters forget, are listed under "_tags".
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from barnabas.wire.arrays import Array
from barnabas.wire.codec import Codec
from barnabas.wire.schema import Field, Struct
from barnabas.wire.strings import RecordsCodec
from barnabas.wire.structs import StructCodec
from barnabas.wire.uuids import Uuid


def kafka_name(field: Field) -> str:
    """The field's name in Apache's definitions."""
    return field.kafka_name or "".join(part.capitalize() for part in field.name.split("_"))


def to_json(codec: StructCodec, value: Struct, records: str = "data") -> dict[str, Any]:
    """What the converter of this struct at this version writes for `value`."""
    out: dict[str, Any] = {}
    for field, member in codec.present:
        _put(out, field, member, getattr(value, field.name), records)
    for field, member in codec.tagged:
        content = getattr(value, field.name)
        if field.is_set(content):
            _put(out, field, member, content, records)
    if value.unknown_tagged_fields:
        out["_tags"] = [[tag, _text(data)] for tag, data in value.unknown_tagged_fields]
    return out


def _put(out: dict[str, Any], field: Field, codec: Codec, value: Any, records: str) -> None:
    name = kafka_name(field)
    name = name[0].lower() + name[1:]
    if isinstance(codec, RecordsCodec) and records == "size" and value is not None:
        out[name + "SizeInBytes"] = len(value)
    else:
        out[name] = _json(codec, value, records)


def _json(codec: Codec, value: Any, records: str) -> Any:
    if isinstance(value, Struct):
        assert isinstance(codec, StructCodec)
        return to_json(codec, value, records)
    if isinstance(value, list):
        assert isinstance(codec, Array)
        return [_json(codec.element, each, records) for each in value]
    if isinstance(value, Uuid):
        return str(value)
    if isinstance(value, bytes | memoryview):
        return _text(value)
    return value


def _text(data: bytes | memoryview) -> str:
    return b64encode(data).decode()
