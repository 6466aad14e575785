"""LZ4 frames as Kafka writes them: independent blocks of 64 KiB, no checksums but the header's.

    magic 0x184D2204 little-endian | FLG 0x60 | BD 0x40 | header checksum
    then blocks: uint32 little-endian length, top bit set if stored as is; length 0 ends

The header checksum is the second byte of XXH32 over FLG and BD. Before KIP-57 Kafka included
the magic by mistake; message format 0 still does, and its readers check nothing.
"""

from typing import Final

import cramjam

from barnabas.storage.batch.steps import Steps

FAST_LEVEL: Final = 9
"""Kafka's default level. It means LZ4's fast compressor; every other level the slow one."""
_MAGIC: Final = b"\x04\x22\x4d\x18"
_DESCRIPTOR: Final = b"\x60\x40"
_BLOCK_BYTES: Final = 64 << 10
_STORED: Final = 1 << 31
_END_MARK: Final = bytes(4)
_HEADER_BYTES: Final = 7

_PRIME_1, _PRIME_2, _PRIME_3 = 2654435761, 2246822519, 3266489917
_PRIME_4, _PRIME_5 = 668265263, 374761393
_MASK: Final = 0xFFFFFFFF


def compress_in_steps(
    data: bytes | bytearray, level: int, *, broken_checksum: bool = False
) -> Steps[bytes]:
    """One frame, one block a step; `level` 1 to 17 as in `compression.lz4.level`."""
    covered = _MAGIC + _DESCRIPTOR if broken_checksum else _DESCRIPTOR
    out = bytearray(_MAGIC + _DESCRIPTOR)
    out.append(_header_checksum(covered))
    append_block = _append_fast_block if level == FAST_LEVEL else _append_small_block
    view = memoryview(data)
    for start in range(0, len(data), _BLOCK_BYTES):
        if start:
            yield
        append_block(out, view[start : start + _BLOCK_BYTES], level)
    return bytes(out + _END_MARK)


def _append_fast_block(out: bytearray, plain: memoryview, _level: int) -> None:
    block = memoryview(cramjam.lz4.compress_block(plain, store_size=False))
    length = len(block)
    if length >= len(plain):
        block, length = plain, len(plain) | _STORED
    out += length.to_bytes(4, "little")
    out += block


def _append_small_block(out: bytearray, plain: memoryview, level: int) -> None:
    """cramjam reaches LZ4's slow compressor through frames only: take the block, with its
    length, out of a frame of one, and leave its checksum. Levels 3 to 12 are the slow one's."""
    compressor = cramjam.lz4.Compressor(
        level=min(max(level, 3), 12), content_checksum=False, block_linked=False
    )
    compressor.compress(bytes(plain))
    frame = memoryview(compressor.finish())
    length = int.from_bytes(frame[_HEADER_BYTES : _HEADER_BYTES + 4], "little") & ~_STORED
    out += frame[_HEADER_BYTES : _HEADER_BYTES + 4 + length]


def with_right_checksum(data: memoryview) -> bytes | memoryview:
    """The frame with the header checksum that decompressors insist on."""
    if len(data) < 7 or bytes(data[:4]) != _MAGIC:
        return data
    flags = data[4]
    descriptor_end = 6 + (8 if flags & 0x08 else 0) + (4 if flags & 0x01 else 0)
    if descriptor_end >= len(data):
        return data
    frame = bytearray(data)
    frame[descriptor_end] = _header_checksum(bytes(data[4:descriptor_end]))
    return bytes(frame)


def first_frame(data: memoryview) -> memoryview:
    """The frame without what stands behind it, which Kafka never reads (Lz4BlockInputStream).

    Other decompressors go on with a second frame: the same batch would have more records for one
    client than for another. Data that is no whole frame comes back as it is.
    """
    if len(data) < _HEADER_BYTES or bytes(data[:4]) != _MAGIC:
        return data
    flags = data[4]
    position = _HEADER_BYTES + (8 if flags & 0x08 else 0) + (4 if flags & 0x01 else 0)
    block_checksum_bytes = 4 if flags & 0x10 else 0
    while position + 4 <= len(data):
        length = int.from_bytes(data[position : position + 4], "little") & ~_STORED
        position += 4
        if length == 0:
            return data[: position + (4 if flags & 0x04 else 0)]
        position += length + block_checksum_bytes
    return data


def _header_checksum(descriptor: bytes) -> int:
    return _xxh32(descriptor) >> 8 & 0xFF


def _xxh32(data: bytes) -> int:
    """XXH32 with seed 0 of fewer than 16 bytes, which every descriptor here has."""
    accumulator = _PRIME_5 + len(data)
    whole_words = len(data) & ~3
    for position in range(0, whole_words, 4):
        word = int.from_bytes(data[position : position + 4], "little")
        accumulator = (accumulator + word * _PRIME_3) & _MASK
        accumulator = _rotate(accumulator, 17) * _PRIME_4 & _MASK
    for byte in data[whole_words:]:
        accumulator = (accumulator + byte * _PRIME_5) & _MASK
        accumulator = _rotate(accumulator, 11) * _PRIME_1 & _MASK
    accumulator ^= accumulator >> 15
    accumulator = accumulator * _PRIME_2 & _MASK
    accumulator ^= accumulator >> 13
    accumulator = accumulator * _PRIME_3 & _MASK
    return accumulator ^ accumulator >> 16


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> (32 - bits)) & _MASK
