"""The codecs of record batches and message sets, as Kafka's Java classes frame them.

gzip and zstd are plain streams; snappy is xerial's framing (`snappy_frame`), lz4 the LZ4 frame
(`lz4_frame`), which format 0 wrote with a wrong header checksum. Decompression is bounded: the
output buffer starts at a guess and grows by four up to the caller's limit, so that a few
hostile bytes never take more memory than that limit.

In steps, what is large is done elsewhere: cramjam's functions let go of the interpreter. (Its
compressor objects do not, so lz4 and snappy, which are made of small blocks, are one block a step.)
"""

import zlib
from collections.abc import Callable
from enum import IntEnum
from functools import partial
from typing import Final

import cramjam

from barnabas.storage.batch import lz4_frame, snappy_frame
from barnabas.storage.batch.scratch import Scratch
from barnabas.storage.batch.steps import BYTES_OF_A_STEP, Steps, elsewhere, finished
from barnabas.storage.errors import CorruptBatch, DecompressionTooLarge, UnsupportedCodec

DEFAULT_LIMIT_BYTES: Final = 256 << 20
"""What one batch may grow to. Kafka has no limit; its records are streamed."""
_GZIP_MAGIC: Final = b"\x1f\x8b\x08"
_FIRST_PIECE_BYTES: Final = 256
_SMALLEST_MEMBER_BYTES: Final = 20
_MEMBERS_AT_ONCE: Final = 500
"""Of a gzip stream: 12 µs each, whatever little they hold."""
_SMALLEST_GUESS_BYTES: Final = 16 << 10
_PACKED_AT_ONCE_BYTES: Final = 64 << 10
_PLAIN_AT_ONCE_BYTES: Final = 256 << 10
"""What is decompressed on the spot: a millisecond's work. More is begun anew elsewhere."""
_BUFFER_IS_FULL: Final = "failed to write whole buffer"


class Codec(IntEnum):
    """Codecs by their number in the attributes; `label` is the name in settings and tools."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4

    @property
    def label(self) -> str:
        return self.name.lower()


DEFAULT_LEVELS: Final = {Codec.GZIP: 6, Codec.LZ4: lz4_frame.FAST_LEVEL, Codec.ZSTD: 3}


def codec_of(number: int) -> Codec:
    """The codec with this number, or UnsupportedCodec."""
    try:
        return Codec(number)
    except ValueError:
        raise UnsupportedCodec(f"unknown compression codec {number}") from None


def codec_named(name: str) -> Codec:
    """The codec of a `compression.type` value, where plain is called `uncompressed`."""
    try:
        return Codec["NONE" if name == "uncompressed" else name.upper()]
    except KeyError:
        raise UnsupportedCodec(f"unknown compression codec {name!r}") from None


def compress(
    codec: int, data: bytes | bytearray, level: int | None = None, *, format_0: bool = False
) -> bytes:
    """Compress as Kafka would; `level` as `compression.<codec>.level`, None or gzip's -1 default.

    `format_0` asks for the header checksum that message format 0 expects in LZ4 frames.
    """
    match codec_of(codec):
        case Codec.NONE:
            return bytes(data)
        case Codec.GZIP:
            wanted = DEFAULT_LEVELS[Codec.GZIP] if level in (None, -1) else level
            return bytes(cramjam.gzip.compress(data, level=wanted))
        case Codec.SNAPPY:
            return finished(snappy_frame.compress_in_steps(data))
        case Codec.LZ4:
            return finished(_lz4_in_steps(data, level, format_0))
        case Codec.ZSTD:
            wanted = DEFAULT_LEVELS[Codec.ZSTD] if level is None else level
            return bytes(cramjam.zstd.compress(data, level=wanted))


def compress_in_steps(
    codec: int, data: bytes | bytearray, level: int | None = None, *, format_0: bool = False
) -> Steps[bytes]:
    """The same in steps; `data` stays as it is meanwhile."""
    if codec == Codec.SNAPPY:
        return (yield from snappy_frame.compress_in_steps(data))
    if codec == Codec.LZ4:
        return (yield from _lz4_in_steps(data, level, format_0))
    if codec == Codec.NONE or len(data) <= BYTES_OF_A_STEP:
        return compress(codec, data, level)
    return (yield from elsewhere(partial(compress, codec, data, level)))


def _lz4_in_steps(data: bytes | bytearray, level: int | None, format_0: bool) -> Steps[bytes]:
    wanted = lz4_frame.FAST_LEVEL if level is None else level
    return (yield from lz4_frame.compress_in_steps(data, wanted, broken_checksum=format_0))


def decompress(
    codec: int, data: memoryview, limit_bytes: int = DEFAULT_LIMIT_BYTES, *, format_0: bool = False
) -> bytes:
    """The plain bytes; raises CorruptBatch, DecompressionTooLarge or UnsupportedCodec.

    With `format_0` an LZ4 frame's header checksum may be right or wrong, as Kafka has it.
    """
    match codec_of(codec):
        case Codec.NONE:
            return bytes(data)
        case Codec.GZIP:
            return _from_gzip(data, limit_bytes)
        case Codec.SNAPPY:
            return snappy_frame.decompress(data, limit_bytes)
        case Codec.LZ4:
            frame: memoryview | bytes = lz4_frame.first_frame(data)
            if format_0:
                frame = lz4_frame.with_right_checksum(memoryview(frame))
            guess = len(data) * 4
            return _decompress_bounded(cramjam.lz4.decompress_into, frame, guess, limit_bytes)
        case Codec.ZSTD:
            guess = _zstd_size(data)
            return _decompress_bounded(cramjam.zstd.decompress_into, data, guess, limit_bytes)


def decompress_in_steps(
    codec: int, data: memoryview, limit_bytes: int = DEFAULT_LIMIT_BYTES, *, format_0: bool = False
) -> Steps[bytes]:
    """The same in steps; `data` stays as it is meanwhile."""
    if codec == Codec.NONE:
        return bytes(data)
    if len(data) <= _PACKED_AT_ONCE_BYTES and not has_many_members(codec, data):
        at_once_bytes = min(limit_bytes, _PLAIN_AT_ONCE_BYTES)
        try:
            return decompress(codec, data, at_once_bytes, format_0=format_0)
        except DecompressionTooLarge:
            if limit_bytes == at_once_bytes:
                raise
    work = partial(decompress, codec, data, limit_bytes, format_0=format_0)
    return (yield from elsewhere(work))


def has_many_members(codec: int, data: memoryview) -> bool:
    """Whether it takes long for its size: thousands of gzip members, which no client writes."""
    is_large = len(data) > _SMALLEST_MEMBER_BYTES * _MEMBERS_AT_ONCE
    return codec == Codec.GZIP and is_large and bytes(data).count(_GZIP_MAGIC) > _MEMBERS_AT_ONCE


def _decompress_bounded(
    decompress_into: Callable[[memoryview | bytes, memoryview], int],
    data: memoryview | bytes,
    guess_bytes: int,
    limit_bytes: int,
) -> bytes:
    capacity = min(max(guess_bytes, _SMALLEST_GUESS_BYTES), limit_bytes)
    while True:
        out = Scratch(capacity)
        try:
            return out.first(decompress_into(data, out.view))
        except cramjam.DecompressionError as error:
            if str(error) != _BUFFER_IS_FULL:
                raise CorruptBatch(f"compressed records do not decompress: {error}") from None
        finally:
            out.close()
        if capacity >= limit_bytes:
            raise DecompressionTooLarge(f"records grow past {limit_bytes} bytes")
        capacity = min(capacity * 4, limit_bytes)


def _from_gzip(data: memoryview, limit_bytes: int) -> bytes:
    guess = _gzip_size(data)
    try:
        return _decompress_bounded(cramjam.gzip.decompress_into, data, guess, limit_bytes)
    except CorruptBatch as error:
        return _gzip_members(data, limit_bytes, error)


def _gzip_members(data: memoryview, limit_bytes: int, error: CorruptBatch) -> bytes:
    """All members; like Java's GZIPInputStream it ends where no further member begins.

    What Kafka stored may have zeros, or anything else, behind the last one. A member is given small
    pieces first: what it leaves of one is copied, and a batch may have a member for each 20 bytes.
    """
    parts: list[bytes] = []
    at = size = 0
    while at == 0 or bytes(data[at : at + len(_GZIP_MAGIC)]) == _GZIP_MAGIC:
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        piece_bytes = _FIRST_PIECE_BYTES
        while not member.eof:
            piece = data[at : at + piece_bytes]
            try:
                parts.append(member.decompress(piece, limit_bytes + 1 - size))
            except zlib.error:
                raise error from None
            at += len(piece) - len(member.unused_data)
            size += len(parts[-1])
            piece_bytes *= 2
            if size > limit_bytes:
                raise DecompressionTooLarge(f"records grow past {limit_bytes} bytes")
            if not piece:
                raise error
    return b"".join(parts)


def _gzip_size(data: memoryview) -> int:
    """The size that a single gzip member claims in its last four bytes; a lie costs little."""
    return min(int.from_bytes(data[-4:], "little"), len(data) * 32)


def _zstd_size(data: memoryview) -> int:
    """The size in a zstd frame's header, if it is there and believable, else a guess.

    Frame: magic, descriptor byte (bits 6-7 size flag, bit 5 single segment, bits 0-1 length
    of the dictionary id), window byte unless single segment, dictionary id, content size.
    """
    guess = len(data) * 8
    if len(data) < 6:
        return guess
    descriptor = data[4]
    single_segment = descriptor >> 5 & 1
    size_length = (single_segment, 2, 4, 8)[descriptor >> 6]
    if size_length == 0:
        return guess
    position = 6 - single_segment + (0, 1, 2, 4)[descriptor & 3]
    size = int.from_bytes(data[position : position + size_length], "little")
    return min(size + 256 if size_length == 2 else size, len(data) * 256)
