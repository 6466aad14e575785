"""Message sets of formats 0 and 1 (`batch` states the layout): messages and their wrappers.

A compressed set is one wrapper message without a key, whose value holds the compressed inner
messages. Format 0: inner offsets are absolute, so assigning offsets means compressing again.
Format 1 (KIP-31, KIP-32): inner offsets count from 0 and the wrapper's offset is that of the
last inner message; its timestamp is the greatest, or the append time for all when attribute
bit 3 says so. librdkafka once left the wrapper's offset 0: then inner offsets stand as they are.
"""

import zlib
from collections.abc import Iterator, Sequence
from struct import Struct
from typing import Final

from barnabas.storage.batch.compression import (
    DEFAULT_LIMIT_BYTES,
    Codec,
    compress_in_steps,
    decompress_in_steps,
)
from barnabas.storage.batch.header import (
    LEGACY_HEADER,
    LEGACY_TIMESTAMP_POSITION,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    MAGIC_POSITION,
    MAGIC_V0,
    MAGIC_V1,
    BatchHeader,
    Buffer,
    walk,
)
from barnabas.storage.batch.records import Record
from barnabas.storage.batch.steps import RECORDS_OF_A_STEP, Steps, finished
from barnabas.storage.errors import CorruptBatch

_KEY_POSITION: Final = {
    MAGIC_V0: LEGACY_TIMESTAMP_POSITION,
    MAGIC_V1: LEGACY_TIMESTAMP_POSITION + 8,
}
_LEAST_RECORD_BYTES: Final = 7
_INT32: Final = Struct(">i")
_INT64: Final = Struct(">q")
_UINT32: Final = Struct(">I")


def key_and_value(
    buffer: Buffer, header: BatchHeader
) -> tuple[memoryview | None, memoryview | None]:
    """Views of a message's key and value; a wrapper's value is its compressed messages."""
    view = memoryview(buffer)[: header.position + header.size_bytes]
    key, position = _read_bytes(view, header.position + _KEY_POSITION[header.magic], header)
    value, _ = _read_bytes(view, position, header)
    return key, value


def _read_bytes(
    view: memoryview, position: int, header: BatchHeader
) -> tuple[memoryview | None, int]:
    if position + _INT32.size <= len(view):
        (length,) = _INT32.unpack_from(view, position)
        position += _INT32.size
        if length < 0:
            return None, position
        if position + length <= len(view):
            return view[position : position + length], position + length
    raise CorruptBatch("a message's key or value does not fit", offset=header.base_offset)


def decode_legacy(
    buffer: Buffer, header: BatchHeader, limit_bytes: int = DEFAULT_LIMIT_BYTES
) -> Iterator[Record]:
    """The records of a message: itself, or its inner messages with absolute offsets.

    Raises CorruptBatch; checks no CRC, neither the wrapper's nor the inner ones.
    """
    if header.codec == Codec.NONE:
        yield _record_of(buffer, header, header.base_offset, header.base_timestamp)
        return
    data, inner = inner_messages(buffer, header, limit_bytes)
    yield from decode_inner(data, inner, header)


def decode_inner(data: bytes, inner: list[BatchHeader], header: BatchHeader) -> Iterator[Record]:
    """The records of a wrapper's messages, which `inner_messages` has found."""
    base_offset = _base_offset(header, inner)
    for message in inner:
        timestamp = message.base_timestamp
        if message.magic == MAGIC_V1 and header.is_log_append_time:
            timestamp = header.base_timestamp
        yield _record_of(data, message, base_offset + message.base_offset, timestamp)


def _record_of(buffer: Buffer, message: BatchHeader, offset: int, timestamp: int) -> Record:
    key, value = key_and_value(buffer, message)
    return Record(
        offset,
        timestamp,
        None if key is None else bytes(key),
        None if value is None else bytes(value),
    )


def inner_messages(
    buffer: Buffer, header: BatchHeader, limit_bytes: int = DEFAULT_LIMIT_BYTES
) -> tuple[bytes, list[BatchHeader]]:
    """A wrapper's decompressed value and the headers of its messages, offsets as stored.

    An inner message cut short at the end is left out, as Kafka does.
    """
    return finished(inner_messages_in_steps(buffer, header, limit_bytes))


def inner_messages_in_steps(
    buffer: Buffer, header: BatchHeader, limit_bytes: int = DEFAULT_LIMIT_BYTES
) -> Steps[tuple[bytes, list[BatchHeader]]]:
    """The same in steps."""
    if header.codec == Codec.ZSTD:
        raise CorruptBatch("zstd needs message format 2", offset=header.base_offset)
    _, value = key_and_value(buffer, header)
    if value is None:
        raise CorruptBatch("a compressed message has no value", offset=header.base_offset)
    format_0 = header.magic == MAGIC_V0
    data = yield from decompress_in_steps(header.codec, value, limit_bytes, format_0=format_0)
    inner: list[BatchHeader] = []
    for message in walk(data, partial_tail=True):
        if message.magic > MAGIC_V1 or message.codec:
            raise CorruptBatch("inner messages must be plain", offset=header.base_offset)
        inner.append(message)
        if len(inner) % RECORDS_OF_A_STEP == 0:
            yield
    if not inner:
        raise CorruptBatch("a compressed message holds no messages", offset=header.base_offset)
    return data, inner


def _base_offset(header: BatchHeader, inner: list[BatchHeader]) -> int:
    """What to add to the stored inner offsets to make them absolute."""
    if header.magic == MAGIC_V0 or header.base_offset == 0:
        return 0
    base_offset = header.base_offset - inner[-1].base_offset
    if base_offset < 0:
        raise CorruptBatch(
            f"inner offset {inner[-1].base_offset} is above its wrapper's",
            offset=header.base_offset,
        )
    return base_offset


def append_message(
    out: bytearray,
    magic: int,
    offset: int,
    timestamp: int,
    key: bytes | None,
    value: bytes | None,
    attributes: int = 0,
) -> None:
    """Write one message of format 0 (no timestamp) or 1, its CRC included."""
    start = len(out)
    out += LEGACY_HEADER.pack(offset, 0, 0, magic, attributes)
    if magic == MAGIC_V1:
        out += _INT64.pack(timestamp)
    for part in (key, value):
        out += _INT32.pack(-1 if part is None else len(part))
        out += part or b""
    crc = zlib.crc32(memoryview(out)[start + MAGIC_POSITION :])
    size = len(out) - start - LOG_OVERHEAD
    LEGACY_HEADER.pack_into(out, start, offset, size, crc, magic, attributes)


def build_message_set(
    records: Sequence[Record],
    magic: int,
    *,
    codec: int = Codec.NONE,
    level: int | None = None,
    log_append_time_ms: int | None = None,
) -> bytearray:
    """Messages of format 0 or 1 with the records' offsets, in one wrapper if `codec` asks.

    Record headers have no place in these formats and are left out; with `log_append_time_ms`
    (format 1) all messages carry that timestamp.
    """
    messages = MessageSet(magic, codec, log_append_time_ms, level)
    for record in records:
        messages.add(record)
    return messages.finish()


class MessageSet:
    """`build_message_set` record by record."""

    __slots__ = (
        "_attributes",
        "_base_offset",
        "_codec",
        "_last_offset",
        "_level",
        "_log_append_time_ms",
        "_magic",
        "_max_timestamp",
        "_out",
    )

    def __init__(
        self,
        magic: int,
        codec: int = Codec.NONE,
        log_append_time_ms: int | None = None,
        level: int | None = None,
    ) -> None:
        self._magic = magic
        self._codec = codec
        self._level = level
        self._log_append_time_ms = log_append_time_ms
        appended = log_append_time_ms is not None and magic == MAGIC_V1
        self._attributes = LOG_APPEND_TIME if appended else 0
        self._out = bytearray()
        # Inner offsets of a wrapper of format 1 are relative to its first record's.
        self._base_offset = 0
        self._last_offset = -1
        self._max_timestamp = log_append_time_ms

    def add(self, record: Record) -> None:
        """The next record."""
        if not self._out and self._codec and self._magic == MAGIC_V1:
            self._base_offset = record.offset
        timestamp = self._log_append_time_ms
        if timestamp is None:
            timestamp = record.timestamp
            if self._max_timestamp is None or timestamp > self._max_timestamp:
                self._max_timestamp = timestamp
        self._last_offset = record.offset
        offset = record.offset - self._base_offset
        append_message(
            self._out, self._magic, offset, timestamp, record.key, record.value, self._attributes
        )

    def finish(self) -> bytearray:
        """The messages, or the wrapper that holds them; nothing for no records."""
        return finished(self.finish_in_steps())

    def finish_in_steps(self) -> Steps[bytearray]:
        """The same in steps."""
        if not self._out or self._codec == Codec.NONE:
            return self._out
        is_format_0 = self._magic == MAGIC_V0
        value = yield from compress_in_steps(
            self._codec, self._out, self._level, format_0=is_format_0
        )
        attributes = self._attributes | self._codec
        out = bytearray()
        append_message(
            out, self._magic, self._last_offset, self._max_timestamp or 0, None, value, attributes
        )
        return out


def least_converted_bytes(header: BatchHeader) -> int:
    """What a plain message takes at least as a record of format 2: seven bytes and its own."""
    return header.size_bytes - _KEY_POSITION[header.magic] - 2 * _INT32.size + _LEAST_RECORD_BYTES


def stamp_legacy(
    buffer: bytearray | memoryview,
    header: BatchHeader,
    offset: int,
    *,
    max_timestamp: int | None = None,
    log_append_time: bool = False,
) -> None:
    """Give a message (a wrapper: its last inner message) its offset in place.

    With `max_timestamp` (format 1) its timestamp and type are set too, and the CRC with them.
    """
    _INT64.pack_into(buffer, header.position, offset)
    header.base_offset = offset
    if max_timestamp is None or header.magic == MAGIC_V0:
        return
    attributes = header.attributes & ~LOG_APPEND_TIME | (LOG_APPEND_TIME if log_append_time else 0)
    if attributes == header.attributes and max_timestamp == header.max_timestamp:
        return
    header.attributes = attributes
    header.base_timestamp = header.max_timestamp = max_timestamp
    buffer[header.position + MAGIC_POSITION + 1] = attributes
    _INT64.pack_into(buffer, header.position + LEGACY_TIMESTAMP_POSITION, max_timestamp)
    header.crc = zlib.crc32(
        memoryview(buffer)[header.position + MAGIC_POSITION : header.position + header.size_bytes]
    )
    _UINT32.pack_into(buffer, header.position + LOG_OVERHEAD, header.crc)
