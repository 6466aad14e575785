"""The worst that can legally be asked: every array of every request, filled to the bound.

One array at a time, since all arrays of a frame share one bound; those around it hold the one
element that is needed to get there.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from barnabas.server.handlers import HANDLERS
from barnabas.wire.api import ApiKey, request_class
from barnabas.wire.arrays import Array
from barnabas.wire.codec import Codec
from barnabas.wire.primitives import Fixed, UuidCodec
from barnabas.wire.schema import Message
from barnabas.wire.strings import StringCodec
from barnabas.wire.structs import StructCodec
from barnabas.wire.uuids import Uuid


class Large(NamedTuple):
    """A request and which of its arrays is full."""

    api: ApiKey
    version: int
    path: str
    request: Message

    def __str__(self) -> str:
        return f"{self.api.name} v{self.version} {self.path}"


def large_requests(api: ApiKey, elements: int) -> Iterator[Large]:
    """The requests of an API's newest version, each with so many elements in one of its arrays."""
    version = HANDLERS[api].last
    codec = request_class(api).at(version).reference
    for path in _paths(codec):
        request = _filled(codec, path, elements, 0)
        if api is ApiKey.PRODUCE:
            request.acks = 1  # else nothing is answered
        yield Large(api, version, ".".join(path), request)


def _paths(codec: StructCodec) -> Iterator[tuple[str, ...]]:
    for field, member in codec.present:
        if isinstance(member, Array):
            yield (field.name,)
            if isinstance(member.element, StructCodec):
                yield from ((field.name, *rest) for rest in _paths(member.element))


def _filled(codec: StructCodec, path: tuple[str, ...], elements: int, number: int) -> Any:
    """A struct whose fields tell its number, with the array at `path` full."""
    made = codec.cls()
    for field, member in codec.present:
        if path and field.name == path[0] and isinstance(member, Array):
            count = elements if len(path) == 1 else 1
            value: Any = [_element(member.element, path[1:], elements, n) for n in range(count)]
        elif number == 0 and isinstance(member, Array):
            continue
        else:
            value = _scalar(member, number)
            if value is None:
                continue
        setattr(made, field.name, value)
    return made


def _element(codec: Codec, path: tuple[str, ...], elements: int, number: int) -> Any:
    if isinstance(codec, StructCodec):
        return _filled(codec, path, elements, number)
    return _scalar(codec, number)


def _scalar(codec: Codec, number: int) -> Any:
    """A value that no other number has, where the type has so many; None: the default will do."""
    if isinstance(codec, UuidCodec):
        return Uuid((number + 1).to_bytes(16, "big"))
    if isinstance(codec, StringCodec):
        return f"n{number}"
    if isinstance(codec, Fixed):
        # A byte has too few values for all of them.
        return number if codec.char in "iq" else number % 100 if codec.char == "b" else None
    return None
