"""What an audit may have found, made by hand."""

from __future__ import annotations

from dataclasses import replace

from barnabas.pipeline.audit.kinds import Kind
from barnabas.pipeline.audit.parts import Part, PartKey
from barnabas.pipeline.audit.summary import (
    Delay,
    FileFault,
    Found,
    KindCount,
    MapCell,
    PartFound,
    Volume,
)

DAY_MS = 86_400_000


def part(number: int = 0, topic: str = "orders", **kinds: tuple[int, int]) -> PartFound:
    """A partition with kinds by the name of the member: (count, first offset)."""
    found = {
        Kind[name]: KindCount(Kind[name], count, 1, ((first, first + count - 1),))
        for name, (count, first) in kinds.items()
    }
    landed = found[Kind.LANDED].count if Kind.LANDED in found else 0
    key = PartKey(topic, "id", number)
    of_broker = Part(number, key, True, 0, 100, 100, ((0, 100),))
    return PartFound(of_broker, landed, landed, landed, 0, DAY_MS, found)


def found(*parts: PartFound, files: tuple[FileFault, ...] = ()) -> Found:
    """An audit of these partitions, with a gap map and one bin of time."""
    cells = [
        MapCell(each.part.number, 0, kind, count.count)
        for each in parts
        for kind, count in each.kinds.items()
    ]
    return Found(
        lake="/lake",
        bootstrap="127.0.0.1:9092",
        cluster_id="cluster",
        audited_at_ms=DAY_MS,
        is_everything=False,
        topics=sorted({each.part.key.topic for each in parts}),
        parts=parts,
        files=files,
        file_count=3,
        volumes=[Volume(each.part.number, 0, 10) for each in parts],
        delays=[Delay(0, 10, 20, 300, 90_000)],
        bin_ms=1000,
        cells=cells,
        map_ranges={each.part.number: (0, 100) for each in parts},
        map_bins=24,
    )


def earlier(each: PartFound) -> PartFound:
    """The same of a topic that is no longer there."""
    gone = replace(each.part, is_current=False, log_start=0, last_stable=0, log_end=0)
    return replace(each, part=gone, broker_records=0, committed_records=0)
