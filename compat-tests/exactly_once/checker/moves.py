"""Was every record moved once, as the group's committed offsets say?

A mover reads records of one topic, writes one for each to another and commits its group's
offsets, all in a transaction. So every record below a group's committed offset has one successor
to be read, and none has two.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from exactly_once.checker.anomalies import Anomaly, Kind
from exactly_once.checker.history import History, Place
from exactly_once.checker.seen import Seen


def check_moves(history: History, seen: Seen) -> Iterator[Anomaly]:
    """Records that were moved twice, or passed over."""
    successors = _successors(history, seen)
    for (_, source), moved in successors.items():
        if len(moved) > 1:
            place, _ = min(seen.stored.get(source, {(Place("?", 0), 0)}))
            what = f"{source} was moved as {' and as '.join(moved)}"
            yield Anomaly(Kind.DUPLICATE_MOVE, place, (source, *moved), what)
    by_place = defaultdict(list)
    for value, places in seen.visible.items():
        for place, offset in places:
            by_place[place].append((offset, value))
    for (group, place), committed in history.groups.items():
        for offset, value in sorted(by_place[place]):
            if offset < committed and (group, value) not in successors:
                what = (
                    f"{value} (offset {offset}) was not moved by {group}, which is at {committed}"
                )
                yield Anomaly(Kind.LOST_MOVE, place, (value,), what)


def _successors(history: History, seen: Seen) -> dict[tuple[str, str], list[str]]:
    """By group and value: what was written for it and can be read."""
    successors = defaultdict(list)
    for transaction, send in history.sends():
        if send.source is not None and seen.is_visible(send):
            for group in {group for group, _ in transaction.offsets}:
                successors[group, send.source].append(send.value)
    return dict(successors)
