"""Is everything that was committed there to be read, and nothing else?

A transaction whose end is not known is all there or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator

from exactly_once.checker.anomalies import Anomaly, Kind
from exactly_once.checker.history import History, Outcome, Send, Transaction
from exactly_once.checker.seen import Seen


def check_visibility(history: History, seen: Seen) -> Iterator[Anomaly]:
    """Lost writes, unseen ones, partial reads."""
    for transaction in history.transactions.values():
        missing = [send for send in transaction.sends if not seen.is_visible(send)]
        if transaction.outcome is Outcome.COMMITTED:
            yield from (_missing(history, seen, transaction, send) for send in missing)
        elif transaction.outcome is Outcome.UNKNOWN and len(missing) < len(transaction.sends):
            for send in missing:
                if _was_passed(history, seen, send):
                    yield _partial(transaction, send)


def _missing(history: History, seen: Seen, transaction: Transaction, send: Send) -> Anomaly:
    passed = _was_passed(history, seen, send)
    kind = Kind.LOST_WRITE if passed else Kind.UNSEEN
    offset = seen.offset_of(send)
    what = f"{send.value} (offset {offset}) of {transaction.name}, committed, was never read"
    return Anomaly(kind, send.place, (send.value,), what)


def _was_passed(history: History, seen: Seen, send: Send) -> bool:
    """Whether a reader would have met the record, were it there."""
    offset = seen.offset_of(send)
    furthest = seen.furthest.get(send.place, -1)
    return send.place in history.drained or (offset is not None and offset < furthest)


def _partial(transaction: Transaction, send: Send) -> Anomaly:
    what = f"{send.value} was never read, others of {transaction.name} were"
    return Anomaly(Kind.PARTIAL_READ, send.place, (send.value,), what)


def check_reads(history: History, seen: Seen) -> Iterator[Anomaly]:
    """Aborted reads, and reads of what nobody wrote."""
    for value, places in seen.stored.items():
        place, offset = min(places)
        if value not in seen.writes:
            what = f"offset {offset} holds {value}, which nobody wrote"
            yield Anomaly(Kind.UNWRITTEN_READ, place, (value,), what)
            continue
        transaction, _ = seen.writes[value]
        if transaction.outcome is Outcome.ABORTED and value in seen.visible:
            what = f"{value} at offset {offset} of {transaction.name}, never committed, was read"
            yield Anomaly(Kind.ABORTED_READ, place, (value,), what)
