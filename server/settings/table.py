"""Every setting of the broker by name, as a release of Kafka defines it, from the `definitions`."""

from collections.abc import Iterator, Mapping, Set
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from barnabas.server.settings.definitions.row import (
    CLUSTER_WIDE,
    ONLY_3_9,
    ONLY_4_4,
    PER_BROKER,
    READ_ONLY,
    REQUIRED,
    Row,
)
from barnabas.storage.setting_types import InvalidSetting, Kind, Limit

AREAS = (
    "network",
    "broker",
    "zookeeper",
    "log",
    "replication",
    "quotas",
    "groups",
    "share_groups",
    "streams_groups",
    "transactions",
    "security",
    "authorizer",
    "oauth",
    "ssl",
    "kraft",
    "tiered",
    "own",
)
__all__ = ["AREAS", "CLUSTER_WIDE", "PER_BROKER", "READ_ONLY", "Setting", "settings"]

_KAFKA_3 = frozenset({3})
_KAFKA_4 = frozenset({4})
_BOTH = frozenset({3, 4})
_DEFINITIONS = "barnabas.server.settings.definitions"


class Setting(NamedTuple):
    """One setting of the broker as a release of Kafka defines it."""

    name: str
    kind: Kind
    default_text: str | None  # None for no value
    required: bool
    importance: str
    mode: str
    limit: Limit  # what its values must satisfy
    releases: frozenset[int]  # the Kafka releases that know it, 3 for 3.9 and 4 for 4.4
    flags: Set[str]
    area: str
    documentation: str

    @property
    def sensitive(self) -> bool:
        """Whether nobody may be shown its value."""
        return self.kind.name == "PASSWORD"

    @property
    def defined_by_kafka(self) -> bool:
        """Whether Kafka's broker definition has it (plugins and throttles stand outside)."""
        return self.area != "own" and not self.flags & {"plugin", "dynamic-only"}

    def parse(self, text: str | None) -> Any:
        """The typed value written as `text`; raises InvalidSetting."""
        if text is None:
            return None
        trimmed = text.strip()
        shown = "[hidden]" if self.sensitive else trimmed
        try:
            value = self.kind.parse(trimmed)
        except ValueError:
            raise InvalidSetting(self.name, shown, self.kind.expected) from None
        if complaint := self.limit.complain(self.name, value):
            raise InvalidSetting(self.name, *complaint)
        return value


class SettingTable(Mapping[str, Setting]):
    """Every setting by name, each made of its row when somebody asks for it."""

    def __init__(self, release: int) -> None:
        self._release = release
        self._made: dict[str, Setting] = {}

    def __getitem__(self, name: str) -> Setting:
        setting = self._made.get(name)
        if setting is None:
            setting = self._made[name] = _setting(*_rows()[name], self._release)
        return setting

    def __iter__(self) -> Iterator[str]:
        return iter(_rows())

    def __len__(self) -> int:
        return len(_rows())

    def __contains__(self, name: object) -> bool:
        return name in _rows()


@cache
def settings(release: int = 3) -> SettingTable:
    """Every setting; where the two differ, as Kafka 3.9 or (release 4) 4.4 defines it."""
    return SettingTable(release)


@cache
def _rows() -> dict[str, tuple[str, Row]]:
    """The area and the row of each setting."""
    found: dict[str, tuple[str, Row]] = {}
    for area in AREAS:
        rows: tuple[Row, ...] = import_module(f"{_DEFINITIONS}.{area}").ROWS
        found.update((row.name, (area, row)) for row in rows)
    return found


def _setting(area: str, row: Row, release: int) -> Setting:
    name, kind, default, importance, text, mode, limit, flags, _ = row.of(release)
    return Setting(
        name,
        kind,
        None if default == REQUIRED else default,
        default == REQUIRED,
        importance,
        mode,
        limit,
        _KAFKA_3 if ONLY_3_9 in flags else _KAFKA_4 if ONLY_4_4 in flags else _BOTH,
        flags,
        area,
        text,
    )
