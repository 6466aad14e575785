"""Which appends take so long that they are to be validated in steps."""

from collections.abc import Callable
from typing import Final

from barnabas.storage.batch.header import HEADER, MAGIC_V2, Buffer, HeaderFields

_unpack: Final[Callable[[Buffer], HeaderFields]] = HEADER.unpack_from
_HEADER_BYTES: Final = HEADER.size
_CODEC_MASK: Final = 7
_LARGE_BYTES: Final = 32 << 10
_MANY_RECORDS: Final = 2_000
_LEGACY_ATTRIBUTES_POSITION: Final = 17


class TakesLong(Exception):
    """Every record of a large set has to be looked at, which is to be done in steps."""


def takes_long(buffer: bytearray | memoryview) -> bool:
    """Whether so many records may be in it that validation at once keeps others waiting.

    A few compressed bytes may be megabytes of records.
    """
    size = len(buffer)
    if size < _HEADER_BYTES or size > _LARGE_BYTES:
        return size > _LARGE_BYTES
    fields = _unpack(buffer)
    if fields[3] >= MAGIC_V2:
        return fields[-1] > _MANY_RECORDS or fields[5] & _CODEC_MASK != 0
    return buffer[_LEGACY_ATTRIBUTES_POSITION] & _CODEC_MASK != 0
