"""Unsigned variable-length integers (KIP-482): seven bits a byte, the lowest first.

Zig-zag varints live inside records and belong to storage.
"""

from typing import Final

from barnabas.wire.errors import Malformed, Truncated

LONGEST_BYTES: Final = 5


def read_uvarint(buf: memoryview, pos: int) -> tuple[int, int]:
    """The number at `pos` and the position behind it. At most 32 bits in five bytes."""
    value = shift = 0
    try:
        for index in range(pos, pos + LONGEST_BYTES):
            byte = buf[index]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, index + 1
            shift += 7
    except IndexError:
        raise Truncated("the bytes end inside a varint") from None
    raise Malformed("a varint longer than five bytes")


def write_uvarint(out: bytearray, value: int) -> None:
    """Append `value`, which must not be negative."""
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
