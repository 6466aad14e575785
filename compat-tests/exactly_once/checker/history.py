"""What happened, as the clients wrote it down: transactions, reads, and what was asked at the end.

A history is JSON lines, one event each, from any number of files; those of one process are in
order. Times are nanoseconds of one monotonic clock for all processes. A client writes an event
*before* it makes the call that the event is about, so that a process killed in the middle has
told what it may have done. What is not known (no acknowledgement, no answer) is None.

    {"e": "begin", "txn": T, "id": TRANSACTIONAL_ID, "process": P, "timeout_ms": N, "at": NS}
    {"e": "send", "txn": T, "value": V, "topic": X, "partition": N, "source": V or null, "at": NS}
    {"e": "acked", "txn": T, "value": V, "offset": N, "at": NS}
    {"e": "offsets", "txn": T, "group": G, "offsets": [[topic, partition, offset], ...]}
    {"e": "trouble", "txn": T, "error": text}                           for people
    {"e": "end", "txn": T, "commit": true, "at": NS}
    {"e": "ended", "txn": T, "error": null or text, "at": NS}
    {"e": "start", "session": S, "topic": X, "partition": N, "offset": N}
    {"e": "poll", "session": S, "committed": true, "topic": X, "partition": N,
     "records": [[offset, value], ...], "at": NS}
    {"e": "drained", "topic": X, "partition": N, "end": N}
    {"e": "stable", "topic": X, "partition": N, "offset": N, "at": NS}
    {"e": "group", "group": G, "topic": X, "partition": N, "offset": N}
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple


class Place(NamedTuple):
    """A partition."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Outcome(enum.Enum):
    """What became of a transaction as far as its client can know."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


@dataclass
class Send:
    """One record of a transaction. `source` is the value of the record that it moves."""

    value: str
    place: Place
    sent_at: int
    source: str | None = None
    offset: int | None = None
    acked_at: int | None = None


@dataclass
class End:
    """One call that was to end a transaction; `answered_at` is None if it never returned."""

    is_commit: bool
    asked_at: int
    answered_at: int | None = None
    error: str | None = None

    @property
    def is_done(self) -> bool:
        return self.answered_at is not None and self.error is None


@dataclass
class Transaction:
    """What a client did between begin and end."""

    name: str
    transactional_id: str
    process: str
    began_at: int
    timeout_ms: int
    sends: list[Send] = field(default_factory=list)
    offsets: dict[tuple[str, Place], int] = field(default_factory=dict)
    ends: list[End] = field(default_factory=list)

    @property
    def outcome(self) -> Outcome:
        """Committed only if a commit was answered; aborted if none was ever asked for."""
        commits = [end for end in self.ends if end.is_commit]
        if any(end.is_done for end in commits):
            return Outcome.COMMITTED
        return Outcome.UNKNOWN if commits else Outcome.ABORTED

    @property
    def open_until(self) -> int | None:
        """When its end was first asked for, if it was certainly open up to then.

        One that its client did not end, or aborted only after its time was over, may have been
        aborted by the broker before.
        """
        if not any(end.is_done for end in self.ends):
            return None
        asked_at = self.ends[0].asked_at
        in_time = asked_at < self.began_at + self.timeout_ms * 1_000_000
        return asked_at if in_time or self.outcome is Outcome.COMMITTED else None


class Poll(NamedTuple):
    """Records of one partition that a reader was given at once.

    In a session a reader goes through a partition without a new position.
    """

    session: str
    is_committed: bool
    place: Place
    records: tuple[tuple[int, str], ...]
    at: int


class StableOffset(NamedTuple):
    """An answer to "where is the last stable offset?", received at `at`."""

    place: Place
    offset: int
    at: int


@dataclass
class History:
    """All of it. `drained` are the ends up to which read_committed has read at last."""

    transactions: dict[str, Transaction] = field(default_factory=dict)
    polls: list[Poll] = field(default_factory=list)
    starts: dict[tuple[str, Place], int] = field(default_factory=dict)
    drained: dict[Place, int] = field(default_factory=dict)
    stable: list[StableOffset] = field(default_factory=list)
    groups: dict[tuple[str, Place], int] = field(default_factory=dict)

    def sends(self) -> Iterator[tuple[Transaction, Send]]:
        """Every record that somebody tried to write."""
        for transaction in self.transactions.values():
            for send in transaction.sends:
                yield transaction, send


def read_history(paths: Iterable[Path]) -> History:
    """Read the files; the last line of a killed process may be cut off."""
    history = History()
    for path in paths:
        add_events(history, _events(path.read_text()))
    return history


def _events(text: str) -> Iterator[dict[str, Any]]:
    lines = text.split("\n")
    for line in lines[:-1]:
        yield json.loads(line)


def add_events(history: History, events: Iterable[dict[str, Any]]) -> None:
    """Take in events, in the order in which their processes wrote them."""
    for event in events:
        if event["e"] != "trouble":
            _ADD[event["e"]](history, event)


def _place(event: dict[str, Any]) -> Place:
    return Place(event["topic"], event["partition"])


def _begin(history: History, event: dict[str, Any]) -> None:
    history.transactions[event["txn"]] = Transaction(
        event["txn"], event["id"], event["process"], event["at"], event["timeout_ms"]
    )


def _send(history: History, event: dict[str, Any]) -> None:
    send = Send(event["value"], _place(event), event["at"], event.get("source"))
    history.transactions[event["txn"]].sends.append(send)


def _acked(history: History, event: dict[str, Any]) -> None:
    for send in history.transactions[event["txn"]].sends:
        if send.value == event["value"]:
            send.acked_at = event["at"]
            send.offset = event["offset"] if event["offset"] >= 0 else None


def _offsets(history: History, event: dict[str, Any]) -> None:
    offsets = history.transactions[event["txn"]].offsets
    for topic, partition, offset in event["offsets"]:
        offsets[event["group"], Place(topic, partition)] = offset


def _end(history: History, event: dict[str, Any]) -> None:
    history.transactions[event["txn"]].ends.append(End(event["commit"], event["at"]))


def _ended(history: History, event: dict[str, Any]) -> None:
    end = history.transactions[event["txn"]].ends[-1]
    end.answered_at, end.error = event["at"], event["error"]


def _start(history: History, event: dict[str, Any]) -> None:
    history.starts[event["session"], _place(event)] = event["offset"]


def _poll(history: History, event: dict[str, Any]) -> None:
    records = tuple((offset, value) for offset, value in event["records"])
    poll = Poll(event["session"], event["committed"], _place(event), records, event["at"])
    history.polls.append(poll)


def _drained(history: History, event: dict[str, Any]) -> None:
    history.drained[_place(event)] = event["end"]


def _stable(history: History, event: dict[str, Any]) -> None:
    history.stable.append(StableOffset(_place(event), event["offset"], event["at"]))


def _group(history: History, event: dict[str, Any]) -> None:
    history.groups[event["group"], _place(event)] = event["offset"]


_ADD = {
    "begin": _begin,
    "send": _send,
    "acked": _acked,
    "offsets": _offsets,
    "end": _end,
    "ended": _ended,
    "start": _start,
    "poll": _poll,
    "drained": _drained,
    "stable": _stable,
    "group": _group,
}
