"""From a topic's settings to the rules that validate its appends."""

from barnabas.storage.append.rules import AppendRules
from barnabas.storage.batch.compression import Codec, codec_named
from barnabas.storage.batch.header import MAGIC_V2
from barnabas.storage.log_config import LogConfig
from barnabas.storage.message_format import magic_of


def append_rules(
    config: LogConfig, *, check_records: bool = False, obeys_message_format: bool = False
) -> AppendRules:
    """The rules of a topic.

    `message.format.version` counts only where the cluster's inter-broker protocol is below
    3.0, which the caller knows (`obeys_message_format`).
    """
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
    )


def _level(config: LogConfig, codec: Codec | None) -> int | None:
    if codec is Codec.GZIP:
        return config.compression_gzip_level
    if codec is Codec.LZ4:
        return config.compression_lz4_level
    return config.compression_zstd_level if codec is Codec.ZSTD else None
