"""Checks that a batch's header and bytes answer without its records."""

from barnabas.storage.append_rules import AppendRules
from barnabas.storage.batch import MAGIC_V2, BatchHeader, Buffer, crc_is_valid
from barnabas.storage.errors import (
    CorruptBatch,
    InvalidRecord,
    RecordListTooLarge,
    RecordTooLarge,
    UnsupportedForMessageFormat,
)


def check_sizes(header: BatchHeader, rules: AppendRules) -> None:
    """`max.message.bytes` first, then `segment.bytes`: Kafka answers 10 and 18."""
    size_bytes = header.size_bytes
    if size_bytes > rules.max_message_bytes:
        raise RecordTooLarge(
            f"batch of {size_bytes} bytes is above max.message.bytes {rules.max_message_bytes}"
        )
    if size_bytes > rules.segment_bytes:
        raise RecordListTooLarge(
            f"batch of {size_bytes} bytes is above segment.bytes {rules.segment_bytes}"
        )


def check_crc(buffer: Buffer, header: BatchHeader) -> None:
    """The batch's own CRC; inner messages of formats 0 and 1 have one more each."""
    if not crc_is_valid(buffer, header):
        raise CorruptBatch("the CRC does not match the batch", offset=header.base_offset)


def check_client_batch(header: BatchHeader) -> None:
    """What a producer's format 2 batch must say of itself; InvalidRecord otherwise."""
    count = header.record_count
    if header.base_offset != 0:
        raise InvalidRecord(f"a produced batch has base offset {header.base_offset}, not 0")
    if count <= 0 or header.last_offset_delta + 1 != count:
        raise InvalidRecord(
            f"record count {count} and last offset delta {header.last_offset_delta} do not agree"
        )
    if header.is_control:
        raise InvalidRecord("clients may not write control batches")
    if header.producer_id >= 0 and header.base_sequence < 0:
        raise InvalidRecord(
            f"producer {header.producer_id} sent base sequence {header.base_sequence}"
        )


def check_target_format(header: BatchHeader, rules: AppendRules) -> None:
    """Transactions and idempotence need format 2."""
    if rules.magic < MAGIC_V2 and (header.is_transactional or header.has_producer_id):
        raise UnsupportedForMessageFormat(
            f"message format {rules.magic} holds no transactional or idempotent records"
        )


def timestamp_is_too_late(header: BatchHeader, rules: AppendRules, now_ms: int) -> bool:
    """Does the header's max timestamp pass `message.timestamp.after.max.ms`?"""
    return header.max_timestamp - now_ms > rules.timestamp_after_max_ms
