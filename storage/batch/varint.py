"""Variable-length integers inside record batches: zig-zag, seven bits a byte, lowest first.

-1 is one byte 0x01, 0 is 0x00, 1 is 0x02. A varint holds 32 bits in at most five bytes, a
varlong 64 bits in at most ten. Hot loops in `records` read one-byte values themselves and
come here only for longer ones.
"""

from typing import Final

from barnabas.storage.errors import CorruptBatch

_UINT64: Final = (1 << 64) - 1


def finish_varint(data: bytes, position: int, first: int, max_shift: int = 28) -> tuple[int, int]:
    """Read the rest of a varint whose first byte had its top bit set; (value, position after).

    Raises IndexError past the end of the data, CorruptBatch if it never ends.
    """
    byte = data[position]
    position += 1
    raw = first & 0x7F | (byte & 0x7F) << 7
    shift = 14
    while byte > 0x7F:
        if shift > max_shift:
            raise CorruptBatch("a variable-length integer does not end")
        byte = data[position]
        position += 1
        raw |= (byte & 0x7F) << shift
        shift += 7
    if raw > _UINT64:
        raw &= _UINT64
    return (raw >> 1) ^ -(raw & 1), position


def finish_varlong(data: bytes, position: int, first: int) -> tuple[int, int]:
    """As `finish_varint`, for 64 bits."""
    return finish_varint(data, position, first, 63)


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """One varint at `position`: (value, position after it)."""
    first = data[position]
    if first < 0x80:
        return (first >> 1) ^ -(first & 1), position + 1
    return finish_varint(data, position + 1, first)


def append_varint(out: bytearray, value: int) -> None:
    """Write a signed integer of up to 64 bits; varints and varlongs are written alike."""
    raw = (value << 1) ^ (value >> 63)
    while raw > 0x7F:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)
