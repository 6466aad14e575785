"""What a topic's settings ask of an append, and the checks that a batch's header answers alone."""

from dataclasses import dataclass, field
from typing import Final

from barnabas.storage.batch.compression import DEFAULT_LIMIT_BYTES, Codec, codec_named
from barnabas.storage.batch.header import CODEC_MASK, MAGIC_V2, BatchHeader, Buffer, crc_is_valid
from barnabas.storage.batch.record_times import (
    BELIEVED_AHEAD_MS,
    UNKNOWN_TIMESTAMP,
    largest_timestamp,
)
from barnabas.storage.errors import (
    InvalidRecord,
    RecordListTooLarge,
    RecordTooLarge,
    UnsupportedForMessageFormat,
    WrongChecksum,
    WrongOffsets,
)
from barnabas.storage.log_config import LogConfig
from barnabas.storage.message_format import magic_of

FOREVER_MS: Final = (1 << 63) - 1
UNLIMITED_RECORD_BYTES: Final = 2147483639
"""What `max.decompressed.message.bytes` is where nobody has set it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendRules:
    """The settings of one topic that validation reads; built once and kept.

    `codec` None is `compression.type=producer`; `level` belongs to `codec`. `magic` is what
    `message.format.version` asks for. `check_records` is `produce.validation=full`.
    """

    max_message_bytes: int = 1_048_588
    segment_bytes: int = 1 << 30
    magic: int = MAGIC_V2
    codec: int | None = None
    level: int | None = None
    is_compacted: bool = False
    is_log_append_time: bool = False
    timestamp_before_max_ms: int = FOREVER_MS
    timestamp_after_max_ms: int = FOREVER_MS
    check_records: bool = False
    decompressed_limit_bytes: int = DEFAULT_LIMIT_BYTES
    most_decompressed_record_bytes: int = UNLIMITED_RECORD_BYTES
    needs_records: bool = field(init=False)
    """Must every append be looked into, record by record?"""

    def __post_init__(self) -> None:
        needs_records = (
            self.check_records
            or self.is_compacted
            or self.codec is not None
            or self.magic != MAGIC_V2
            or self.most_decompressed_record_bytes < UNLIMITED_RECORD_BYTES
            or (self.timestamp_before_max_ms < FOREVER_MS and not self.is_log_append_time)
        )
        object.__setattr__(self, "needs_records", needs_records)


@dataclass(slots=True)
class ValidatedRecords:
    """Batches ready to be written as they stand in `buffer`.

    `headers` have their final offsets and positions in `buffer`. Offsets are -1 when there is
    nothing to append; `log_append_time_ms` is -1 unless the topic uses it.
    """

    buffer: Buffer
    headers: list[BatchHeader]
    first_offset: int
    last_offset: int
    max_timestamp: int
    offset_of_max_timestamp: int
    """Last offset of the first batch that has the greatest timestamp, as the time index wants."""
    log_append_time_ms: int
    was_rewritten: bool


class _Latest:
    """The rules that were made last: thousands of logs with the same settings are opened in a row.

    One attribute, since logs are opened in a thread while others are made on the loop.
    """

    __slots__ = ("made",)

    def __init__(self) -> None:
        self.made: tuple[LogConfig, bool, bool, AppendRules] | None = None


_LATEST: Final = _Latest()


def append_rules(
    config: LogConfig, *, check_records: bool = False, obeys_message_format: bool = False
) -> AppendRules:
    """The rules of a topic; logs with one `config` share them.

    `message.format.version` counts only where the cluster's inter-broker protocol is below
    3.0, which the caller knows (`obeys_message_format`).
    """
    made = _LATEST.made
    if (
        made is not None
        and made[0] is config
        and made[1:3] == (check_records, obeys_message_format)
    ):
        return made[3]
    rules = _rules_of(config, check_records, obeys_message_format)
    _LATEST.made = config, check_records, obeys_message_format, rules
    return rules


def _rules_of(config: LogConfig, check_records: bool, obeys_message_format: bool) -> AppendRules:
    codec = None
    if config.compression_type != "producer":
        codec = codec_named(config.compression_type)
    magic = magic_of(config.message_format_version) if obeys_message_format else MAGIC_V2
    return AppendRules(
        max_message_bytes=config.max_message_bytes,
        segment_bytes=config.segment_bytes,
        magic=magic,
        codec=codec,
        level=_level(config, codec),
        is_compacted=config.compact,
        is_log_append_time=config.message_timestamp_type == "LogAppendTime",
        timestamp_before_max_ms=config.message_timestamp_before_max_ms,
        timestamp_after_max_ms=config.message_timestamp_after_max_ms,
        check_records=check_records,
        most_decompressed_record_bytes=config.max_decompressed_message_bytes,
    )


def _level(config: LogConfig, codec: Codec | None) -> int | None:
    if codec is Codec.GZIP:
        return config.compression_gzip_level
    if codec is Codec.LZ4:
        return config.compression_lz4_level
    return config.compression_zstd_level if codec is Codec.ZSTD else None


def as_writable(buffer: Buffer) -> bytearray | memoryview:
    """The buffer itself if it can be stamped, else a copy."""
    if isinstance(buffer, bytearray) or (isinstance(buffer, memoryview) and not buffer.readonly):
        return buffer
    return bytearray(buffer)


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
        raise WrongChecksum("the CRC does not match the batch", offset=header.base_offset)


def check_client_batch(header: BatchHeader) -> None:
    """What a producer's format 2 batch must say of itself; InvalidRecord otherwise."""
    count = header.record_count
    if header.base_offset != 0:
        raise WrongOffsets(f"a produced batch has base offset {header.base_offset}, not 0")
    if count <= 0 or header.last_offset_delta + 1 != count:
        raise WrongOffsets(
            f"record count {count} and last offset delta {header.last_offset_delta} do not agree"
        )
    if header.is_control:
        raise InvalidRecord("clients may not write control batches")
    if header.producer_id >= 0 and header.base_sequence < 0:
        raise WrongOffsets(
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
