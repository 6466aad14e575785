"""The entries of a lake: which files count, and which offsets have landed.

Each landed batch is one immutable file, `_landed/<landing id>/<batch, 20 digits>.json`, that
appears whole or not at all. What a lake holds is all files that entries have added without all
that entries have removed: the order of entries does not matter, and landings of different
topics go on side by side. A Parquet file that no entry names does not count. Compactions are
entries of a landing of their own, which adds the merged files and removes those they replace.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from barnabas.pipeline.spark.kafka import topic_id_in

LANDED = "_landed"
DEAD_LETTERS = "_dead_letters"
STAGING = "_staging"
COMPACTIONS = "compactions"  # the landing id of compactions
FORMAT_VERSION = 1

# partition -> [start, end): what a batch has read, gaps included
Ranges = Mapping[int, tuple[int, int]]


@dataclass(frozen=True)
class Held:
    """What a file holds of a partition: the first and the last offset, and how many records."""

    first: int
    last: int
    rows: int


@dataclass(frozen=True)
class LandedFile:
    """One Parquet file of the lake; `path` is relative to it."""

    path: str
    rows: int
    bytes: int
    topic_id: str | None
    offsets: Mapping[int, Held]
    parsed: str = ""  # the schema of its column `parsed`, in Spark's JSON; empty without one

    @property
    def is_dead_letters(self) -> bool:
        return self.path.startswith(DEAD_LETTERS + "/")

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def topic(self) -> str:
        return self._in_path("topic=")

    @property
    def date(self) -> str:
        return self._in_path("date=")

    def _in_path(self, name: str) -> str:
        (part,) = (part for part in self.path.split("/") if part.startswith(name))
        return part.removeprefix(name)


@dataclass(frozen=True)
class Entry:
    """What one batch has done to the lake."""

    landing_id: str
    batch: int
    cluster_id: str
    landed_at_ms: int
    topic_ids: Mapping[str, str | None] = field(default_factory=dict)
    offsets: Mapping[str, Ranges] = field(default_factory=dict)
    added: tuple[LandedFile, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        return entry_path(self.landing_id, self.batch)

    @property
    def row_count(self) -> int:
        return sum(file.rows for file in self.added)


def entry_path(landing_id: str, batch: int) -> str:
    """Where in the lake the entry of a batch is."""
    return f"{LANDED}/{landing_id}/{batch:020}.json"


def to_json(entry: Entry) -> str:
    """The entry's file."""
    schemas = sorted({file.parsed for file in entry.added if file.parsed})
    return json.dumps(
        {
            "version": FORMAT_VERSION,
            "landing_id": entry.landing_id,
            "batch": entry.batch,
            "cluster_id": entry.cluster_id,
            "landed_at_ms": entry.landed_at_ms,
            "topic_ids": dict(entry.topic_ids),
            "offsets": {topic: _by_text(ranges) for topic, ranges in entry.offsets.items()},
            "parsed_schemas": schemas,
            "added": [_file_to_json(file, schemas) for file in entry.added],
            "removed": list(entry.removed),
        }
    )


def _by_text(ranges: Ranges) -> dict[str, list[int]]:
    return {str(partition): list(ranges[partition]) for partition in sorted(ranges)}


def _file_to_json(file: LandedFile, schemas: list[str]) -> dict[str, Any]:
    held = {str(number): [h.first, h.last, h.rows] for number, h in sorted(file.offsets.items())}
    return {
        "path": file.path,
        "rows": file.rows,
        "bytes": file.bytes,
        "topic_id": file.topic_id,
        "offsets": held,
        "parsed": schemas.index(file.parsed) if file.parsed else None,
    }


def from_json(text: str) -> Entry:
    """The entry in a file; ValueError for what is none, or is one of a later Barnabas."""
    read = json.loads(text)
    if not isinstance(read, dict) or read.get("version") != FORMAT_VERSION:
        raise ValueError(f"not an entry of version {FORMAT_VERSION}: {text[:80]}")
    return Entry(
        landing_id=read["landing_id"],
        batch=read["batch"],
        cluster_id=read["cluster_id"],
        landed_at_ms=read["landed_at_ms"],
        topic_ids={topic: topic_id_in(text) for topic, text in read["topic_ids"].items()},
        offsets={topic: _by_number(ranges) for topic, ranges in read["offsets"].items()},
        added=tuple(_file_from_json(file, read["parsed_schemas"]) for file in read["added"]),
        removed=tuple(read["removed"]),
    )


def _by_number(ranges: dict[str, list[int]]) -> dict[int, tuple[int, int]]:
    return {int(partition): (start, end) for partition, (start, end) in ranges.items()}


def _file_from_json(read: dict[str, Any], schemas: list[str]) -> LandedFile:
    return LandedFile(
        path=read["path"],
        rows=read["rows"],
        bytes=read["bytes"],
        topic_id=topic_id_in(read["topic_id"]),
        offsets={int(number): Held(*held) for number, held in read["offsets"].items()},
        parsed="" if read["parsed"] is None else schemas[read["parsed"]],
    )


# --- what all entries say together ---------------------------------------------------------


@dataclass(frozen=True)
class LandedTopic:
    """What a landing has landed of a topic: by partition the ranges [start, end), joined."""

    landing_id: str
    cluster_id: str
    topic: str
    topic_id: str | None
    offsets: Mapping[int, tuple[tuple[int, int], ...]]


@dataclass(frozen=True)
class LakeState:
    """What a lake holds."""

    files: tuple[LandedFile, ...]
    landings: tuple[LandedTopic, ...]
    last_batches: Mapping[str, int]  # landing id -> its last batch


def state_of(entries: Iterable[Entry]) -> LakeState:
    """What a lake with these entries holds, whatever their order."""
    files: dict[str, LandedFile] = {}
    removed: set[str] = set()
    last: dict[str, int] = {}
    ranges: dict[tuple[str, str, str, str | None], dict[int, list[tuple[int, int]]]] = {}
    for entry in entries:
        files.update((file.path, file) for file in entry.added)
        removed.update(entry.removed)
        last[entry.landing_id] = max(entry.batch, last.get(entry.landing_id, -1))
        for topic, read in entry.offsets.items():
            key = (entry.landing_id, entry.cluster_id, topic, entry.topic_ids.get(topic))
            for partition, start_and_end in read.items():
                ranges.setdefault(key, {}).setdefault(partition, []).append(start_and_end)
    return LakeState(
        files=tuple(files[path] for path in sorted(files) if path not in removed),
        landings=tuple(
            LandedTopic(*key, {number: joined(found) for number, found in sorted(read.items())})
            for key, read in sorted(
                ranges.items(), key=lambda item: (item[0][:3], item[0][3] or "")
            )
        ),
        last_batches=dict(sorted(last.items())),
    )


def joined(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Ranges [start, end) in order, those that touch or overlap as one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return tuple(found)
