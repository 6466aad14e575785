"""Record batches where they lie in a buffer: walk, verify and stamp without decoding records.

All three message formats share their first 17 bytes, so one walker serves them:

    offset int64 | size int32 (of what follows) | 4 bytes | magic int8 | ...

Format 2, `HEADER`, 61 bytes before the records:

     0 base offset        int64    27 base timestamp   int64
     8 size after byte 12 int32    35 max timestamp    int64
    12 leader epoch       int32    43 producer id      int64
    16 magic (2)          int8     51 producer epoch   int16
    17 CRC-32C            uint32   53 base sequence    int32
    21 attributes         int16    57 record count     int32
    23 last offset delta  int32    61 records, compressed as one block

The CRC covers byte 21 to the end, so a leader may assign offsets and its epoch in place.
Attributes: bits 0-2 codec, 3 timestamp type (1 = log append time), 4 transactional,
5 control batch, 6 base timestamp holds the delete horizon.

Formats 0 and 1 (a message, or a wrapper of compressed messages):

     0 offset (of a wrapper: of its last message)   int64
     8 size after byte 12                           int32
    12 CRC-32 of byte 16 to the end                 uint32
    16 magic int8 | 17 attributes int8: bits 0-2 codec, 3 timestamp type
    18 timestamp int64, format 1 only
       key, then value: int32 length (-1 is null) and bytes each
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct
from typing import Final

from barnabas.storage.batch.crc import crc32c
from barnabas.storage.errors import CorruptBatch, UnsupportedMagic

MAGIC_V0: Final = 0
MAGIC_V1: Final = 1
MAGIC_V2: Final = 2

LOG_OVERHEAD: Final = 12
"""Bytes of offset and size, which the size does not count."""
MAGIC_POSITION: Final = 16
V0_HEADER_BYTES: Final = 26
"""The smallest format 0 message: null key, null value."""
V1_HEADER_BYTES: Final = 34
V2_HEADER_BYTES: Final = 61
V2_CRC_POSITION: Final = 17
V2_ATTRIBUTES_POSITION: Final = 21
LEGACY_TIMESTAMP_POSITION: Final = 18

CODEC_MASK: Final = 0x07
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
DELETE_HORIZON: Final = 0x40

MAX_OFFSET: Final = (1 << 63) - 2
"""The last offset a record may have, so that the log's end is an int64, too."""
NO_TIMESTAMP: Final = -1
NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_LEADER_EPOCH: Final = -1
MAX_SEQUENCE: Final = 0x7FFFFFFF

HEADER: Final = Struct(">qiibIhiqqqhii")
HeaderFields = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int]
LEGACY_HEADER: Final = Struct(">qiIbb")
_OFFSET_AND_SIZE: Final = Struct(">qi")
_PREFIX: Final = Struct(">qii")
_CRC_TO_MAX_TIMESTAMP: Final = Struct(">Ihiqq")
_UINT32: Final = Struct(">I")
_INT64: Final = Struct(">q")

Buffer = bytes | bytearray | memoryview


@dataclass(slots=True)
class BatchHeader:
    """One batch (or one message of formats 0 and 1) at `position` of the walked buffer.

    Legacy messages fill the fields they lack with Kafka's absent values: producer id, epoch,
    sequence and leader epoch -1, record count -1 (a wrapper does not say), base offset = last
    offset, timestamp of format 0 -1.
    """

    position: int
    base_offset: int
    size_bytes: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def end(self) -> int:
        """Position right after the batch."""
        return self.position + self.size_bytes

    @property
    def codec(self) -> int:
        return self.attributes & CODEC_MASK

    @property
    def is_log_append_time(self) -> bool:
        return self.attributes & LOG_APPEND_TIME != 0

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL != 0

    @property
    def delete_horizon_ms(self) -> int | None:
        """When the compactor may drop this batch's tombstones and markers (KIP-534)."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON else None

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id > NO_PRODUCER_ID

    @property
    def last_sequence(self) -> int:
        """Sequence of the last record; sequences wrap from 2^31-1 to 0."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & MAX_SEQUENCE


def parse_header(buffer: Buffer, position: int = 0, end: int | None = None) -> BatchHeader:
    """Read the header at `position`; the whole batch must lie before `end`.

    Raises CorruptBatch (UnsupportedMagic for an unknown format); checks no CRC.
    """
    if end is None:
        end = len(buffer)
    if position + V2_HEADER_BYTES > end:
        return _parse_short(buffer, position, end)
    (
        base_offset, size, leader_epoch, magic, crc, attributes, last_offset_delta,
        base_timestamp, max_timestamp, producer_id, producer_epoch, base_sequence, count,
    ) = HEADER.unpack_from(buffer, position)  # fmt: skip
    if magic != MAGIC_V2:
        return _parse_legacy(buffer, position, end)
    if size < V2_HEADER_BYTES - LOG_OVERHEAD or position + LOG_OVERHEAD + size > end:
        raise _bad_size(base_offset, size, end - position)
    if last_offset_delta < 0 or count < 0:
        raise CorruptBatch(
            f"last offset delta {last_offset_delta} or record count {count} is negative",
            offset=base_offset,
        )
    return BatchHeader(
        position, base_offset, size + LOG_OVERHEAD, leader_epoch, magic, crc, attributes,
        last_offset_delta, base_timestamp, max_timestamp, producer_id, producer_epoch,
        base_sequence, count,
    )  # fmt: skip


def _bad_size(offset: int, size: int, left: int) -> CorruptBatch:
    return CorruptBatch(f"batch size {size} does not fit ({left} bytes left)", offset=offset)


def _parse_short(buffer: Buffer, position: int, end: int) -> BatchHeader:
    """Too short for a format 2 header: a small legacy message, or no batch at all."""
    if position + V0_HEADER_BYTES > end:
        raise CorruptBatch(f"{end - position} bytes are too few for a batch")
    magic = buffer[position + MAGIC_POSITION]
    if magic == MAGIC_V2:
        offset, size = _OFFSET_AND_SIZE.unpack_from(buffer, position)
        raise _bad_size(offset, size, end - position)
    return _parse_legacy(buffer, position, end)


def _parse_legacy(buffer: Buffer, position: int, end: int) -> BatchHeader:
    offset, size, crc, magic, attributes = LEGACY_HEADER.unpack_from(buffer, position)
    if magic not in (MAGIC_V0, MAGIC_V1):
        raise UnsupportedMagic(f"unknown message format {magic}", offset=offset)
    least = (V0_HEADER_BYTES if magic == MAGIC_V0 else V1_HEADER_BYTES) - LOG_OVERHEAD
    if size < least or position + LOG_OVERHEAD + size > end:
        raise _bad_size(offset, size, end - position)
    timestamp = NO_TIMESTAMP
    if magic == MAGIC_V1:
        (timestamp,) = _INT64.unpack_from(buffer, position + LEGACY_TIMESTAMP_POSITION)
    return BatchHeader(
        position, offset, size + LOG_OVERHEAD, NO_LEADER_EPOCH, magic, crc, attributes & 0x0F,
        0, timestamp, timestamp, NO_PRODUCER_ID, NO_PRODUCER_EPOCH, NO_SEQUENCE, -1,
    )  # fmt: skip


def walk(
    buffer: Buffer, start: int = 0, end: int | None = None, *, partial_tail: bool = False
) -> Iterator[BatchHeader]:
    """Yield the header of each batch from `start` to `end` of the buffer.

    With `partial_tail` a last batch that is cut short ends the walk silently, as in the answer
    to a fetch; otherwise that is CorruptBatch like any other wrong length.
    """
    if end is None:
        end = len(buffer)
    position = start
    while position < end:
        if partial_tail and _is_cut(buffer, position, end):
            return
        header = parse_header(buffer, position, end)
        yield header
        position += header.size_bytes


def _is_cut(buffer: Buffer, position: int, end: int) -> bool:
    if position + MAGIC_POSITION + 1 > end:
        return True
    _, size = _OFFSET_AND_SIZE.unpack_from(buffer, position)
    whole_size: int = size
    return (
        whole_size >= V0_HEADER_BYTES - LOG_OVERHEAD and position + LOG_OVERHEAD + whole_size > end
    )


def compute_crc(buffer: Buffer, header: BatchHeader) -> int:
    """The CRC that the batch should carry, without copying it."""
    position = header.position
    end = position + header.size_bytes
    if header.magic != MAGIC_V2:
        return zlib.crc32(memoryview(buffer)[position + MAGIC_POSITION : end])
    crc: int = crc32c(memoryview(buffer)[position + V2_ATTRIBUTES_POSITION : end])
    return crc


def crc_is_valid(buffer: Buffer, header: BatchHeader) -> bool:
    """Does the batch carry the CRC of its bytes? For legacy wrappers: of the wrapper."""
    return compute_crc(buffer, header) == header.crc


def stamp(
    buffer: bytearray | memoryview,
    header: BatchHeader,
    base_offset: int,
    leader_epoch: int,
    *,
    max_timestamp: int | None = None,
    log_append_time: bool = False,
) -> None:
    """Give a format 2 batch its offset and leader epoch in place, and the header with it.

    With `max_timestamp` that field and the timestamp type are set too; only then does the CRC
    change, because it covers neither offset nor leader epoch.
    """
    position = header.position
    _PREFIX.pack_into(buffer, position, base_offset, header.size_bytes - LOG_OVERHEAD, leader_epoch)
    header.base_offset = base_offset
    header.partition_leader_epoch = leader_epoch
    if max_timestamp is not None:
        _stamp_timestamp(buffer, header, max_timestamp, log_append_time)


def _stamp_timestamp(
    buffer: bytearray | memoryview, header: BatchHeader, max_timestamp: int, log_append_time: bool
) -> None:
    attributes = header.attributes & ~LOG_APPEND_TIME
    if log_append_time:
        attributes |= LOG_APPEND_TIME
    if attributes == header.attributes and max_timestamp == header.max_timestamp:
        return
    header.attributes, header.max_timestamp = attributes, max_timestamp
    _CRC_TO_MAX_TIMESTAMP.pack_into(
        buffer, header.position + V2_CRC_POSITION, 0, attributes, header.last_offset_delta,
        header.base_timestamp, max_timestamp,
    )  # fmt: skip
    header.crc = compute_crc(buffer, header)
    _UINT32.pack_into(buffer, header.position + V2_CRC_POSITION, header.crc)
