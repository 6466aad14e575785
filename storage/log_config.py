"""`LogConfig`: the settings of one topic's logs, with Kafka's names, defaults and limits.

Names are Kafka's with underscores for dots. Defaults are those of Kafka 3.9.1; where 4.x
differs, the setting says so and `SETTINGS` carries both. A broker builds one LogConfig from
its own `log.*` settings and derives every topic's from it with `with_settings`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from math import inf
from typing import Any, Final

from barnabas.storage.message_format import MESSAGE_FORMAT_VERSION
from barnabas.storage.setting_types import (
    BOOLEAN,
    DOUBLE,
    INT,
    LIST,
    LONG,
    STRING,
    THROTTLED_REPLICAS,
    UNLIMITED,
    InvalidSetting,
    Kind,
    Limit,
    at_least,
    between,
    between_or,
    one_of,
)

FOREVER: Final = (1 << 63) - 1
_DAY_MS = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True)
class Setting:
    """One of Kafka's topic settings; `releases` says which of 3.9 and 4.x know it."""

    name: str
    kind: Kind
    default: Any
    limit: Limit
    default_in_4: Any
    limit_in_4: Limit
    releases: frozenset[int]

    def parse(self, text: str, release: int = 3) -> Any:
        """The value written as `text`, checked as Kafka 3.9 (or 4) does.

        Raises InvalidSetting.
        """
        trimmed = text.strip()
        try:
            value = self.kind.parse(trimmed)
        except ValueError:
            raise InvalidSetting(self.name, trimmed, self.kind.expected) from None
        limit = self.limit if release < 4 else self.limit_in_4
        if (complaint := limit.complain(self.name, value)) is not None:
            raise InvalidSetting(self.name, *complaint)
        return value


def _setting(
    kind: Kind,
    default: Any,
    limit: Limit = UNLIMITED,
    *,
    in_4: Any = None,
    limit_in_4: Limit | None = None,
    releases: tuple[int, ...] = (3, 4),
) -> Any:
    facts = {
        "kind": kind,
        "limit": limit,
        "default_in_4": default if in_4 is None else in_4,
        "limit_in_4": limit_in_4 or limit,
        "releases": frozenset(releases),
    }
    return field(default=default, metadata=facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogConfig:
    """The settings of a topic; see Kafka's documentation of each name."""

    cleanup_policy: tuple[str, ...] = _setting(LIST, ("delete",), one_of("compact", "delete"))
    compression_gzip_level: int = _setting(INT, -1, between_or(1, 9, -1))
    compression_lz4_level: int = _setting(INT, 9, between(1, 17))
    compression_type: str = _setting(
        STRING, "producer", one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
    )
    compression_zstd_level: int = _setting(INT, 3, between(-131072, 22))
    delete_retention_ms: int = _setting(LONG, _DAY_MS, at_least(0))
    errors_deadletterqueue_group_enable: bool = _setting(BOOLEAN, False, releases=(4,))
    file_delete_delay_ms: int = _setting(LONG, 60_000, at_least(0))
    flush_messages: int = _setting(LONG, FOREVER, at_least(1))
    flush_ms: int = _setting(LONG, FOREVER, at_least(0))
    follower_replication_throttled_replicas: tuple[str, ...] = _setting(
        LIST, (), THROTTLED_REPLICAS
    )
    index_interval_bytes: int = _setting(INT, 4096, at_least(0))
    leader_replication_throttled_replicas: tuple[str, ...] = _setting(LIST, (), THROTTLED_REPLICAS)
    local_retention_bytes: int = _setting(LONG, -2, at_least(-2))
    local_retention_ms: int = _setting(LONG, -2, at_least(-2))
    max_compaction_lag_ms: int = _setting(LONG, FOREVER, at_least(1))
    max_decompressed_message_bytes: int = _setting(
        INT, 2147483639, between(1, 2147483639), releases=(4,)
    )
    max_message_bytes: int = _setting(INT, 1048588, at_least(0))
    message_downconversion_enable: bool = _setting(BOOLEAN, True, releases=(3,))
    message_format_version: str = _setting(STRING, "3.0-IV1", MESSAGE_FORMAT_VERSION, releases=(3,))
    message_timestamp_after_max_ms: int = _setting(LONG, FOREVER, at_least(0), in_4=3_600_000)
    message_timestamp_before_max_ms: int = _setting(LONG, FOREVER, at_least(0))
    message_timestamp_difference_max_ms: int = _setting(LONG, FOREVER, at_least(0), releases=(3,))
    message_timestamp_type: str = _setting(
        STRING, "CreateTime", one_of("CreateTime", "LogAppendTime")
    )
    min_cleanable_dirty_ratio: float = _setting(DOUBLE, 0.5, between(0, 1))
    min_compaction_lag_ms: int = _setting(LONG, 0, at_least(0))
    min_insync_replicas: int = _setting(INT, 1, at_least(1))
    preallocate: bool = _setting(BOOLEAN, False)
    remote_copy_lag_bytes: int = _setting(LONG, -1, at_least(-1), releases=(4,))
    remote_copy_lag_ms: int = _setting(LONG, 0, at_least(-1), releases=(4,))
    remote_log_copy_disable: bool = _setting(BOOLEAN, False)
    remote_log_delete_on_disable: bool = _setting(BOOLEAN, False)
    remote_storage_enable: bool = _setting(BOOLEAN, False)
    retention_bytes: int = _setting(LONG, -1)
    retention_ms: int = _setting(LONG, 7 * _DAY_MS, at_least(-1))
    segment_bytes: int = _setting(INT, 1 << 30, at_least(14), limit_in_4=at_least(1 << 20))
    segment_index_bytes: int = _setting(INT, 10 << 20, at_least(4))
    segment_jitter_ms: int = _setting(LONG, 0, at_least(0))
    segment_ms: int = _setting(LONG, 7 * _DAY_MS, at_least(1))
    unclean_leader_election_enable: bool = _setting(BOOLEAN, False)

    @property
    def compact(self) -> bool:
        """Whether old values of a key are removed."""
        return "compact" in self.cleanup_policy

    @property
    def max_segment_ms(self) -> int:
        """The age at which a segment is closed: only closed ones can be compacted in time."""
        return min(self.segment_ms, self.max_compaction_lag_ms) if self.compact else self.segment_ms

    @property
    def delete(self) -> bool:
        """Whether segments are removed by age and size."""
        return "delete" in self.cleanup_policy

    def with_settings(self, settings: Mapping[str, str], release: int = 3) -> "LogConfig":
        """This config with a topic's own settings, given as Kafka sends them, put over it.

        Raises InvalidSetting for a name Kafka `release` does not know, a value out of its
        limits, or settings that contradict each other.
        """
        changes = {
            _field_name(name): find_setting(name, text, release).parse(text, release)
            for name, text in settings.items()
        }
        _carry_difference_max(changes)
        changed = replace(self, **changes)
        changed._check_together()
        return changed

    def _check_together(self) -> None:
        if self.min_compaction_lag_ms > self.max_compaction_lag_ms:
            raise InvalidSetting(
                "min.compaction.lag.ms",
                self.min_compaction_lag_ms,
                f"must not exceed max.compaction.lag.ms ({self.max_compaction_lag_ms})",
            )
        if self.remote_storage_enable:
            raise InvalidSetting(
                "remote.storage.enable", "true", "this broker has no tiered storage; only false"
            )


def find_setting(name: str, value: object, release: int = 3) -> Setting:
    """The setting of this name; raises InvalidSetting where Kafka `release` has none."""
    setting = SETTINGS.get(name)
    if setting is None or release not in setting.releases:
        raise InvalidSetting(name, value, "Unknown topic config name")
    return setting


def _field_name(name: str) -> str:
    return name.replace(".", "_")


def _carry_difference_max(changes: dict[str, Any]) -> None:
    """The old setting stands in for before/after where those are not given (KIP-937)."""
    old = changes.get("message_timestamp_difference_max_ms")
    if old is not None:
        changes.setdefault("message_timestamp_before_max_ms", old)
        changes.setdefault("message_timestamp_after_max_ms", old)


SETTINGS: dict[str, Setting] = {
    (name := each.name.replace("_", ".")): Setting(name=name, default=each.default, **each.metadata)
    for each in fields(LogConfig)
}


SLICE_CALLS: Final = 100
"""How many file calls, and looks at logs, background work makes before it gives way."""
SMALL_BYTES: Final = 64 << 10
"""A log with no more than this to recover is recovered where it is opened."""
WORTH_A_CHILD_BYTES: Final = 8 << 20
"""From so much to recover on, of all logs together, children do it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogManagerConfig:
    """The broker's settings that concern all of its logs, with Kafka's defaults.

    Kafka's names, dots as underscores, in the comments where ours is shorter. The last ones are
    thresholds of our own that no configuration file reaches: tests make them so small that a few
    kilobytes pass them.
    """

    retention_check_interval_ms: int = 300_000  # log.retention.check.interval.ms
    flush_interval_ms: int = FOREVER  # log.flush.scheduler.interval.ms
    recovery_point_interval_ms: int = 60_000  # log.flush.offset.checkpoint.interval.ms
    log_start_interval_ms: int = 60_000  # log.flush.start.offset.checkpoint.interval.ms
    high_watermark_interval_ms: int = 5_000  # replica.high.watermark.checkpoint.interval.ms
    producer_id_expiration_ms: int = 86_400_000  # producer.id.expiration.ms
    producer_id_check_interval_ms: int = 600_000  # producer.id.expiration.check.interval.ms
    initial_task_delay_ms: int = 30_000  # log.initial.task.delay.ms
    recovery_processes: int = 1  # num.recovery.threads.per.data.dir
    cleaner_enable: bool = True  # log.cleaner.enable
    cleaner_threads: int = 1  # log.cleaner.threads
    cleaner_backoff_ms: int = 15_000  # log.cleaner.backoff.ms
    cleaner_dedupe_buffer_bytes: int = 128 << 20  # log.cleaner.dedupe.buffer.size
    cleaner_load_factor: float = 0.9  # log.cleaner.io.buffer.load.factor
    cleaner_io_bytes_per_second: float = inf  # log.cleaner.io.max.bytes.per.second
    cleaner_open_files: int = 16
    cleaner_read_bytes: int = 1 << 20
    cleaner_write_bytes: int = 1 << 20
    recovery_small_bytes: int = SMALL_BYTES
    recovery_child_bytes: int = WORTH_A_CHILD_BYTES
    slice_calls: int = SLICE_CALLS
    flushes_at_once: int = 32
