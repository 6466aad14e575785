"""What an offset can be, by one ordered table: landed, explained, or a fault.

The table is read twice from the same rows: by `kind_of` (one stretch of offsets, in Python) and by
`kind_column` (all stretches at once, in Spark). The first rule whose conditions all hold decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql import Column


class Kind(StrEnum):
    """What a stretch of offsets is."""

    LANDED = "landed"
    ONLY_IN_LAKE = "only in the lake"
    MARKER = "marker"
    ABORTED = "aborted"
    OPEN = "open"
    COMPACTED = "compacted"
    READ_EMPTY = "empty when read"
    RETAINED = "retained"
    DELETED = "deleted"
    RECREATED = "recreated"
    NOT_LANDED_YET = "not landed yet"
    MISSING = "missing"
    DOUBLED = "doubled"
    DIFFERING = "differing"
    EXTRA = "extra"
    UNEXPLAINED = "unexplained"
    UNSEEN = "not looked at"
    OUT_OF_ORDER = "out of order"


MEANINGS: dict[Kind, str] = {
    Kind.LANDED: "in the broker and in the lake, byte for byte",
    Kind.ONLY_IN_LAKE: "landed once; the broker has since let it go",
    Kind.MARKER: "the end of a transaction; no record",
    Kind.ABORTED: "written by a transaction that was aborted",
    Kind.OPEN: "at or above the last stable offset, behind a transaction that has not ended",
    Kind.COMPACTED: "a newer record with the same key has replaced it",
    Kind.READ_EMPTY: "no record when a batch read it, and below the log start by now",
    Kind.RETAINED: "gone by the topic's retention before it landed",
    Kind.DELETED: "gone by DeleteRecords or with its topic before it landed",
    Kind.RECREATED: "of an earlier topic with the same name",
    Kind.NOT_LANDED_YET: "newer than the last landed batch",
    Kind.MISSING: "should be in the lake and is not",
    Kind.DOUBLED: "in the lake more than once",
    Kind.DIFFERING: "in the lake with another key, value, header or timestamp than in the broker",
    Kind.EXTRA: "in the lake, and no committed record of the broker",
    Kind.UNEXPLAINED: "absent from the broker's own log for no reason that can be found",
    Kind.UNSEEN: "absent from the broker's own log, whose batches could not be looked at",
    Kind.OUT_OF_ORDER: "behind a larger offset of its partition in the same file",
}

FAULTS = frozenset(
    {
        Kind.MISSING,
        Kind.DOUBLED,
        Kind.DIFFERING,
        Kind.EXTRA,
        Kind.UNEXPLAINED,
        Kind.UNSEEN,
        Kind.OUT_OF_ORDER,
    }
)
"""The kinds for which an audit ends with exit code 1."""

GAPS = tuple(kind for kind in Kind if kind not in FAULTS | {Kind.LANDED, Kind.ONLY_IN_LAKE})
"""Explained absences from the lake."""


class Rule(NamedTuple):
    """Names of flags that must be set, `!name` for one that must not be."""

    kind: Kind
    conditions: str


FLAGS = (
    "current",  # the topic as it is on the broker now, not one of the same name before it
    "held",  # from the log start to the log end
    "below",  # below the log start
    "stored",  # the broker gave a record there; it may be below the log start by now
    "committed",  # the broker gave it to a reader of committed records, too
    "stable",  # below the last stable offset
    "lake",  # at least one row that an entry of the lake names
    "doubled",  # more than one row in the lake's folder
    "differing",  # another content than the broker's
    "landed",  # an entry says that its batch read this offset
    "late",  # at or above the end of everything landed
    "damaged",  # a file that should hold this offset has lost rows
    "marker",  # seen in the log: a control record
    "thinned",  # seen in the log: a batch spans it and no longer holds it
    "compacting",  # the topic is compacted
    "unprobed",  # the log could not be looked at
    "trimmed",  # what is below the log start went by DeleteRecords, not by retention
    "everything",  # the lake is meant to hold uncommitted records, too
)

# One rule a line, in order of precedence.
RULES: tuple[Rule, ...] = (
    # rows in the lake
    Rule(Kind.DIFFERING, "differing"),
    Rule(Kind.DOUBLED, "doubled"),
    Rule(Kind.RECREATED, "lake !current"),
    # What retention took while the audit read counts as gone, and does not excuse the lake.
    Rule(Kind.ONLY_IN_LAKE, "lake below"),
    Rule(Kind.LANDED, "lake stored committed"),
    Rule(Kind.LANDED, "lake stored everything"),
    Rule(Kind.EXTRA, "lake stored"),
    Rule(Kind.EXTRA, "lake marker"),
    Rule(Kind.ONLY_IN_LAKE, "lake held thinned"),
    Rule(Kind.ONLY_IN_LAKE, "lake held compacting"),
    Rule(Kind.EXTRA, "lake"),
    # no row in the lake, of a topic that is no more
    Rule(Kind.MISSING, "!current damaged"),
    Rule(Kind.RECREATED, "!current"),
    # A record in the broker, no row in the lake. A landing begins where the log does: what is
    # stored below its first batch, or between two, was in a batch whose entry is lost.
    Rule(Kind.MISSING, "stored committed !late"),
    Rule(Kind.MISSING, "stored everything !late"),
    Rule(Kind.ABORTED, "held stored stable !committed !everything"),
    Rule(Kind.OPEN, "held stored !stable !everything"),
    Rule(Kind.NOT_LANDED_YET, "held stored late"),
    Rule(Kind.MISSING, "held stored"),
    # neither
    Rule(Kind.MARKER, "held marker"),
    Rule(Kind.COMPACTED, "held thinned"),
    Rule(Kind.MISSING, "damaged"),
    Rule(Kind.COMPACTED, "held compacting"),
    Rule(Kind.UNSEEN, "held unprobed"),
    Rule(Kind.UNEXPLAINED, "held"),
    # A batch has read it and there was no row for it: a marker, aborted, compacted. A row that was
    # lost since is a fault of its file, whose entry says how many there were.
    Rule(Kind.READ_EMPTY, "below landed"),
    Rule(Kind.DELETED, "below trimmed"),
    Rule(Kind.RETAINED, "below"),
)


def kind_of(flags: Mapping[str, bool]) -> Kind | None:
    """The kind of a stretch by its flags (absent is False); None where nothing is expected."""
    for rule in RULES:
        if all(_holds(condition, flags) for condition in rule.conditions.split()):
            return rule.kind
    return None


def _holds(condition: str, flags: Mapping[str, bool]) -> bool:
    return not flags.get(condition[1:]) if condition[0] == "!" else bool(flags.get(condition))


def kind_column(flags: Mapping[str, Column]) -> Column:
    """The same decision as a Spark column, from one boolean column for each flag."""
    from pyspark.sql import functions as f

    kind = f.lit(None).cast("string")
    for rule in reversed(RULES):
        holds = f.lit(True)
        for condition in rule.conditions.split():
            flag = flags[condition.lstrip("!")]
            holds = holds & (~flag if condition[0] == "!" else flag)
        kind = f.when(holds, f.lit(rule.kind.value)).otherwise(kind)
    return kind
