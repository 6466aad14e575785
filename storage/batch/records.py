"""Records inside a format 2 batch, after decompression, one after the other:

    length          varint    bytes after this field
    attributes      int8      unused, 0
    timestamp delta varlong   from the batch's base timestamp
    offset delta    varint    from the batch's base offset
    key             varint length (-1 is null) and bytes
    value           varint length (-1 is null) and bytes
    header count    varint
      each: key, varint length and UTF-8; value, varint length (-1 is null) and bytes

Two depths: `walk_frames` finds where each record's parts lie without building anything (for
validation and compaction), `decode_v2` builds `Record`s. `decode_batch` does so for any format:
it is the one place that chooses by magic.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from barnabas.storage.batch.compression import (
    DEFAULT_LIMIT_BYTES,
    decompress,
    decompress_in_steps,
)
from barnabas.storage.batch.header import (
    MAGIC_V2,
    MAX_SEQUENCE,
    NO_SEQUENCE,
    V2_HEADER_BYTES,
    BatchHeader,
    Buffer,
    walk,
)
from barnabas.storage.batch.steps import Steps
from barnabas.storage.batch.varint import append_varint, finish_varint, read_varint
from barnabas.storage.errors import CorruptBatch

Headers = tuple[tuple[str, bytes | None], ...]

NO_HEADERS: Final[Headers] = ()
# A header key that is not UTF-8 must survive a rewrite of its batch unchanged.
_KEY_ERRORS: Final = "surrogateescape"
_MAX_INT64: Final = (1 << 63) - 1


@dataclass(slots=True)
class Record:
    """One record; `timestamp` is in ms (-1: none), `sequence` -1 without idempotence."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers = NO_HEADERS
    sequence: int = NO_SEQUENCE


Frame = tuple[int, int, int, int, int, int, int, int, int]
"""start, end, timestamp delta, offset delta, key position, key length, value position,
value length, headers position. A null key or value has a negative length, in practice -1."""


def records_data(
    buffer: Buffer, header: BatchHeader, limit_bytes: int = DEFAULT_LIMIT_BYTES
) -> bytes:
    """The uncompressed record bytes of a format 2 batch (one copy if it is not compressed)."""
    return decompress(header.codec, _payload(buffer, header), limit_bytes)


def records_data_in_steps(
    buffer: Buffer, header: BatchHeader, limit_bytes: int = DEFAULT_LIMIT_BYTES
) -> Steps[bytes]:
    """The same in steps."""
    return (yield from decompress_in_steps(header.codec, _payload(buffer, header), limit_bytes))


def _payload(buffer: Buffer, header: BatchHeader) -> memoryview:
    start = header.position + V2_HEADER_BYTES
    return memoryview(buffer)[start : header.position + header.size_bytes]


def walk_frames(data: bytes, count: int) -> Iterator[Frame]:
    """Where each of the `count` records lies; raises CorruptBatch unless they fill the data.

    Header lists are not looked into: `decode_headers` does that.
    """
    end_of_data = len(data)
    position = 0
    for _ in range(count):
        start = position
        try:
            length = data[position]
            position += 1
            if length >= 0x80:
                length, position = finish_varint(data, position, length)
            else:
                length = (length >> 1) ^ -(length & 1)
            end = position + length
            position += 1
            timestamp_delta = data[position]
            position += 1
            if timestamp_delta >= 0x80:
                timestamp_delta, position = finish_varint(data, position, timestamp_delta, 63)
            else:
                timestamp_delta = (timestamp_delta >> 1) ^ -(timestamp_delta & 1)
            offset_delta = data[position]
            position += 1
            if offset_delta >= 0x80:
                offset_delta, position = finish_varint(data, position, offset_delta)
            else:
                offset_delta = (offset_delta >> 1) ^ -(offset_delta & 1)
            key_length = data[position]
            position += 1
            if key_length >= 0x80:
                key_length, position = finish_varint(data, position, key_length)
            else:
                key_length = (key_length >> 1) ^ -(key_length & 1)
            key_position = position
            if key_length > 0:
                position += key_length
            value_length = data[position]
            position += 1
            if value_length >= 0x80:
                value_length, position = finish_varint(data, position, value_length)
            else:
                value_length = (value_length >> 1) ^ -(value_length & 1)
        except IndexError:
            raise CorruptBatch("a record runs past the end of its batch") from None
        value_position = position
        if value_length > 0:
            position += value_length
        if position >= end or end > end_of_data:
            raise CorruptBatch("a record's length and its contents do not agree")
        yield (
            start, end, timestamp_delta, offset_delta, key_position, key_length,
            value_position, value_length, position,
        )  # fmt: skip
        position = end
    if position != end_of_data:
        raise CorruptBatch(f"{end_of_data - position} bytes remain after the batch's records")


def decode_headers(data: bytes, position: int, end: int) -> Headers:
    """The header list at `position`, which must end exactly at `end`."""
    if position + 1 == end and data[position] == 0:
        return NO_HEADERS
    try:
        count, position = read_varint(data, position)
        if not 0 <= count <= end - position:
            raise CorruptBatch(f"a record has a header count of {count}")
        headers = []
        for _ in range(count):
            key_length, position = read_varint(data, position)
            key_end = position + key_length
            value_length, value_position = read_varint(data, key_end)
            value_end = value_position + max(value_length, 0)
            if key_length < 0 or value_end > end:
                raise CorruptBatch("a record header's lengths do not fit")
            key = data[position:key_end].decode("utf-8", _KEY_ERRORS)
            headers.append((key, None if value_length < 0 else data[value_position:value_end]))
            position = value_end
    except IndexError:
        raise CorruptBatch("a record's headers run past the end of its batch") from None
    if position != end:
        raise CorruptBatch("a record's length and its headers do not agree")
    return tuple(headers)


def decode_v2(
    buffer: Buffer, header: BatchHeader, limit_bytes: int = DEFAULT_LIMIT_BYTES
) -> Iterator[Record]:
    """The records of a format 2 batch; raises CorruptBatch, or UnsupportedCodec."""
    return decode_data(records_data(buffer, header, limit_bytes), header)


def decode_data(data: bytes, header: BatchHeader) -> Iterator[Record]:
    """The records of a format 2 batch from their uncompressed bytes.

    In a LogAppendTime batch every record carries the batch's max timestamp.
    """
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    base_sequence = header.base_sequence
    append_time = header.max_timestamp if header.is_log_append_time else None
    for (
        _, end, timestamp_delta, offset_delta, key_position, key_length,
        value_position, value_length, headers_position,
    ) in walk_frames(data, header.record_count):  # fmt: skip
        timestamp = base_timestamp + timestamp_delta if append_time is None else append_time
        if not -1 - _MAX_INT64 <= timestamp <= _MAX_INT64:
            raise CorruptBatch("a record's timestamp does not fit 64 bits")
        sequence = NO_SEQUENCE
        if base_sequence >= 0:
            sequence = (base_sequence + offset_delta) & MAX_SEQUENCE
        yield Record(
            base_offset + offset_delta,
            timestamp,
            None if key_length < 0 else data[key_position : key_position + key_length],
            None if value_length < 0 else data[value_position : value_position + value_length],
            decode_headers(data, headers_position, end),
            sequence,
        )


def append_record(
    out: bytearray,
    offset_delta: int,
    timestamp_delta: int,
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[tuple[str, bytes | None]] = NO_HEADERS,
) -> None:
    """Write one record as it stands in an uncompressed format 2 batch."""
    body = bytearray(1)
    append_varint(body, timestamp_delta)
    append_varint(body, offset_delta)
    _append_bytes(body, key)
    _append_bytes(body, value)
    append_varint(body, len(headers))
    for header_key, header_value in headers:
        _append_bytes(body, header_key.encode("utf-8", _KEY_ERRORS))
        _append_bytes(body, header_value)
    append_varint(out, len(body))
    out += body


def _append_bytes(out: bytearray, value: bytes | None) -> None:
    if value is None:
        out.append(1)
        return
    append_varint(out, len(value))
    out += value


def decode_batch(
    buffer: Buffer, header: BatchHeader, limit_bytes: int = DEFAULT_LIMIT_BYTES
) -> Iterator[Record]:
    """The records of one batch, absolute offsets and effective timestamps.

    Raises CorruptBatch (DecompressionTooLarge past `limit_bytes`) or UnsupportedCodec, both
    naming the batch's offset.
    """
    try:
        if header.magic == MAGIC_V2:
            yield from decode_v2(buffer, header, limit_bytes)
        else:
            from barnabas.storage.batch.legacy import (
                decode_legacy,  # seldom needed, and builds on this
            )

            yield from decode_legacy(buffer, header, limit_bytes)
    except CorruptBatch as error:
        error.located(offset=header.base_offset)
        raise


def decode_all(buffer: Buffer, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> Iterator[Record]:
    """The records of every batch in the buffer, control records included."""
    for header in walk(buffer):
        yield from decode_batch(buffer, header, limit_bytes)
