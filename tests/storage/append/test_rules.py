from barnabas.storage.append.rules import append_rules
from barnabas.storage.batch.compression import Codec
from barnabas.storage.batch.header import MAGIC_V1, MAGIC_V2
from barnabas.storage.log_config import LogConfig


def test_defaults_ask_for_nothing() -> None:
    rules = append_rules(LogConfig())
    assert not rules.needs_records
    assert (rules.codec, rules.level, rules.magic) == (None, None, MAGIC_V2)
    assert append_rules(LogConfig(), check_records=True).needs_records


def test_each_codec_has_its_own_level() -> None:
    settings = {
        "compression_gzip_level": 3,
        "compression_lz4_level": 4,
        "compression_zstd_level": 5,
    }
    for name, codec, level in (
        ("gzip", Codec.GZIP, 3),
        ("lz4", Codec.LZ4, 4),
        ("zstd", Codec.ZSTD, 5),
        ("snappy", Codec.SNAPPY, None),
        ("uncompressed", Codec.NONE, None),
    ):
        rules = append_rules(LogConfig(compression_type=name, **settings))  # type: ignore[arg-type]
        assert (rules.codec, rules.level) == (codec, level)


def test_the_message_format_counts_only_in_an_old_cluster() -> None:
    config = LogConfig(message_format_version="0.10.0")
    assert append_rules(config).magic == MAGIC_V2
    assert append_rules(config, obeys_message_format=True).magic == MAGIC_V1


def test_limits_and_times() -> None:
    rules = append_rules(
        LogConfig(
            max_message_bytes=10,
            segment_bytes=20,
            cleanup_policy=("compact", "delete"),
            message_timestamp_type="LogAppendTime",
            message_timestamp_before_max_ms=1,
            message_timestamp_after_max_ms=2,
        )
    )
    assert (rules.max_message_bytes, rules.segment_bytes) == (10, 20)
    assert rules.is_compacted and rules.is_log_append_time
    assert (rules.timestamp_before_max_ms, rules.timestamp_after_max_ms) == (1, 2)
