"""What may be wrong with a history, by name."""

from __future__ import annotations

import enum
from typing import NamedTuple

from exactly_once.checker.history import Place


class Kind(enum.Enum):
    """Jepsen's names, where it has one."""

    LOST_WRITE = "lost write"
    UNSEEN = "unseen"
    ABORTED_READ = "aborted read (G1a)"
    PARTIAL_READ = "partial read"
    UNWRITTEN_READ = "unwritten read"
    WRITE_CYCLE = "write cycle (G0)"
    DUPLICATE = "duplicate"
    INCONSISTENT_OFFSETS = "inconsistent offsets"
    POLL_SKIP = "poll skip"
    NON_MONOTONIC_POLL = "non-monotonic poll"
    NON_MONOTONIC_SEND = "non-monotonic send"
    UNSTABLE_READ = "read past an open transaction"
    LOST_MOVE = "lost move"
    DUPLICATE_MOVE = "duplicate move"


class Anomaly(NamedTuple):
    """One thing that must not be. `values` are the records concerned, `what` is for people."""

    kind: Kind
    place: Place
    values: tuple[str, ...]
    what: str

    def __str__(self) -> str:
        return f"{self.kind.value} in {self.place}: {self.what}"
