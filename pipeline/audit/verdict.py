"""The audit in one sentence, and the sentences for each fault."""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.pipeline.audit.kinds import FAULTS, Kind
from barnabas.pipeline.audit.parts import PartKey
from barnabas.pipeline.audit.summary import Found, KindCount, PartFound

NAMED = 3
WAITING = (Kind.NOT_LANDED_YET, Kind.OPEN)
# kind -> what stands behind the number, for one and for several
_FAULT_WORDS = {
    Kind.MISSING: ("record is missing", "records are missing"),
    Kind.DOUBLED: ("row is doubled", "rows are doubled"),
    Kind.DIFFERING: ("record differs", "records differ"),
    Kind.EXTRA: ("row is no record of the broker", "rows are no records of the broker"),
    Kind.UNEXPLAINED: (
        "offset of the log is empty for no known reason",
        "offsets of the log are empty for no known reason",
    ),
    Kind.UNSEEN: (
        "empty offset of the log could not be looked at",
        "empty offsets of the log could not be looked at",
    ),
    Kind.OUT_OF_ORDER: ("row is out of order", "rows are out of order"),
}


def name_of(key: PartKey) -> str:
    """A partition as people write it."""
    return f"{key.topic}-{key.partition}"


def counted(count: int, one: str, several: str) -> str:
    """A number and the words for it."""
    return f"{count:,} {one if count == 1 else several}"


def verdict(found: Found) -> str:
    """One sentence: is every record in the lake once, and if not, what is wrong and where."""
    return _clean(found) if found.is_clean else _unclean(found)


def _clean(found: Found) -> str:
    landed = found.total(Kind.LANDED)
    if not landed and not found.lake_rows:
        if not found.broker_records:
            return f"Nothing of {_where(found)} has landed, and the broker holds nothing of it."
        waits = counted(found.broker_records, "record waits", "records wait")
        return f"Nothing of {_where(found)} has landed yet: {waits}."
    parts = [
        f"Every landed record of {_where(found)} is in the lake once, byte for byte as the broker "
        f"has it: {landed:,}"
    ]
    if only := found.total(Kind.ONLY_IN_LAKE) + _earlier_rows(found):
        parts.append(f"{only:,} more that the broker no longer holds")
    if gaps := sum(part.gap_count for part in found.parts) - _waiting(found) - _earlier_rows(found):
        parts.append(f"{counted(gaps, 'gap', 'offsets without a record')}, all explained")
    if waiting := _waiting(found):
        parts.append(f"{waiting:,} still to land")
    return "; ".join(parts) + "."


def _earlier_rows(found: Found) -> int:
    return sum(part.lake_rows for part in found.parts if not part.part.is_current)


def _waiting(found: Found) -> int:
    return sum(found.total(kind) for kind in WAITING)


def _where(found: Found) -> str:
    if len(found.topics) <= NAMED:
        return ", ".join(found.topics)
    return f"{len(found.topics):,} topics"


def _unclean(found: Found) -> str:
    said = [
        counted(found.total(kind), *_FAULT_WORDS[kind])
        for kind in Kind
        if kind in FAULTS and found.total(kind)
    ]
    places = [name_of(part.part.key) for part in found.parts if part.fault_count]
    text = ", ".join(said)
    if places:
        more = f" and {len(places) - NAMED:,} more partitions" if len(places) > NAMED else ""
        text += f" in {', '.join(dict.fromkeys(places[:NAMED]))}{more}"
    if found.files:
        count = counted(len(found.files), "file of the lake is", "files of the lake are")
        text += f"{'; ' if text else ''}{count} not what the entries say"
    return f"The lake is not what the broker holds: {text}."


def fault_lines(found: Found) -> Iterator[str]:
    """One line for each kind of fault of each partition, and for each file at fault."""
    for part in found.parts:
        for kind in Kind:
            if kind in FAULTS and kind in part.kinds:
                yield fault_line(part, part.kinds[kind])
    for file in found.files:
        yield f"{file.path}: {file.what} ({counted(file.rows, 'row', 'rows')})"


def fault_line(part: PartFound, count: KindCount) -> str:
    """`orders-0: 3 records are missing: offsets 5, 8-9`."""
    said = counted(count.count, *_FAULT_WORDS[count.kind])
    where = f": {'offset' if _is_single(count) else 'offsets'} {ranges_text(count)}"
    return f"{name_of(part.part.key)}: {said}{where if count.examples else ''}"


def _is_single(count: KindCount) -> bool:
    return len(count.examples) == 1 and count.examples[0][0] == count.examples[0][1]


def ranges_text(count: KindCount) -> str:
    """Examples as `5, 8-9` with what is left out."""
    shown = [f"{first}" if first == last else f"{first}-{last}" for first, last in count.examples]
    left = count.ranges - len(shown)
    return ", ".join(shown) + (f", and {left:,} more" if left > 0 else "")
