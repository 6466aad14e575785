"""The largest timestamp of a produced batch, from its records: a header may say anything.

A list of offsets by time, the roll by age and retention all follow a batch's largest timestamp,
so Kafka takes it from the records of every batch (LogValidator). Here a walk reads each record's
length and timestamp delta and nothing else:

    length varint | attributes int8 | timestamp delta varlong | ... to the record's end

Compiled that is 0.2 µs for one record and 0.7 µs for a hundred. Compressed records are
decompressed for it up to `COMPRESSED_LIMIT_BYTES`; beyond that a header that is believable is
believed, which is the one thing left that Kafka does not do.
"""

from typing import TYPE_CHECKING, Final

from barnabas.storage.batch.compression import decompress, has_many_members
from barnabas.storage.batch.header import NO_TIMESTAMP, V2_HEADER_BYTES, Buffer
from barnabas.storage.errors import CorruptBatch, DecompressionTooLarge, UnsupportedCodec

if TYPE_CHECKING:
    from mypy_extensions import i64

COMPRESSED_LIMIT_BYTES: Final = 64 << 10
"""How far compressed records are decompressed for their timestamps: 6 to 26 µs by codec."""
BELIEVED_AHEAD_MS: Final = 3_600_000
"""How far ahead of the broker's clock a large compressed batch's header is believed."""
UNKNOWN_TIMESTAMP: Final = -(1 << 63)
"""The records have to be looked into one by one: malformed, or no timestamps of any use."""

_CHUNK_BYTES: Final = 4 << 10
_LONGEST_HEAD_BYTES: Final = 16  # length 5, attributes 1, timestamp delta 10


def largest_timestamp(
    batch: Buffer,
    codec: int,
    count: int,
    base_timestamp: int,
    stated: int,
    limit_bytes: int = COMPRESSED_LIMIT_BYTES,
) -> int:
    """Of a format 2 batch of `count` records, in ms; `stated` is what its header says.

    -1 where no record has one, UNKNOWN_TIMESTAMP where `record_survey` has to tell.
    """
    if base_timestamp < NO_TIMESTAMP:
        return UNKNOWN_TIMESTAMP  # so that no sum falls below 64 bits
    records = memoryview(batch)[V2_HEADER_BYTES:]
    if codec:
        try:
            records = memoryview(_decompressed(codec, records, limit_bytes))
        except DecompressionTooLarge:
            return stated if stated >= base_timestamp else UNKNOWN_TIMESTAMP
        except (CorruptBatch, UnsupportedCodec):
            return UNKNOWN_TIMESTAMP
    delta = largest_delta(records, count)
    if delta == UNKNOWN_TIMESTAMP:
        return UNKNOWN_TIMESTAMP
    return max(base_timestamp + delta, NO_TIMESTAMP)


def _decompressed(codec: int, records: memoryview, limit_bytes: int) -> bytes:
    if len(records) > limit_bytes or has_many_members(codec, records):
        raise DecompressionTooLarge(f"{len(records)} compressed bytes")
    return decompress(codec, records, limit_bytes)


def largest_delta(records: memoryview, count: int) -> int:
    """The largest timestamp delta of `count` plain records that fill `records`.

    UNKNOWN_TIMESTAMP unless they do, or if a delta has more than 63 bits. Copies a few KB at a
    time, since compiled code indexes bytes fastest, and skips what large records hold.
    """
    size: i64 = len(records)
    largest: i64 = UNKNOWN_TIMESTAMP
    chunk = bytes(records[:_CHUNK_BYTES])
    start: i64 = 0  # where the chunk lies in the records
    position: i64 = 0  # in the chunk
    safe: i64 = size if size <= _CHUNK_BYTES else _CHUNK_BYTES - _LONGEST_HEAD_BYTES
    try:
        for _index in range(count):  # mypyc would box a number called _
            if position > safe:
                start += position
                chunk = bytes(records[start : start + _CHUNK_BYTES])
                position = 0
                safe = size if size - start <= _CHUNK_BYTES else safe
            byte: i64 = chunk[position]
            position += 1
            raw: i64 = byte & 0x7F
            shift: i64 = 7
            while byte > 0x7F:
                byte = chunk[position]
                position += 1
                raw |= (byte & 0x7F) << shift
                shift += 7
                if shift > 35:
                    return UNKNOWN_TIMESTAMP
            if raw & 1:
                return UNKNOWN_TIMESTAMP  # a negative length
            end: i64 = position + (raw >> 1)
            byte = chunk[position + 1]
            position += 2
            raw = byte & 0x7F
            shift = 7
            while byte > 0x7F:
                byte = chunk[position]
                position += 1
                raw |= (byte & 0x7F) << shift
                shift += 7
                if shift > 63:
                    return UNKNOWN_TIMESTAMP
            delta: i64 = (raw >> 1) ^ -(raw & 1)
            if delta > largest:
                largest = delta
            if position >= end:
                return UNKNOWN_TIMESTAMP
            position = end
    except IndexError:
        return UNKNOWN_TIMESTAMP
    return largest if start + position == size else UNKNOWN_TIMESTAMP
