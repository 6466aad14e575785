"""kafka-python's codecs read our bytes as the same values, and write the same bytes again.

It declares about a hundred messages from Apache's JSON by a road of its own. Unknown tags are
left out here: it forgets them.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from seeds import FIRST_SEED

from barnabas.wire.arrays import Array
from barnabas.wire.codec import Codec
from barnabas.wire.structs import StructCodec
from barnabas.wire.uuids import Uuid
from tests.wire.strategies import Values, declared

with warnings.catch_warnings():  # it reads its JSON with a function that Python deprecates
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.protocol.api_data import ApiData
    from kafka.protocol.api_message import ApiMessage

    for room in ("admin", "consumer", "consumer.metadata", "metadata", "producer", "sasl"):
        import_module(f"kafka.protocol.{room}")

VALUES = 6  # per message and version


def kafka_python() -> dict[str, Any]:
    """kafka-python's classes, by Kafka's name."""
    found = (each for base in (ApiMessage, ApiData) for each in below(base))
    return {each.__name__: each for each in found if each.__name__ in declared()}


def below(base: Any) -> Iterator[Any]:
    for each in base.__subclasses__():
        yield each
        yield from below(each)


def alike(codec: Codec, ours: Any, theirs: Any) -> bool:
    """Whether two values are one, field by field."""
    if isinstance(codec, Array) and ours is not None and theirs is not None:
        return len(ours) == len(theirs) and all(
            alike(codec.element, *pair) for pair in zip(ours, theirs, strict=True)
        )
    if isinstance(codec, StructCodec) and ours is not None and theirs is not None:
        return fields_alike(codec, ours, theirs)
    if isinstance(ours, Uuid):
        return bytes(ours) == (bytes(16) if theirs is None else theirs.bytes)
    if isinstance(ours, int) and (theirs is None or isinstance(theirs, set)):
        return bits(ours) == theirs
    return bool(ours == theirs)


def bits(operations: int) -> set[int] | None:
    """kafka-python reads authorized operations as a set of bits, the smallest int32 as None."""
    if operations == -(2**31):
        return None
    return {bit for bit in range(32) if operations >> bit & 1}


def fields_alike(codec: StructCodec, ours: Any, theirs: Any) -> bool:
    """By position, as some names differ; tagged fields by tag, where they are sent."""
    declared = theirs._struct.untagged_fields(codec.version)
    pairs = list(zip(codec.present, (each.name for each in declared), strict=True))
    tags = {each._tag: each.name for each in theirs._struct.fields.values()}
    for field, member in codec.tagged:
        if field.is_set(getattr(ours, field.name)):
            pairs.append(((field, member), tags[field.tag]))
    return all(
        alike(member, getattr(ours, field.name), getattr(theirs, name))
        for (field, member), name in pairs
    )


def made(name: str, version: int, seed: int) -> Any:
    source = random.Random(f"{name} {version} {seed}")
    value = Values(source, unknown=0).of(declared()[name], version)
    if name == "ApiVersionsResponse":
        value.error_code = 0  # kafka-python reads an answer with an error as version 0
    return value


@pytest.mark.parametrize("name", sorted(kafka_python()))
def test_values_and_bytes_are_kafka_pythons(name: str) -> None:
    theirs, message = kafka_python()[name], declared()[name]
    first, last = theirs._valid_versions
    for version in range(first, last + 1):
        bound = message.at(version)
        for seed in range(FIRST_SEED, FIRST_SEED + VALUES):
            value = made(name, version, seed)
            data = bound.build(value)
            read, written = through(theirs, version, data)
            place = f"{name} version {version} seed {seed}: {data.hex()}"
            assert written == data, place
            assert alike(bound.reference, value, read), place


def through(message: Any, version: int, data: bytes) -> tuple[Any, bytes]:
    """What kafka-python reads in `data`, and the bytes it writes for that."""
    if issubclass(message, ApiData):
        read = message.decode(data, version=version, header=False)
        return read, read.encode(version=version, header=False)
    read = message.decode(data, version=version)
    read._header = None
    return read, read.encode()


def test_kafka_python_has_about_a_hundred_messages() -> None:
    assert len(kafka_python()) > 100
