"""Whose fault is it? What the broker has stored tells its faults from those of clients.

Clients have some of their own: librdkafka has sent records of an aborted transaction in the next
one and under a new epoch once more, kafka-python has committed without records that had expired.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from exactly_once.checker.anomalies import Anomaly, Kind
from exactly_once.checker.history import History, Outcome, Place, Send, Transaction

COMMIT, ABORT, OPEN = "COMMIT", "ABORT", "open"
MISSING = (Kind.LOST_WRITE, Kind.UNSEEN, Kind.PARTIAL_READ)


class Stored(NamedTuple):
    """A record in a log. `ended_at` is its marker's offset, `fate` what that says."""

    value: str
    place: Place
    offset: int
    producer_id: int
    producer_epoch: int
    sequence: int
    fate: str
    ended_at: int

    def __str__(self) -> str:
        producer = f"producer {self.producer_id}, epoch {self.producer_epoch}"
        fate = f"{self.fate} at {self.ended_at}" if self.fate != OPEN else OPEN
        return f"{self.place} {self.offset}: {producer}, sequence {self.sequence}, {fate}"


Log = Mapping[str, Sequence[Stored]]


class Verdict(NamedTuple):
    """Whose fault an anomaly is ("broker", "client", "unclear"), and why."""

    whose: str
    why: str

    def __str__(self) -> str:
        return f"{self.whose}: {self.why}"


def blame(anomaly: Anomaly, history: History, log: Log) -> Verdict:
    """What the log says about an anomaly."""
    writes = {send.value: (transaction, send) for transaction, send in history.sends()}
    value = anomaly.values[0]
    transaction, send = writes.get(value, (None, None))
    copies = log.get(value, ())
    if transaction is None or send is None:
        return Verdict("broker", "nobody wrote it")
    if anomaly.kind in MISSING:
        return _of_missing(send, copies)
    if anomaly.kind is Kind.DUPLICATE:
        return _of_duplicate(copies)
    if anomaly.kind is Kind.ABORTED_READ:
        return _of_aborted(transaction, copies, log, writes)
    if anomaly.kind is Kind.NON_MONOTONIC_SEND:
        return _of_order(copies, log.get(anomaly.values[1], ()))
    return Verdict("unclear", "the log cannot tell")


def _of_missing(send: Send, copies: Sequence[Stored]) -> Verdict:
    if not copies:
        if send.acked_at is None:
            return Verdict("client", "committed without it: never acknowledged, nor stored")
        return Verdict("broker", "acknowledged, but not in the log")
    fates = {copy.fate for copy in copies}
    if COMMIT in fates:
        return Verdict("broker", "committed in the log, but not given to readers")
    return Verdict("broker", f"in the log, but {' and '.join(sorted(fates))} there")


def _of_duplicate(copies: Sequence[Stored]) -> Verdict:
    marks = [(copy.producer_id, copy.producer_epoch, copy.sequence) for copy in copies]
    if len(set(marks)) < len(marks):
        return Verdict("broker", "the same sequence number was stored twice")
    if len(marks) > 1:
        return Verdict("client", "sent twice, under two sequence numbers or epochs")
    return Verdict("broker", "once in the log, read twice")


def _of_aborted(
    transaction: Transaction,
    copies: Sequence[Stored],
    log: Log,
    writes: Mapping[str, tuple[Transaction, Send]],
) -> Verdict:
    """A client that sent it too late has sent it among records of its next transaction."""
    committed = {(c.place, c.producer_id, c.ended_at) for c in copies if c.fate == COMMIT}
    if not committed:
        return Verdict("broker", "aborted in the log, and yet read")
    for value, others in log.items():
        other = writes[value][0] if value in writes else transaction
        if other.process == transaction.process and other.outcome is not Outcome.ABORTED:
            for copy in others:
                if (copy.place, copy.producer_id, copy.ended_at) in committed:
                    return Verdict("client", f"it was sent along with {value}, of {other.name}")
    return Verdict("broker", "committed in the log, and nobody asked for that")


def _of_order(copies: Sequence[Stored], before: Sequence[Stored]) -> Verdict:
    for copy in copies:
        for other in before:
            same = copy[3:5] == other[3:5]
            if same and (copy.offset < other.offset) != (copy.sequence < other.sequence):
                return Verdict("broker", "the sequence numbers are in the other order")
    return Verdict("client", "it numbered them in this order")
