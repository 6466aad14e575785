"""Snappy as Java writes it (xerial's framing), and the raw snappy that librdkafka writes.

    0x82 'SNAPPY' 0x00 | version int32 (1) | compatible version int32 (1)
    then blocks: int32 length, raw snappy of up to 32 KiB

Data that does not begin with the magic is one raw snappy block. Streams may follow each other:
where a length is expected the magic may stand again.
"""

from typing import Final

import cramjam

from barnabas.storage.batch.scratch import Scratch
from barnabas.storage.batch.steps import Steps
from barnabas.storage.errors import CorruptBatch, DecompressionTooLarge

MAGIC: Final = b"\x82SNAPPY\0"
_HEADER: Final = MAGIC + b"\0\0\0\1\0\0\0\1"
_BLOCK_BYTES: Final = 32 << 10
# No element of the format yields more than 64 bytes from 3; a block claiming more is a lie.
_MAX_RATIO: Final = 22


def compress_in_steps(data: bytes | bytearray) -> Steps[bytes]:
    """Frame the data in blocks of 32 KiB, as Java's SnappyOutputStream does; one block a step."""
    out = bytearray(_HEADER)
    view = memoryview(data)
    for start in range(0, len(data), _BLOCK_BYTES):
        if start:
            yield
        block = cramjam.snappy.compress_raw(view[start : start + _BLOCK_BYTES])
        out += len(block).to_bytes(4, "big")
        out += memoryview(block)
    return bytes(out)


def decompress(data: memoryview, limit_bytes: int) -> bytes:
    """Plain bytes of either framing; raises CorruptBatch or DecompressionTooLarge."""
    blocks = _blocks(data) if _magic_at(data, 0) else [data]
    sizes = [_plain_size(block) for block in blocks]
    if sum(sizes) > limit_bytes:
        raise DecompressionTooLarge("snappy records grow past the limit")
    out = Scratch(sum(sizes))
    position = 0
    try:
        for block, size in zip(blocks, sizes, strict=True):
            part = out.view[position : position + size]
            position += cramjam.snappy.decompress_raw_into(block, part)
        return out.first(position)
    except cramjam.DecompressionError as error:
        raise CorruptBatch(f"snappy records do not decompress: {error}") from None
    finally:
        out.close()


def _blocks(data: memoryview) -> list[memoryview]:
    blocks = []
    position = 0
    while position < len(data):
        if _magic_at(data, position):
            position += len(_HEADER)
            continue
        length = int.from_bytes(data[position : position + 4], "big")
        position += 4
        if length > len(data) - position:
            raise CorruptBatch("a snappy block runs past the end of its batch")
        blocks.append(data[position : position + length])
        position += length
    return blocks


def _magic_at(data: memoryview, position: int) -> bool:
    return bytes(data[position : position + len(MAGIC)]) == MAGIC


def _plain_size(block: memoryview) -> int:
    try:
        size = int(cramjam.snappy.decompress_raw_len(block))
    except cramjam.DecompressionError as error:
        raise CorruptBatch(f"snappy records do not decompress: {error}") from None
    if size > len(block) * _MAX_RATIO:
        raise CorruptBatch(f"a snappy block of {len(block)} bytes claims to hold {size}")
    return size
