"""Apache Kafka's own message definitions, flattened to one layout per message and version.

They are the `common/message/*.json` files inside the jars (JSON with `//` comments). A field
there carries version ranges; a `Layout` is what is left of a message when one version is
chosen: the fields in wire order, tagged ones last and by tag. Where both releases define a
version, 4.4.0 is the judge; what 4.0 removed is judged by 3.9.1.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RELEASES = ("3.9.1", "4.4.0")  # the later judges
JARS = (
    "kafka-clients",
    "kafka-group-coordinator",
    "kafka-share-coordinator",
    "kafka-transaction-coordinator",
    "kafka-raft",
)
PRIMITIVES = frozenset(
    "bool int8 int16 uint16 int32 uint32 int64 uuid float64 string bytes records".split()
)
SPANS = ("nullableVersions", "taggedVersions", "flexibleVersions")
ZERO_UUID = "00000000-0000-0000-0000-000000000000"

Definition = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a struct at one version.

    `type` is a primitive's name or "struct", with "[]" before it for an array; `default` is
    None, a plain value, "struct" (a struct of defaults) or () for an empty array. `absent`
    are the members that the version lacks, with their `ignorable`.
    """

    name: str
    type: str
    nullable: bool
    default: object
    tag: int | None
    ignorable: bool
    flexible: bool
    fields: tuple[Field, ...] = ()
    absent: dict[str, bool] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Layout:
    """A message at one version."""

    flexible: bool
    fields: tuple[Field, ...]
    absent: dict[str, bool] = field(default_factory=dict, compare=False)


def definitions(oracles: Path, release: str) -> dict[str, Definition]:
    """Every definition in the release's jars that Barnabas declares, by name."""
    found: dict[str, Definition] = {}
    for jar in JARS:
        path = oracles / f"jars-{release}" / f"{jar}-{release}.jar"
        if path.exists():  # 3.9.1 has no share coordinator
            found |= {each["name"]: each for each in _definitions_in(path)}
    return found


def layouts(oracles: Path, release: str) -> dict[tuple[str, int], Layout]:
    """Every message and version that one release defines."""
    return {
        (name, version): layout(definition, version)
        for name, definition in definitions(oracles, release).items()
        for version in versions(definition["validVersions"])
    }


def judged(oracles: Path) -> dict[tuple[str, int], tuple[str, Layout]]:
    """Every message and version with the release that judges it and the layout it has there."""
    return {
        key: (release, each)
        for release in RELEASES
        for key, each in layouts(oracles, release).items()
    }


def superseded(oracles: Path) -> list[tuple[str, int]]:
    """Messages and versions that both releases define, but do not write alike.

    Two of them are alike on the wire: 3.9.1 quotes a tag of BrokerHeartbeatRequest, and 4.4.0
    has fields in TransactionLogValue that name no versions, so that only their tags' versions
    tell that version 0 lacks them.
    """
    older, newer = (definitions(oracles, release) for release in RELEASES)
    return sorted(
        (name, version)
        for name in older.keys() & newer.keys()
        for version in versions(older[name]["validVersions"])
        if version in versions(newer[name]["validVersions"])
        and _written(older[name], version) != _written(newer[name], version)
    )


def versions(text: str) -> range:
    """The versions in "none", "3", "0-7" or "2+" (which goes on to 32767)."""
    if text == "none":
        return range(0)
    if text.endswith("+"):
        return range(int(text[:-1]), 1 << 15)
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def layout(definition: Definition, version: int) -> Layout:
    """Choose one version of a definition."""
    flexible = version in versions(definition.get("flexibleVersions", "none"))
    structs = {each["name"]: each["fields"] for each in definition.get("commonStructs", ())}
    return Layout(flexible, *_members(definition["fields"], version, flexible, structs))


def _members(
    raw: list[Definition], version: int, flexible: bool, structs: dict[str, list[Definition]]
) -> tuple[tuple[Field, ...], dict[str, bool]]:
    here, absent = [], {}
    for each in raw:
        # A field that names no versions exists where it is tagged.
        if version in versions(each.get("versions") or each["taggedVersions"]):
            here.append(_field(each, version, flexible, structs))
        else:
            absent[each["name"]] = bool(each.get("ignorable", False))
    return tuple(sorted(here, key=lambda each: -1 if each.tag is None else each.tag)), absent


def _field(
    raw: Definition, version: int, flexible: bool, structs: dict[str, list[Definition]]
) -> Field:
    element = raw["type"].removeprefix("[]")
    struct = element not in PRIMITIVES
    type_ = raw["type"].replace(element, "struct") if struct else raw["type"]
    nullable = version in versions(raw.get("nullableVersions", "none"))
    members = raw.get("fields") or structs.get(element, []) if struct else []
    fields, absent = _members(members, version, flexible, structs)
    return Field(
        name=raw["name"],
        type=type_,
        nullable=nullable,
        default=_default(raw.get("default", ""), type_, nullable),
        tag=int(raw["tag"]) if version in versions(raw.get("taggedVersions", "none")) else None,
        ignorable=bool(raw.get("ignorable", False)),
        flexible=flexible and version in versions(raw.get("flexibleVersions", "0+")),
        fields=fields,
        absent=absent,
    )


def _written(definition: Definition, version: int) -> list[object]:
    """What the file says of a version, without Apache's rules of how to read it."""
    structs = {each["name"]: each["fields"] for each in definition.get("commonStructs", ())}

    def members(raw: list[Definition]) -> list[object]:
        return [
            [each.get(key) for key in ("name", "type", "default", "tag", "ignorable")]
            + [version in versions(each.get(key, "none")) for key in SPANS]
            + members(each.get("fields") or structs.get(each["type"].removeprefix("[]"), []))
            for each in raw
            if version in versions(each.get("versions", "0+"))
        ]

    flexible = version in versions(definition.get("flexibleVersions", "none"))
    return [flexible, *members(definition["fields"])]


def _default(raw: object, type_: str, nullable: bool) -> object:
    """Apache's rule for a field without a value: zero, empty, or null where it says "null".

    A null that is not in quotes counts as none given. Records are null by default in Java;
    where null is not allowed they count as empty here.
    """
    text = "" if raw is None else str(raw).lower() if isinstance(raw, bool) else str(raw)
    if text == "null" or (type_ == "records" and nullable):
        return None
    if type_.startswith("[]"):
        return ()
    if type_.startswith(("int", "uint")):
        return int(text or "0", 0)
    match type_:
        case "bool":
            return text == "true"
        case "float64":
            return float(text or "0")
        case "uuid":
            return text or ZERO_UUID
        case "struct":
            return "struct"
        case "string":
            return text
    return b""


def _definitions_in(jar: Path) -> Iterator[Definition]:
    with zipfile.ZipFile(jar) as archive:
        for name in archive.namelist():
            if name.startswith("common/message/") and name.endswith(".json"):
                yield json.loads(_without_comments(archive.read(name).decode()))


def _without_comments(text: str) -> str:
    return "\n".join(_before_comment(line) for line in text.splitlines())


def _before_comment(line: str) -> str:
    """The line up to a `//` that does not stand inside a string."""
    quoted = False
    for at, character in enumerate(line):
        if character == '"' and line[at - 1 : at] != "\\":
            quoted = not quoted
        elif not quoted and line.startswith("//", at):
            return line[:at]
    return line
