"""Is a partition one sequence, the same for everybody, in the order of those who wrote it?

Transactions interleave in Kafka: each may have a record before one of the other's, in different
partitions or in the same. That is no write cycle here. Between transactions that do not overlap
there is an order, that of time, and every partition must keep it; so must it that of the records
of one producer.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator

from exactly_once.checker.anomalies import Anomaly, Kind
from exactly_once.checker.history import History, Outcome, Place, Poll
from exactly_once.checker.seen import Seen, placed_writes

NEVER = float("inf")


def check_places(history: History, seen: Seen) -> Iterator[Anomaly]:
    """Duplicates, and offsets that hold two things or are not those that were told."""
    holders: dict[tuple[Place, int], str] = {}
    for value, places in seen.stored.items():
        if len(places) > 1:
            (place, _), *_ = sorted(places)
            told = ", ".join(f"{at} offset {offset}" for at, offset in sorted(places))
            yield Anomaly(Kind.DUPLICATE, place, (value,), f"{value} is at {told}")
        for place, offset in places:
            other = holders.setdefault((place, offset), value)
            if other != value:
                what = f"offset {offset} holds {other} for one and {value} for another"
                yield Anomaly(Kind.INCONSISTENT_OFFSETS, place, (other, value), what)
    yield from _acknowledged_places(history, seen, holders)


def _acknowledged_places(
    history: History, seen: Seen, holders: dict[tuple[Place, int], str]
) -> Iterator[Anomaly]:
    for _, send in history.sends():
        if send.offset is None:
            continue
        holder = holders.setdefault((send.place, send.offset), send.value)
        if holder != send.value:
            what = f"{send.value} was acknowledged at offset {send.offset}, which holds {holder}"
            yield Anomaly(Kind.INCONSISTENT_OFFSETS, send.place, (send.value, holder), what)
        elif (places := seen.stored.get(send.value)) and (send.place, send.offset) not in places:
            place, offset = min(places)
            what = f"{send.value} was acknowledged at {send.offset} and is at {place} {offset}"
            yield Anomaly(Kind.INCONSISTENT_OFFSETS, send.place, (send.value,), what)


def check_write_order(history: History, seen: Seen) -> Iterator[Anomaly]:
    """Write cycles: acknowledged before the other's transaction began, and yet behind it."""
    by_place = defaultdict(list)
    for place, offset, transaction, send in placed_writes(history, seen):
        by_place[place].append((offset, transaction, send))
    for place, writes in by_place.items():
        first_acked_at, first = NEVER, None
        for offset, transaction, send in reversed(writes):
            if first is not None and first_acked_at < transaction.began_at:
                what = f"{send.value} (offset {offset}) began after {first} was acknowledged"
                yield Anomaly(Kind.WRITE_CYCLE, place, (send.value, first), what)
            if send.acked_at is not None and send.acked_at < first_acked_at:
                first_acked_at, first = send.acked_at, send.value


def check_send_order(history: History, seen: Seen) -> Iterator[Anomaly]:
    """A producer's records of one partition are in the order in which it sent them."""
    last: dict[tuple[str, Place], tuple[int, str]] = {}
    for transaction in sorted(history.transactions.values(), key=lambda each: each.began_at):
        for send in transaction.sends:
            offset = seen.offset_of(send)
            if offset is None:
                continue
            before, value = last.get((transaction.process, send.place), (-1, ""))
            if offset <= before:
                what = f"{send.value} is at {offset}, {value}, sent before it, at {before}"
                kind = Kind.NON_MONOTONIC_SEND
                yield Anomaly(kind, send.place, (send.value, value), what)
            last[transaction.process, send.place] = max((before, value), (offset, send.value))


def check_polls(history: History, seen: Seen) -> Iterator[Anomaly]:
    """Within a session a reader goes forward, and over nothing that is there for it."""
    committed, stored = _known_offsets(history, seen)
    for (session, is_committed, place), polls in seen.sessions.items():
        known = (committed if is_committed else stored).get(place, [])
        start = history.starts.get((session, place))
        yield from _check_session(session, place, polls, known, start)


def _check_session(
    session: str, place: Place, polls: list[Poll], known: list[int], start: int | None
) -> Iterator[Anomaly]:
    last = None if start is None else start - 1
    for offset, value in (record for poll in polls for record in poll.records):
        if last is not None and offset <= last:
            what = f"{session} was given offset {offset} ({value}) after {last}"
            yield Anomaly(Kind.NON_MONOTONIC_POLL, place, (value,), what)
        elif last is not None:
            skipped = known[bisect_right(known, last) : bisect_left(known, offset)]
            if skipped:
                what = f"{session} went from offset {last} to {offset} ({value}) over {skipped[:5]}"
                yield Anomaly(Kind.POLL_SKIP, place, (value,), what)
        last = offset


def _known_offsets(
    history: History, seen: Seen
) -> tuple[dict[Place, list[int]], dict[Place, list[int]]]:
    """Offsets of each partition that hold a record for read_committed, and for anybody."""
    committed, stored = defaultdict(set), defaultdict(set)
    for places in seen.visible.values():
        for place, offset in places:
            committed[place].add(offset)
    for places in seen.stored.values():
        for place, offset in places:
            stored[place].add(offset)
    for transaction, send in history.sends():
        if send.offset is not None:
            stored[send.place].add(send.offset)
            if transaction.outcome is Outcome.COMMITTED:
                committed[send.place].add(send.offset)
    return _in_order(committed), _in_order(stored)


def _in_order(offsets: dict[Place, set[int]]) -> dict[Place, list[int]]:
    return {place: sorted(each) for place, each in offsets.items()}
