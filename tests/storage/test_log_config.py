"""Topic settings: the compat-tests compare them with Kafka's; here is what is ours."""

import math
from dataclasses import FrozenInstanceError

import pytest

from barnabas.storage.log_config import FOREVER, SETTINGS, LogConfig, find_setting
from barnabas.storage.message_format import magic_of
from barnabas.storage.setting_types import InvalidSetting


def test_a_topics_settings_go_over_those_of_the_broker() -> None:
    broker = LogConfig(segment_bytes=1000, retention_ms=5)
    topic = broker.with_settings({"retention.ms": "77", "cleanup.policy": "compact,delete"})
    assert (topic.segment_bytes, topic.retention_ms) == (1000, 77)
    assert topic.compact and topic.delete
    assert broker.retention_ms == 5 and not broker.compact


def test_it_cannot_be_changed_in_place() -> None:
    with pytest.raises(FrozenInstanceError):
        LogConfig().retention_ms = 1  # type: ignore[misc]  # that it is refused is the point


@pytest.mark.parametrize(
    ("name", "value", "release", "message"),
    [
        ("retention.ms", "-2", 3, "Invalid value -2 for configuration retention.ms: Value must be"
         " at least -1"),
        ("compression.type", "lzma", 3, "Invalid value lzma for configuration compression.type:"
         " String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"),
        ("segment.bytes", "1000", 4, "Invalid value 1000 for configuration segment.bytes: Value"
         " must be at least 1048576"),
        ("colour", "red", 3, "Invalid value red for configuration colour: Unknown topic config"
         " name"),
        ("message.format.version", "2.8", 4, "Invalid value 2.8 for configuration"
         " message.format.version: Unknown topic config name"),
        ("remote.storage.enable", "true", 3, "Invalid value true for configuration"
         " remote.storage.enable: this broker has no tiered storage; only false"),
        ("min.cleanable.dirty.ratio", "NaN", 3, "Invalid value nan for configuration"
         " min.cleanable.dirty.ratio: Value must be no more than 1"),
    ],
)  # fmt: skip
def test_a_refusal_names_setting_value_and_what_is_allowed(
    name: str, value: str, release: int, message: str
) -> None:
    with pytest.raises(InvalidSetting) as refusal:
        LogConfig().with_settings({name: value}, release)
    assert str(refusal.value) == message


def test_compaction_lags_must_not_cross() -> None:
    with pytest.raises(InvalidSetting, match=r"must not exceed max\.compaction\.lag\.ms \(5\)"):
        LogConfig().with_settings({"min.compaction.lag.ms": "6", "max.compaction.lag.ms": "5"})


def test_the_old_timestamp_limit_stands_in_for_the_two_new_ones() -> None:
    config = LogConfig().with_settings(
        {"message.timestamp.difference.max.ms": "10", "message.timestamp.after.max.ms": "20"}
    )
    assert config.message_timestamp_before_max_ms == 10
    assert config.message_timestamp_after_max_ms == 20
    assert LogConfig().message_timestamp_before_max_ms == FOREVER


def test_a_compacted_topic_closes_segments_in_time_to_compact_them() -> None:
    config = LogConfig(segment_ms=100, max_compaction_lag_ms=10)
    assert config.max_segment_ms == 100
    assert config.with_settings({"cleanup.policy": "compact"}).max_segment_ms == 10
    assert LogConfig(cleanup_policy=("compact",), segment_ms=100).max_segment_ms == 100


@pytest.mark.parametrize(
    ("version", "magic"),
    [("0.8.2", 0), ("0.9.0", 0), ("0.10.0", 1), ("0.10.2-IV0", 1), ("0.11.0", 2), ("2.8", 2)],
)
def test_the_record_format_of_a_version(version: str, magic: int) -> None:
    assert magic_of(version) == magic


def test_every_setting_has_a_default_its_own_parser_accepts() -> None:
    for setting in SETTINGS.values():
        default = setting.default
        text = ",".join(default) if isinstance(default, tuple) else str(default)
        parsed = find_setting(setting.name, text, min(setting.releases)).parse(text)
        assert parsed == default and not (isinstance(parsed, float) and math.isnan(parsed))
