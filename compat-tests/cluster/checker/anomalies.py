"""What may be wrong with a history, by name."""

from __future__ import annotations

import enum
from typing import NamedTuple

from exactly_once.checker.history import Place


class Kind(enum.Enum):
    """What must not be."""

    LOST = "acknowledged and lost"
    MISPLACED = "acknowledged at another offset"
    DOUBLED = "doubled with idempotence"
    REORDERED = "out of order"
    UNWRITTEN = "read, but written by nobody"
    VANISHED = "read, and not there at the end"
    LOST_OFFSET = "committed offset lost"
    SKIPPED = "never read by the group"
    TWO_LEADERS = "two leaders in one epoch"
    OLD_EPOCH = "an epoch went back"
    STRANGE_ISR = "in the in-sync set, but no replica"


class Anomaly(NamedTuple):
    """One thing that must not be; `what` is for people, `values` are the records concerned."""

    kind: Kind
    place: Place
    what: str
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind.value} in {self.place}: {self.what}"
