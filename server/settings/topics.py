"""How a topic's settings follow from the broker's, and what each one means.

A topic setting that nobody overrides takes the first broker setting of its list that has a value,
in the topic's unit. Types, defaults and limits are in `storage/log_config.py`. Source:
org.apache.kafka.server.config.ServerTopicConfigSynonyms and kafka.server.KafkaConfig.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from barnabas.storage.log_config import FOREVER, LogConfig

HOUR_MS = 60 * 60 * 1000
MINUTE_MS = 60 * 1000
DEFAULT_MESSAGE_FORMAT_VERSION = "3.0-IV1"

Reader = Callable[[str], Any]


class TopicSetting(NamedTuple):
    """One topic setting: (broker setting, its unit in the topic's) in order, and one sentence."""

    broker: tuple[tuple[str, int], ...]
    documentation: str


def _from(documentation: str, *broker: str | tuple[str, int]) -> TopicSetting:
    pairs = tuple((each, 1) if isinstance(each, str) else each for each in broker)
    return TopicSetting(pairs, documentation)


# Taken and reported, and read by nobody: there are no tiers,
# and segments grow as they are written (reserving their size helps no file system of today).
WITHOUT_EFFECT = frozenset(
    {
        "errors.deadletterqueue.group.enable",
        "local.retention.bytes",
        "local.retention.ms",
        "preallocate",
        "remote.copy.lag.bytes",
        "remote.copy.lag.ms",
        "remote.log.copy.disable",
        "remote.log.delete.on.disable",
        "remote.storage.enable",
    }
)
TOPIC_SETTINGS = {
    "cleanup.policy": _from(
        "What happens to old segments: delete, compact or both.", "log.cleanup.policy"
    ),
    "compression.gzip.level": _from("Level for gzip.", "compression.gzip.level"),
    "compression.lz4.level": _from("Level for lz4.", "compression.lz4.level"),
    "compression.type": _from(
        "Codec of stored batches; producer keeps what was sent.", "compression.type"
    ),
    "compression.zstd.level": _from("Level for zstd.", "compression.zstd.level"),
    "delete.retention.ms": _from(
        "How long tombstones and transaction markers outlive compaction.",
        "log.cleaner.delete.retention.ms",
    ),
    "errors.deadletterqueue.group.enable": _from(
        "Whether share groups may send given-up records of other topics here."
    ),
    "file.delete.delay.ms": _from(
        "How long a removed file waits, renamed, before it leaves the disk.",
        "log.segment.delete.delay.ms",
    ),
    "flush.messages": _from(
        "Records after which a partition is forced to disk.", "log.flush.interval.messages"
    ),
    "flush.ms": _from(
        "Time after which a partition is forced to disk.",
        "log.flush.interval.ms",
        "log.flush.scheduler.interval.ms",
    ),
    "follower.replication.throttled.replicas": _from(
        "Followers that keep to the replication quota, as partition:broker,... or *."
    ),
    "index.interval.bytes": _from(
        "Bytes of log between two entries of an index.", "log.index.interval.bytes"
    ),
    "leader.replication.throttled.replicas": _from(
        "Leaders that keep to the replication quota, as partition:broker,... or *."
    ),
    "local.retention.bytes": _from(
        "Size kept on local disk of a tiered partition.", "log.local.retention.bytes"
    ),
    "local.retention.ms": _from(
        "Age kept on local disk of a tiered partition.", "log.local.retention.ms"
    ),
    "max.compaction.lag.ms": _from(
        "Age by which a record must have come to compaction.", "log.cleaner.max.compaction.lag.ms"
    ),
    "max.decompressed.message.bytes": _from(
        "Largest record of a compressed batch, once decompressed, that is appended.",
        "max.decompressed.message.bytes",
    ),
    "max.message.bytes": _from("Largest record batch, after compression.", "message.max.bytes"),
    "message.downconversion.enable": _from(
        "Convert records for clients that understand only older message formats.",
        "log.message.downconversion.enable",
    ),
    "message.format.version": _from(
        "Message format written while inter.broker.protocol.version is below 3.0.",
        "log.message.format.version",
    ),
    "message.timestamp.after.max.ms": _from(
        "How far a record's time may lie after the broker's.",
        "log.message.timestamp.after.max.ms",
    ),
    "message.timestamp.before.max.ms": _from(
        "How far a record's time may lie before the broker's.",
        "log.message.timestamp.before.max.ms",
    ),
    "message.timestamp.difference.max.ms": _from(
        "How far a record's time may lie from the broker's, without the two limits above.",
        "log.message.timestamp.difference.max.ms",
    ),
    "message.timestamp.type": _from(
        "Whether a record keeps its producer's time or gets the broker's.",
        "log.message.timestamp.type",
    ),
    "min.cleanable.dirty.ratio": _from(
        "Share of a log that must be uncompacted before compaction is worth while.",
        "log.cleaner.min.cleanable.ratio",
    ),
    "min.compaction.lag.ms": _from(
        "Age before which a record is not compacted.", "log.cleaner.min.compaction.lag.ms"
    ),
    "min.insync.replicas": _from(
        "In-sync replicas without which a produce with acks=all is refused.",
        "min.insync.replicas",
    ),
    "preallocate": _from(
        "Reserve a segment's full size when it is created.", "log.preallocate"
    ),
    "remote.copy.lag.bytes": _from(
        "Size of closed segments kept back from copying.", "log.remote.copy.lag.bytes"
    ),
    "remote.copy.lag.ms": _from(
        "Age before which a closed segment is not copied.", "log.remote.copy.lag.ms"
    ),
    "remote.log.copy.disable": _from("Stop copying a tiered topic to remote storage."),
    "remote.log.delete.on.disable": _from(
        "Delete remote data when tiered storage is switched off for the topic."
    ),
    "remote.storage.enable": _from("Tiered storage for the topic, which Barnabas has not."),
    "retention.bytes": _from(
        "Size of a partition beyond which its oldest segments are deleted; -1 for no limit.",
        "log.retention.bytes",
    ),
    "retention.ms": _from(
        "Age at which closed segments are deleted; -1 never.",
        "log.retention.ms",
        ("log.retention.minutes", MINUTE_MS),
        ("log.retention.hours", HOUR_MS),
    ),
    "segment.bytes": _from(
        "Size at which a segment is closed and the next begun.", "log.segment.bytes"
    ),
    "segment.index.bytes": _from(
        "Size of an index at which its segment is closed.", "log.index.size.max.bytes"
    ),
    "segment.jitter.ms": _from(
        "Random share taken off the rolling age.",
        "log.roll.jitter.ms",
        ("log.roll.jitter.hours", HOUR_MS),
    ),
    "segment.ms": _from(
        "Age at which a segment is closed even if small.",
        "log.roll.ms",
        ("log.roll.hours", HOUR_MS),
    ),
    "unclean.leader.election.enable": _from(
        "Let a replica lead that is not in sync, losing records, when no other is left.",
        "unclean.leader.election.enable",
    ),
}  # fmt: skip


def log_config_of(value: Reader) -> LogConfig:
    """The settings of a topic without overrides, from the broker's (`value` reads one by name)."""
    facts = {
        name.replace(".", "_"): _inherited(setting, value)
        for name, setting in TOPIC_SETTINGS.items()
        if setting.broker
    }
    if facts["retention_ms"] < 0:
        facts["retention_ms"] = -1
    if not _writes_old_formats(value("inter.broker.protocol.version")):
        facts["message_format_version"] = DEFAULT_MESSAGE_FORMAT_VERSION
    difference_ms = facts["message_timestamp_difference_max_ms"]
    for name in ("message_timestamp_before_max_ms", "message_timestamp_after_max_ms"):
        if facts[name] == FOREVER:
            facts[name] = difference_ms
    return LogConfig(**facts)


def _inherited(setting: TopicSetting, value: Reader) -> Any:
    for name, unit in setting.broker:
        found = value(name)
        if found is not None:
            return found * unit if unit > 1 else found
    raise LookupError(f"none of {setting.broker} has a value")


def _writes_old_formats(inter_broker_protocol_version: str) -> bool:
    return int(inter_broker_protocol_version.split(".")[0]) < 3
