import pytest

from barnabas.storage.append.rules import append_rules
from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.compression import Codec
from barnabas.storage.batch.header import MAGIC_V1, MAGIC_V2
from barnabas.storage.batch.records import Record
from barnabas.storage.errors import InvalidRecord
from barnabas.storage.log_config import LogConfig
from tests.storage.appending import NOW_MS, lead


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


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_a_record_of_a_compressed_batch_is_not_above_its_limit(codec: Codec) -> None:
    """A body is 5 bytes of numbers, and the value's length and bytes (Kafka 4.4)."""
    sent = [Record(0, NOW_MS, None, b""), Record(1, NOW_MS, None, b"x" * 93)]
    rules = append_rules(LogConfig(max_decompressed_message_bytes=100))
    assert lead(build_batch(sent, codec=codec), rules).last_offset == 101
    sent.append(Record(2, NOW_MS, None, b"x" * 94))
    with pytest.raises(InvalidRecord, match=r"101 bytes is above max\.decompressed"):
        lead(build_batch(sent, codec=codec), rules)
    assert lead(build_batch(sent), rules).last_offset == 102, "plain records have no such limit"
    assert lead(build_batch(sent, codec=codec), append_rules(LogConfig())).last_offset == 102


def test_logs_with_one_config_share_their_rules() -> None:
    config = LogConfig(cleanup_policy=("compact",))
    rules = append_rules(config)
    assert append_rules(config) is rules
    assert append_rules(config, check_records=True).check_records
    assert append_rules(LogConfig()).is_compacted is False
    assert append_rules(config) == rules
