"""Writing new format 2 batches: data, empty ones that compaction keeps, transaction markers."""

import struct
from collections.abc import Sequence

from crc32c import crc32c

from barnabas.storage.batch import (
    CONTROL,
    DELETE_HORIZON,
    HEADER,
    LOG_APPEND_TIME,
    LOG_OVERHEAD,
    MAGIC_V2,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL,
    V2_ATTRIBUTES_POSITION,
    V2_CRC_POSITION,
    V2_HEADER_BYTES,
)
from barnabas.storage.compression import Codec, compress
from barnabas.storage.control import EndTransactionMarker
from barnabas.storage.errors import InvalidRecord
from barnabas.storage.records import Record, append_record

_CRC = struct.Struct(">I")


def build_batch(
    records: Sequence[Record],
    *,
    base_offset: int | None = None,
    last_offset: int | None = None,
    codec: int = Codec.NONE,
    level: int | None = None,
    leader_epoch: int = NO_LEADER_EPOCH,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    is_transactional: bool = False,
    is_control: bool = False,
    log_append_time_ms: int | None = None,
    delete_horizon_ms: int | None = None,
) -> bytearray:
    """One batch of the records, which keep their offsets.

    `base_offset` and `last_offset` default to those of the first and last record; a cleaned
    batch keeps the range it had. `delete_horizon_ms` takes the place of the base timestamp and
    sets attribute bit 6 (KIP-534). With `log_append_time_ms` the batch is of type
    LogAppendTime and readers see that time in place of the records' own.
    Raises InvalidRecord if an offset or timestamp does not fit its field.
    """
    if base_offset is None:
        base_offset = records[0].offset
    if last_offset is None:
        last_offset = records[-1].offset
    base_timestamp = records[0].timestamp if delete_horizon_ms is None else delete_horizon_ms
    max_timestamp = log_append_time_ms
    if max_timestamp is None:
        max_timestamp = max(record.timestamp for record in records)
    attributes = (
        codec
        | (LOG_APPEND_TIME if log_append_time_ms is not None else 0)
        | (TRANSACTIONAL if is_transactional else 0)
        | (CONTROL if is_control else 0)
        | (DELETE_HORIZON if delete_horizon_ms is not None else 0)
    )
    data = bytearray()
    for record in records:
        append_record(
            data,
            record.offset - base_offset,
            record.timestamp - base_timestamp,
            record.key,
            record.value,
            record.headers,
        )
    return _finish(
        compress(codec, data, level),
        (base_offset, leader_epoch, attributes, last_offset - base_offset, base_timestamp),
        (max_timestamp, producer_id, producer_epoch, base_sequence, len(records)),
    )


def _finish(
    payload: bytes,
    first_fields: tuple[int, int, int, int, int],
    last_fields: tuple[int, int, int, int, int],
) -> bytearray:
    """Put the header before the payload; the CRC covers attributes to end."""
    base_offset, leader_epoch, *middle = first_fields
    batch = bytearray(V2_HEADER_BYTES)
    batch += payload
    size = len(batch) - LOG_OVERHEAD
    try:
        HEADER.pack_into(
            batch, 0, base_offset, size, leader_epoch, MAGIC_V2, 0, *middle, *last_fields
        )
    except struct.error as error:
        raise InvalidRecord(f"a batch field does not fit: {error}", offset=base_offset) from None
    crc = crc32c(memoryview(batch)[V2_ATTRIBUTES_POSITION:])
    _CRC.pack_into(batch, V2_CRC_POSITION, crc)
    return batch


def build_empty_batch(
    base_offset: int,
    last_offset: int,
    *,
    max_timestamp: int = NO_TIMESTAMP,
    leader_epoch: int = NO_LEADER_EPOCH,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    is_transactional: bool = False,
    is_control: bool = False,
    is_log_append_time: bool = False,
) -> bytearray:
    """A batch that compaction emptied but keeps for its producer's last sequence.

    Kafka writes it plain, with base timestamp -1 and a record count of 0.
    """
    attributes = (
        (LOG_APPEND_TIME if is_log_append_time else 0)
        | (TRANSACTIONAL if is_transactional else 0)
        | (CONTROL if is_control else 0)
    )
    return _finish(
        b"",
        (base_offset, leader_epoch, attributes, last_offset - base_offset, NO_TIMESTAMP),
        (max_timestamp, producer_id, producer_epoch, base_sequence, 0),
    )


def build_end_transaction_marker(
    marker: EndTransactionMarker,
    *,
    producer_id: int,
    producer_epoch: int,
    timestamp_ms: int,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytearray:
    """The control batch that ends a producer's transaction in a partition."""
    record = Record(base_offset, timestamp_ms, marker.key, marker.value)
    return build_batch(
        [record],
        leader_epoch=leader_epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_transactional=True,
        is_control=True,
    )
