"""What an audit found, small enough for the driver: this, as JSON, is what `--json` writes.

Everything here is bounded by the number of partitions, of kinds and of files at fault, never by
the number of records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from barnabas.pipeline.audit.kinds import FAULTS, GAPS, Kind
from barnabas.pipeline.audit.parts import Part

FORMAT_VERSION = 1


@dataclass(frozen=True)
class KindCount:
    """How many offsets of a partition are of one kind, in how many stretches, and some of these.

    `count` is the number of offsets; of DOUBLED, of rows too many. `examples` are the largest
    stretches, as [first, last] offset, in order.
    """

    kind: Kind
    count: int
    ranges: int
    examples: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class PartFound:
    """One partition: what both sides hold, and what every offset of it is."""

    part: Part
    broker_records: int
    committed_records: int
    lake_rows: int
    first_ms: int | None
    last_ms: int | None
    kinds: Mapping[Kind, KindCount]

    def count(self, kind: Kind) -> int:
        """How many offsets (rows too many, for DOUBLED) are of a kind."""
        return self.kinds[kind].count if kind in self.kinds else 0

    @property
    def fault_count(self) -> int:
        return sum(self.count(kind) for kind in FAULTS)

    @property
    def gap_count(self) -> int:
        return sum(self.count(kind) for kind in GAPS)


@dataclass(frozen=True)
class FileFault:
    """A file of the lake that is not what an entry says, or that no entry should name so."""

    path: str
    what: str
    rows: int


@dataclass(frozen=True)
class Volume:
    """Rows of a partition in one stretch of time."""

    part: int
    start_ms: int
    rows: int


@dataclass(frozen=True)
class Delay:
    """How long after their timestamp the rows of one stretch of time landed, in milliseconds."""

    start_ms: int
    rows: int
    median_ms: int
    p95_ms: int
    largest_ms: int


@dataclass(frozen=True)
class MapCell:
    """A bin of the gap map: offsets of one kind in one of the equal stretches of a partition."""

    part: int
    bin: int
    kind: Kind
    count: int


@dataclass(frozen=True)
class Found:
    """The whole of it."""

    lake: str
    bootstrap: str
    cluster_id: str
    audited_at_ms: int
    is_everything: bool
    topics: Sequence[str]
    parts: Sequence[PartFound]
    files: Sequence[FileFault] = ()
    file_count: int = 0
    unnamed_files: int = 0
    volumes: Sequence[Volume] = ()
    delays: Sequence[Delay] = ()
    bin_ms: int = 0  # of volumes and delays
    cells: Sequence[MapCell] = ()
    map_ranges: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    map_bins: int = 0
    notes: Sequence[str] = ()

    @property
    def is_clean(self) -> bool:
        """Whether every record is in the lake once, and everything else is explained."""
        return not self.files and not any(part.fault_count for part in self.parts)

    def total(self, kind: Kind) -> int:
        """How many offsets of all partitions are of a kind."""
        return sum(part.count(kind) for part in self.parts)

    @property
    def broker_records(self) -> int:
        return sum(part.broker_records for part in self.parts)

    @property
    def lake_rows(self) -> int:
        return sum(part.lake_rows for part in self.parts)


def to_json(found: Found, verdict: str) -> dict[str, Any]:
    """The report as JSON; docs/pipeline.md names the fields."""
    return {
        "version": FORMAT_VERSION,
        "verdict": verdict,
        "clean": found.is_clean,
        "audited_at_ms": found.audited_at_ms,
        "cluster_id": found.cluster_id,
        "bootstrap": found.bootstrap,
        "lake": found.lake,
        "isolation": "all" if found.is_everything else "committed",
        "topics": list(found.topics),
        "totals": {kind.value: found.total(kind) for kind in Kind if found.total(kind)},
        "partitions": [_part_json(part) for part in found.parts],
        "files": {
            "named": found.file_count,
            "unnamed": found.unnamed_files,
            "at_fault": [asdict(fault) for fault in found.files],
        },
        "bin_ms": found.bin_ms,
        "volume": [_with_key(found, asdict(volume)) for volume in found.volumes],
        "delay": [asdict(each) for each in found.delays],
        "notes": list(found.notes),
    }


def _part_json(found: PartFound) -> dict[str, Any]:
    part = found.part
    return {
        "topic": part.key.topic,
        "topic_id": part.key.topic_id,
        "partition": part.key.partition,
        "current": part.is_current,
        "log_start": part.log_start,
        "last_stable": part.last_stable,
        "log_end": part.log_end,
        "landed": [list(each) for each in part.landed],
        "broker_records": found.broker_records,
        "committed_records": found.committed_records,
        "lake_rows": found.lake_rows,
        "first_ms": found.first_ms,
        "last_ms": found.last_ms,
        "kinds": [
            {
                "kind": count.kind.value,
                "is_fault": count.kind in FAULTS,
                "count": count.count,
                "ranges": count.ranges,
                "examples": [list(example) for example in count.examples],
            }
            for count in found.kinds.values()
        ],
    }


def _with_key(found: Found, row: dict[str, Any]) -> dict[str, Any]:
    keys = {part.part.number: part.part.key for part in found.parts}
    key = keys[row.pop("part")]
    return {"topic": key.topic, "topic_id": key.topic_id, "partition": key.partition} | row
