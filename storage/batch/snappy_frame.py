"""Snappy as Java writes it (xerial's framing), and the raw snappy that librdkafka writes.

    0x82 'SNAPPY' 0x00 | version int32 (1) | compatible version int32 (1)
    then blocks: int32 length, raw snappy of up to 32 KiB

Data that does not begin with the magic is one raw snappy block. Streams may follow each other:
where a length is expected the magic may stand again.
"""

from typing import Final

import cramjam

from barnabas.storage.errors import CorruptBatch, DecompressionTooLarge

MAGIC: Final = b"\x82SNAPPY\0"
_HEADER: Final = MAGIC + b"\0\0\0\1\0\0\0\1"
_BLOCK_BYTES: Final = 32 << 10
# No element of the format yields more than 64 bytes from 3; a block claiming more is a lie.
_MAX_RATIO: Final = 22


def compress(data: bytes | bytearray) -> bytes:
    """Frame the data in blocks of 32 KiB, as Java's SnappyOutputStream does."""
    out = bytearray(_HEADER)
    view = memoryview(data)
    for start in range(0, len(data), _BLOCK_BYTES):
        block = cramjam.snappy.compress_raw(view[start : start + _BLOCK_BYTES])
        out += len(block).to_bytes(4, "big")
        out += memoryview(block)
    return bytes(out)


def decompress(data: memoryview, limit_bytes: int) -> bytes:
    """Plain bytes of either framing; raises CorruptBatch or DecompressionTooLarge."""
    if not _magic_at(data, 0):
        return _decompress_block(data, limit_bytes)
    out = bytearray()
    position = 0
    while position < len(data):
        if _magic_at(data, position):
            position += len(_HEADER)
            continue
        length = int.from_bytes(data[position : position + 4], "big")
        position += 4
        if length > len(data) - position:
            raise CorruptBatch("a snappy block runs past the end of its batch")
        out += _decompress_block(data[position : position + length], limit_bytes - len(out))
        position += length
    return bytes(out)


def _magic_at(data: memoryview, position: int) -> bool:
    return bytes(data[position : position + len(MAGIC)]) == MAGIC


def _decompress_block(block: memoryview, limit_bytes: int) -> bytes:
    try:
        size = cramjam.snappy.decompress_raw_len(block)
        if size > limit_bytes:
            raise DecompressionTooLarge("snappy records grow past the limit")
        if size > len(block) * _MAX_RATIO:
            raise CorruptBatch(f"a snappy block of {len(block)} bytes claims to hold {size}")
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise CorruptBatch(f"snappy records do not decompress: {error}") from None
