"""`scripts/conformance wire`: every declaration against Apache Kafka's own definitions.

Compared for every message and every version: field order, type, nullability, default, tag
number, flexible, ignorable; API keys and record types by message. Exits 1 on any difference.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Set
from pathlib import Path
from typing import NamedTuple

import apache
import ours
from oracles import ORACLES

from barnabas.wire.schema import Message
from tests.wire.strategies import declared

ATTRIBUTES = ("type", "nullable", "default", "tag", "ignorable", "flexible")


class Report(NamedTuple):
    """What was compared and what did not agree."""

    messages: int
    versions: int
    superseded: int
    differences: list[str]

    def __str__(self) -> str:
        return (
            f"messages={self.messages} versions={self.versions} "
            f"superseded={self.superseded} differences={len(self.differences)}"
        )


def report(oracles: Path = ORACLES) -> Report:
    """Compare everything."""
    judged, here = apache.judged(oracles), ours.layouts()
    return Report(
        messages=len({name for name, _ in judged}),
        versions=len(judged),
        superseded=len(apache.superseded(oracles)),
        differences=[*_coverage(judged.keys(), here.keys()), *_numbers(oracles)]
        + [
            f"{name} version {version}: {text}"
            for name, version in sorted(judged.keys() & here.keys())
            for text in compare(judged[name, version][1], here[name, version])
        ],
    )


def compare(theirs: apache.Layout, mine: apache.Layout) -> Iterator[str]:
    """What is not alike between two layouts, one sentence each."""
    if theirs.flexible != mine.flexible:
        yield f"flexible is {theirs.flexible} at Apache, {mine.flexible} here"
    yield from _struct(theirs, mine, "")


def _coverage(theirs: Set[tuple[str, int]], mine: Set[tuple[str, int]]) -> Iterator[str]:
    for name, version in sorted(theirs - mine):
        yield f"{name} version {version}: defined by Apache, not declared here"
    for name, version in sorted(mine - theirs):
        yield f"{name} version {version}: declared here, not defined by Apache"


def _struct(
    theirs: apache.Layout | apache.Field, mine: apache.Layout | apache.Field, path: str
) -> Iterator[str]:
    order = [_fold(each.name) for each in theirs.fields]
    found = [_fold(each.name) for each in mine.fields]
    if order != found:
        yield f"{path or 'fields'}: {_names(theirs)} at Apache, {_names(mine)} here"
        return
    for wanted, have in zip(theirs.fields, mine.fields, strict=True):
        yield from _field(wanted, have, f"{path}.{wanted.name}" if path else wanted.name)
    dropped = {_fold(name): flag for name, flag in mine.absent.items()}
    for name, flag in theirs.absent.items():
        if dropped.get(_fold(name), flag) != flag:
            yield f"{path}.{name}: absent, ignorable is {flag} at Apache, {not flag} here"


def _field(theirs: apache.Field, mine: apache.Field, path: str) -> Iterator[str]:
    for attribute in ATTRIBUTES:
        wanted, have = getattr(theirs, attribute), getattr(mine, attribute)
        if wanted != have or type(wanted) is not type(have):
            yield f"{path}: {attribute} is {wanted!r} at Apache, {have!r} here"
    if theirs.fields or mine.fields:
        yield from _struct(theirs, mine, path)


def _numbers(oracles: Path) -> Iterator[str]:
    """API keys and kinds of messages, record types of coordinator records."""
    known: dict[str, apache.Definition] = {}
    for release in apache.RELEASES:
        known |= apache.definitions(oracles, release)
    for name, message in sorted(declared().items()):
        if name in known:
            yield from _number(name, known[name], message)


def _number(name: str, definition: apache.Definition, message: type[Message]) -> Iterator[str]:
    key, kind = definition.get("apiKey"), definition["type"]
    have = message.API_KEY if kind in ("request", "response") else message.RECORD_TYPE
    wanted = key if kind in ("request", "response", "coordinator-key") else None
    if wanted != have:
        yield f"{name}: {kind} number is {wanted} at Apache, {have} here"


def _fold(name: str) -> str:
    """Old data schemas begin their names with a small letter."""
    return name.lower()


def _names(struct: apache.Layout | apache.Field) -> str:
    return "[" + ", ".join(each.name for each in struct.fields) + "]"


def main() -> int:
    """Print every difference, then the counts."""
    for release in apache.RELEASES:
        if not (ORACLES / f"jars-{release}").is_dir():
            print(f"conformance: no jars of Kafka {release}: run scripts/oracles", file=sys.stderr)
            return 2
    result = report()
    for each in result.differences:
        print(each)
    print(result)
    return 1 if result.differences else 0


if __name__ == "__main__":
    sys.exit(main())
