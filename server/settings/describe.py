"""DescribeConfigs: every setting of a topic or broker with its value, source and synonyms.

A synonym is another setting that gives the value, or the same one in another layer, the one in
force first: (name, value, source). Passwords, and settings whose type nobody knows, are sensitive
and show no value. Source: kafka.server.ConfigHelper.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple

from barnabas.server.settings.config import BrokerConfig, default_text
from barnabas.server.settings.java_text import to_text
from barnabas.server.settings.names import base_name
from barnabas.server.settings.table import READ_ONLY, Setting, settings
from barnabas.server.settings.topics import TOPIC_SETTINGS
from barnabas.storage.log_config import SETTINGS as LOG_SETTINGS
from barnabas.storage.setting_types import Kind


class ConfigSource(IntEnum):
    """Where a value comes from; Kafka's numbers."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8


CONFIG_TYPES = {
    "BOOLEAN": 1, "STRING": 2, "INT": 3, "SHORT": 4, "LONG": 5, "DOUBLE": 6, "LIST": 7,
    "CLASS": 8, "PASSWORD": 9,
}  # fmt: skip
"""Kafka's numbers for the types of settings; 0 is unknown."""

_FAMILIES = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
BROKER_SYNONYMS: dict[str, tuple[str, ...]] = {
    **{name: family for family in _FAMILIES for name in family},
    "log.flush.interval.ms": ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
}
"""Broker settings that stand in for each other, in the order that counts."""


class Synonym(NamedTuple):
    """One layer's value for a setting."""

    name: str
    value: str | None
    source: ConfigSource


class ConfigEntry(NamedTuple):
    """One setting as DescribeConfigs answers it."""

    name: str
    value: str | None
    read_only: bool
    source: ConfigSource
    is_sensitive: bool
    synonyms: tuple[Synonym, ...]
    config_type: int
    documentation: str


def describe_topic(
    config: BrokerConfig, overrides: Mapping[str, str], names: Collection[str] | None = None
) -> list[ConfigEntry]:
    """The settings of a topic with `overrides`; `names` None or empty means all of them.

    Raises InvalidSetting for an override that cannot be used.
    """
    inherited = config.derived("topic entries", lambda: _inherited_entries(config))
    return [
        _overridden(entry, overrides[entry.name], config) if entry.name in overrides else entry
        for entry in inherited
        if _wanted(entry.name, names)
    ]


def describe_broker(
    config: BrokerConfig, names: Collection[str] | None = None
) -> list[ConfigEntry]:
    """The settings of this broker; `names` None or empty means all of them."""
    entries = config.derived("broker entries", lambda: _broker_entries(config))
    return [entry for entry in entries if _wanted(entry.name, names)]


def describe_cluster_default(
    config: BrokerConfig, names: Collection[str] | None = None
) -> list[ConfigEntry]:
    """The settings that hold for all brokers dynamically (the broker named by empty text)."""
    entries = []
    for name, text in config.dynamic_default.items():
        if _wanted(name, names):
            entry = _broker_entry(config, name)
            source = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
            entries.append(
                entry._replace(
                    value=None if entry.is_sensitive else text,
                    source=source,
                    synonyms=tuple(s for s in entry.synonyms if s.source == source),
                )
            )
    return entries


def broker_synonyms(name: str) -> tuple[str, ...]:
    """The broker settings that may give `name` its value, itself included."""
    if name in BROKER_SYNONYMS:
        return BROKER_SYNONYMS[name]
    base = base_name(name)
    return (name,) if base == name else (name, base)


def _inherited_entries(config: BrokerConfig) -> list[ConfigEntry]:
    """A topic's entries as long as it overrides nothing: all that can be set, and no more."""
    return [
        _inherited_entry(config, name, setting.kind)
        for name, setting in LOG_SETTINGS.items()
        if config.release in setting.releases
    ]


def _inherited_entry(config: BrokerConfig, name: str, kind: Kind) -> ConfigEntry:
    value = getattr(config.log_config, name.replace(".", "_"))
    broker = TOPIC_SETTINGS[name].broker
    synonyms = tuple(_synonyms(config, broker[0][0])) if broker else ()
    return ConfigEntry(
        name,
        to_text(kind, value),
        False,
        synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
        False,
        synonyms,
        CONFIG_TYPES[kind.name],
        TOPIC_SETTINGS[name].documentation,
    )


def _overridden(inherited: ConfigEntry, text: str, config: BrokerConfig) -> ConfigEntry:
    setting = LOG_SETTINGS[inherited.name]
    value = to_text(setting.kind, setting.parse(text, config.release))
    source = ConfigSource.DYNAMIC_TOPIC_CONFIG
    synonyms = (Synonym(inherited.name, value, source), *inherited.synonyms)
    return inherited._replace(value=value, source=source, synonyms=synonyms)


def _broker_entries(config: BrokerConfig) -> list[ConfigEntry]:
    known = [
        name
        for name, setting in settings(config.release).items()
        if (
            setting.defined_by_kafka
            and "internal" not in setting.flags
            and _is_shown(setting.releases, config)
        )
        or (setting.area == "own" and not config.barnabas_pose_as)
    ]
    given = (*config.static, *config.dynamic_default, *config.dynamic_broker)
    return [_broker_entry(config, name) for name in dict.fromkeys((*known, *given))]


def _broker_entry(config: BrokerConfig, name: str) -> ConfigEntry:
    setting = _defined(name, config.release)
    sensitive = setting is None or setting.sensitive
    synonyms = tuple(_synonyms(config, name))
    return ConfigEntry(
        name,
        None if sensitive else _shown_value(config, name, setting),
        name != base_name(name) or _is_read_only(setting, config.release),
        synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
        sensitive,
        synonyms,
        CONFIG_TYPES[setting.kind.name] if setting else 0,
        setting.documentation if setting else "",
    )


def _defined(name: str, release: int) -> Setting | None:
    setting = settings(release).get(base_name(name))
    return setting if setting is not None and "plugin" not in setting.flags else None


def _is_read_only(setting: Setting | None, release: int) -> bool:
    # Kafka 3.9 calls its replication throttles read-only, though they change at run time alone.
    if setting is None or (release < 4 and "dynamic-only" in setting.flags):
        return True
    return setting.mode == READ_ONLY


def _kafka_default(name: str, release: int) -> str | None:
    """The default, as far as Kafka's definitions have one (a plugin's settings have none)."""
    setting = settings(release).get(name)
    outside = setting is not None and setting.flags & {"plugin", "dynamic-only"}
    return None if outside else default_text(name, release)


def _shown_value(config: BrokerConfig, name: str, setting: Setting | None) -> str | None:
    text = config.text(name)
    if setting is None or text is None:
        return text
    return to_text(setting.kind, setting.kind.parse(text.strip()))


def _synonyms(config: BrokerConfig, name: str) -> Iterator[Synonym]:
    """The values of `name` and its stand-ins, layer by layer, from the first of `name` itself."""
    layers: tuple[tuple[ConfigSource, Callable[[str], str | None]], ...] = (
        (ConfigSource.DYNAMIC_BROKER_CONFIG, config.dynamic_broker.get),
        (ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG, config.dynamic_default.get),
        (ConfigSource.STATIC_BROKER_CONFIG, config.static.get),
        (ConfigSource.DEFAULT_CONFIG, lambda each: _kafka_default(each, config.release)),
    )
    setting = _defined(name, config.release)
    sensitive = setting is None or setting.sensitive
    seen = False
    for source, read in layers:
        for each in broker_synonyms(name):
            text = read(each)
            seen = seen or (text is not None and each == name)
            if text is not None and seen:
                yield Synonym(each, None if sensitive else text, source)


def _wanted(name: str, names: Collection[str] | None) -> bool:
    return not names or name in names


def _is_shown(releases: frozenset[int], config: BrokerConfig) -> bool:
    return config.release in releases or not config.barnabas_pose_as
