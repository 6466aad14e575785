"""Checks that a batch's header and bytes answer without its records."""

from barnabas.storage.append.rules import FOREVER_MS, AppendRules
from barnabas.storage.batch.header import CODEC_MASK, MAGIC_V2, BatchHeader, Buffer, crc_is_valid
from barnabas.storage.errors import (
    CorruptBatch,
    InvalidRecord,
    RecordListTooLarge,
    RecordTooLarge,
    UnsupportedForMessageFormat,
)
from barnabas.storage.record_times import (
    BELIEVED_AHEAD_MS,
    UNKNOWN_TIMESTAMP,
    largest_timestamp,
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


def true_max_timestamp(buffer: Buffer, header: BatchHeader, rules: AppendRules, now_ms: int) -> int:
    """The largest timestamp of a format 2 batch's records, whatever its header says of it.

    UNKNOWN_TIMESTAMP where all the records have to be looked into: they are malformed, one is
    past `message.timestamp.after.max.ms`, or they are compressed and the header not believable.
    """
    latest_ms = min(now_ms + rules.timestamp_after_max_ms, FOREVER_MS)
    codec = header.attributes & CODEC_MASK
    if codec and not _is_believable(header, min(latest_ms, now_ms + BELIEVED_AHEAD_MS)):
        return UNKNOWN_TIMESTAMP
    batch = memoryview(buffer)[header.position : header.position + header.size_bytes]
    found = largest_timestamp(
        batch, codec, header.record_count, header.base_timestamp, header.max_timestamp
    )
    return found if found <= latest_ms else UNKNOWN_TIMESTAMP


def _is_believable(header: BatchHeader, latest_ms: int) -> bool:
    return 0 <= header.base_timestamp <= header.max_timestamp <= latest_ms
