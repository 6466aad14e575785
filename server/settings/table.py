"""Reads the tables of `server/settings` into `Setting`s, each when it is first asked for."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from barnabas.server.settings.definitions.limits import KINDS, limit_of
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
READ_ONLY, PER_BROKER, CLUSTER_WIDE = "read-only", "per-broker", "cluster-wide"
_JOINT = "\0"  # stands for a line end inside a stanza and the first blank after it
_KAFKA_3 = frozenset({3})
_KAFKA_4 = frozenset({4})
_BOTH = frozenset({3, 4})


class Setting(NamedTuple):
    """One setting of the broker as a release of Kafka defines it."""

    name: str
    kind: Kind
    default_text: str | None  # None for no value
    required: bool
    importance: str
    mode: str
    limit_text: str
    releases: frozenset[int]  # the Kafka releases that know it, 3 for 3.9 and 4 for 4.4
    flags: frozenset[str]
    area: str
    documentation: str

    @property
    def limit(self) -> Limit:
        """What its values must satisfy."""
        return limit_of(self.limit_text)

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
    """Every setting by name, each read from its stanza when somebody asks for it."""

    def __init__(self, release: int) -> None:
        self._release = release
        self._stanzas: dict[str, tuple[str, str]] = {}  # name: area, stanza on one line
        self._read: dict[str, Setting] = {}
        for area in AREAS:
            text: str = import_module(f"barnabas.server.settings.definitions.{area}").TABLE
            for stanza in text.strip().replace("\n ", _JOINT).split("\n"):
                self._stanzas[stanza[: stanza.index(" ")]] = (area, stanza)

    def __getitem__(self, name: str) -> Setting:
        setting = self._read.get(name)
        if setting is None:
            setting = self._read[name] = _setting(*self._stanzas[name], self._release)
        return setting

    def __iter__(self) -> Iterator[str]:
        return iter(self._stanzas)

    def __len__(self) -> int:
        return len(self._stanzas)

    def __contains__(self, name: object) -> bool:
        return name in self._stanzas


@cache
def settings(release: int = 3) -> SettingTable:
    """Every setting; where the two differ, as Kafka 3.9 or (release 4) 4.4 defines it."""
    return SettingTable(release)


def _setting(area: str, stanza: str, release: int) -> Setting:
    head, *lines = stanza.split(_JOINT)
    tokens = [*head.split(), *(t for line in lines if line[0:2] != "  " for t in line.split())]
    sentence = " ".join(line.strip() for line in lines if line[0:2] == "  ")
    name, kind, default, importance, *rest = tokens
    facts = {"type": kind, "default": default, "importance": importance}
    facts |= {"mode": READ_ONLY, "limit": ""}
    flags: set[str] = set()
    at = rest.index("4.4:") if "4.4:" in rest else len(rest)
    _apply(rest[:at], facts, flags)
    if release >= 4:
        _apply(rest[at + 1 :], facts, flags)
    default = facts["default"]
    return Setting(
        name,
        KINDS[facts["type"]],
        None if default in ("null", "required") else "" if default == '""' else default,
        default == "required",
        facts["importance"],
        facts["mode"],
        facts["limit"],
        _KAFKA_3 if "3.9-only" in flags else _KAFKA_4 if "4.4-only" in flags else _BOTH,
        frozenset(flags),
        area,
        sentence,
    )


def _apply(tokens: list[str], facts: dict[str, str], flags: set[str]) -> None:
    for token in tokens:
        if token[0] == "[":
            facts["limit"] = token[1:-1]
        elif token in (READ_ONLY, PER_BROKER, CLUSTER_WIDE):
            facts["mode"] = token
        elif token == "public":
            flags.discard("internal")
        elif "=" in token:
            fact, _, value = token.partition("=")
            facts[fact] = value
        else:
            flags.add(token)
