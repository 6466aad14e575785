"""Does the last stable offset stay behind every open transaction?

A record at offset o of a transaction whose end nobody has asked for yet holds it at o, from the
time at which it is in the log. Whoever was told of something above o, be it a record or the last
stable offset, was told so when o was in the log: the log is written in order.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from exactly_once.checker.anomalies import Anomaly, Kind
from exactly_once.checker.history import History, Place
from exactly_once.checker.seen import Seen, placed_writes


class _Holds(NamedTuple):
    """Of one partition: offsets in order, and up to each the latest end and whose it is."""

    offsets: list[int]
    latest: list[tuple[int, str]]

    def over(self, offset: int, at: int) -> str | None:
        """The record below `offset` whose transaction was still open at that time."""
        index = bisect_left(self.offsets, offset) - 1
        if index < 0 or self.latest[index][0] <= at:
            return None
        return self.latest[index][1]


def check_stability(history: History, seen: Seen) -> Iterator[Anomaly]:
    """Reads of committed data, and answers about the last stable offset, past a transaction."""
    holds = _holds(history, seen)
    nothing = _Holds([], [])
    for poll in history.polls:
        if not poll.is_committed or not poll.records:
            continue
        offset, value = poll.records[-1]
        holder = holds.get(poll.place, nothing).over(offset, poll.at)
        if holder is not None:
            what = f"{poll.session} was given {value} ({offset}) while {holder} was not ended"
            yield Anomaly(Kind.UNSTABLE_READ, poll.place, (value, holder), what)
    for place, offset, at in history.stable:
        holder = holds.get(place, nothing).over(offset, at)
        if holder is not None:
            what = f"the last stable offset was {offset} while {holder} was not ended"
            yield Anomaly(Kind.UNSTABLE_READ, place, (holder,), what)


def _holds(history: History, seen: Seen) -> dict[Place, _Holds]:
    holds: dict[Place, _Holds] = defaultdict(lambda: _Holds([], []))
    for place, offset, transaction, send in placed_writes(history, seen):
        until = transaction.open_until
        if until is None:
            continue
        each = holds[place]
        each.offsets.append(offset)
        each.latest.append(max([*each.latest[-1:], (until, send.value)]))
    return holds
