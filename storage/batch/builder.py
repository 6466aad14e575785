"""Writing new format 2 batches: data, empty ones that compaction keeps, transaction markers."""

import struct
from collections.abc import Sequence

from barnabas.storage.batch.compression import Codec, compress_in_steps
from barnabas.storage.batch.control_records import EndTransactionMarker
from barnabas.storage.batch.crc import crc32c
from barnabas.storage.batch.header import (
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
    BatchHeader,
)
from barnabas.storage.batch.records import Record, append_record
from barnabas.storage.batch.steps import RECORDS_OF_A_STEP, Steps, finished
from barnabas.storage.errors import InvalidRecord

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
    return finished(
        build_batch_in_steps(
            records,
            base_offset=base_offset,
            last_offset=last_offset,
            codec=codec,
            level=level,
            leader_epoch=leader_epoch,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            is_transactional=is_transactional,
            is_control=is_control,
            log_append_time_ms=log_append_time_ms,
            delete_horizon_ms=delete_horizon_ms,
        )
    )


def build_batch_in_steps(
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
) -> Steps[bytearray]:
    """The same in steps."""
    if base_offset is None:
        base_offset = records[0].offset
    if last_offset is None:
        last_offset = records[-1].offset
    base_timestamp = records[0].timestamp if delete_horizon_ms is None else delete_horizon_ms
    max_timestamp = log_append_time_ms
    if max_timestamp is None:
        max_timestamp = max(record.timestamp for record in records)
    attributes = codec | _flags(log_append_time_ms is not None, is_transactional, is_control)
    if delete_horizon_ms is not None:
        attributes |= DELETE_HORIZON
    data = bytearray()
    for number, record in enumerate(records):
        if number % RECORDS_OF_A_STEP == 0:
            yield
        append_record(
            data,
            record.offset - base_offset,
            record.timestamp - base_timestamp,
            record.key,
            record.value,
            record.headers,
        )
    header = BatchHeader(
        0, base_offset, 0, leader_epoch, MAGIC_V2, 0, attributes, last_offset - base_offset,
        base_timestamp, max_timestamp, producer_id, producer_epoch, base_sequence, len(records),
    )  # fmt: skip
    return pack_batch(header, (yield from compress_in_steps(codec, data, level)))


def _flags(is_log_append_time: bool, is_transactional: bool, is_control: bool) -> int:
    return (
        (LOG_APPEND_TIME if is_log_append_time else 0)
        | (TRANSACTIONAL if is_transactional else 0)
        | (CONTROL if is_control else 0)
    )


def pack_batch(header: BatchHeader, payload: bytes) -> bytearray:
    """A format 2 batch of the header's fields and a compressed payload.

    Size and CRC are worked out here; the header's position, size and CRC are not read.
    """
    batch = bytearray(V2_HEADER_BYTES)
    batch += payload
    try:
        HEADER.pack_into(
            batch, 0, header.base_offset, len(batch) - LOG_OVERHEAD,
            header.partition_leader_epoch, MAGIC_V2, 0, header.attributes,
            header.last_offset_delta, header.base_timestamp, header.max_timestamp,
            header.producer_id, header.producer_epoch, header.base_sequence, header.record_count,
        )  # fmt: skip
    except struct.error as error:
        raise InvalidRecord(
            f"a batch field does not fit: {error}", offset=header.base_offset
        ) from None
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
    attributes = _flags(is_log_append_time, is_transactional, is_control)
    header = BatchHeader(
        0, base_offset, 0, leader_epoch, MAGIC_V2, 0, attributes, last_offset - base_offset,
        NO_TIMESTAMP, max_timestamp, producer_id, producer_epoch, base_sequence, 0,
    )  # fmt: skip
    return pack_batch(header, b"")


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
