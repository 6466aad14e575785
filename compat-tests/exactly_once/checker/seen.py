"""What readers saw, arranged for questions: by record, by partition, by session."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from exactly_once.checker.history import History, Place, Poll, Send, Transaction


@dataclass
class Seen:
    """The reads of a history, and every write by its value.

    `visible` and `stored` are the places of each value: as read_committed saw them, and as
    anybody did. `furthest` is the highest offset that read_committed was given of a partition.
    """

    writes: dict[str, tuple[Transaction, Send]] = field(default_factory=dict)
    visible: dict[str, set[tuple[Place, int]]] = field(default_factory=dict)
    stored: dict[str, set[tuple[Place, int]]] = field(default_factory=dict)
    furthest: dict[Place, int] = field(default_factory=dict)
    sessions: dict[tuple[str, bool, Place], list[Poll]] = field(default_factory=dict)

    def offset_of(self, send: Send) -> int | None:
        """Where a record is: as it was acknowledged, or else as somebody has read it."""
        if send.offset is not None:
            return send.offset
        offsets = [o for place, o in self.stored.get(send.value, ()) if place == send.place]
        return min(offsets, default=None)

    def is_visible(self, send: Send) -> bool:
        return send.value in self.visible


def arrange(history: History) -> Seen:
    """Go through a history once."""
    seen = Seen()
    for transaction, send in history.sends():
        seen.writes[send.value] = transaction, send
    visible, stored = defaultdict(set), defaultdict(set)
    sessions = defaultdict(list)
    for poll in history.polls:
        sessions[poll.session, poll.is_committed, poll.place].append(poll)
        for offset, value in poll.records:
            stored[value].add((poll.place, offset))
            if poll.is_committed:
                visible[value].add((poll.place, offset))
                furthest = seen.furthest.get(poll.place, -1)
                seen.furthest[poll.place] = max(furthest, offset)
    seen.visible, seen.stored, seen.sessions = dict(visible), dict(stored), dict(sessions)
    return seen


def placed_writes(history: History, seen: Seen) -> Iterator[tuple[Place, int, Transaction, Send]]:
    """Every write whose offset is known, by partition and offset."""
    found = []
    for transaction, send in history.sends():
        offset = seen.offset_of(send)
        if offset is not None:
            found.append((send.place, offset, transaction, send))
    yield from sorted(found, key=lambda write: write[:2])
