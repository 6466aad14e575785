"""What happened, as those who saw it wrote it down; JSON lines, from any number of files.

Times are nanoseconds of one monotonic clock. A value is `producer/number`, and its producer sends
each number once: what is in a log twice was not sent twice.

    {"e": "producer", "p": P, "kind": "plain" or "idempotent", "t": TOPIC, "keeps_order": true}
    {"e": "acked", "p": P, "n": NUMBER, "q": PARTITION, "o": OFFSET or -1, "at": NS}
    {"e": "failed", "p": P, "n": NUMBER, "error": TEXT}        nobody knows what became of it
    {"e": "sent", "p": P, "count": N}
    {"e": "poll", "c": CONSUMER, "g": GROUP, "t": T, "q": Q, "r": [[OFFSET, VALUE], ...]}
    {"e": "committed", "c": C, "g": G, "t": T, "q": Q, "o": OFFSET, "at": NS}     was answered
    {"e": "resumed", "c": C, "g": G, "t": T, "q": Q, "o": OFFSET, "asked": NS}
    {"e": "trouble", "c": C, "error": TEXT}                                       for people
    {"e": "state", "t": T, "q": Q, "leader": ID, "leader_epoch": N, "isr": [ID, ...],
     "replicas": [ID, ...], "controller_epoch": N}                      a state znode, in order
    {"e": "final", "t": T, "q": Q, "r": [[OFFSET, VALUE], ...], "end": OFFSET}
    {"e": "group", "g": G, "t": T, "q": Q, "o": OFFSET, "asked": NS}      at the very end
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from exactly_once.checker.history import Place

Event = dict[str, Any]
Records = list[tuple[int, str]]


class Ack(NamedTuple):
    """A record that was acknowledged; `offset` is -1 where the client did not say."""

    number: int
    partition: int
    offset: int
    at: int


@dataclass
class Producer:
    """One start of a producer."""

    name: str
    is_idempotent: bool
    topic: str
    keeps_order: bool = True
    acked: list[Ack] = field(default_factory=list)
    failed: dict[int, str] = field(default_factory=dict)


class Poll(NamedTuple):
    """Records of one partition that a member of a group was given at once."""

    consumer: str
    group: str
    place: Place
    records: Records


class Offset(NamedTuple):
    """A committed offset: that was answered, or that was found, at a time."""

    consumer: str
    group: str
    place: Place
    offset: int
    at: int


class State(NamedTuple):
    """What a state znode said."""

    place: Place
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    controller_epoch: int


@dataclass
class History:
    """All of it. `final` is what was read at the end, `ends` where each partition ends."""

    producers: dict[str, Producer] = field(default_factory=dict)
    polls: list[Poll] = field(default_factory=list)
    committed: list[Offset] = field(default_factory=list)
    found: list[Offset] = field(default_factory=list)
    states: list[State] = field(default_factory=list)
    final: dict[Place, Records] = field(default_factory=dict)
    ends: dict[Place, int] = field(default_factory=dict)
    groups: dict[tuple[str, Place], int] = field(default_factory=lambda: defaultdict(int))


def read_history(paths: Iterable[Path]) -> History:
    """Read the files; the last line of a killed process may be cut off."""
    history = History()
    for path in paths:
        add_events(history, _events(path.read_text()))
    return history


def _events(text: str) -> Iterator[Event]:
    lines = text.split("\n")
    for line in lines[:-1]:
        yield json.loads(line)


def add_events(history: History, events: Iterable[Event]) -> None:
    """Take in events, in the order in which they were written."""
    for event in events:
        if (add := _ADD.get(event["e"])) is not None:
            add(history, event)


def _place(event: Event) -> Place:
    return Place(event["t"], event["q"])


def _records(event: Event) -> Records:
    return [(offset, value) for offset, value in event["r"]]


def _producer(history: History, event: Event) -> None:
    kind, order = event["kind"] == "idempotent", event.get("keeps_order", True)
    history.producers[event["p"]] = Producer(event["p"], kind, event["t"], order)


def _acked(history: History, event: Event) -> None:
    ack = Ack(event["n"], event["q"], event["o"], event["at"])
    history.producers[event["p"]].acked.append(ack)


def _failed(history: History, event: Event) -> None:
    history.producers[event["p"]].failed[event["n"]] = event["error"]


def _poll(history: History, event: Event) -> None:
    history.polls.append(Poll(event["c"], event["g"], _place(event), _records(event)))


def _offset(event: Event, at: str) -> Offset:
    return Offset(event.get("c", "final"), event["g"], _place(event), event["o"], event[at])


def _committed(history: History, event: Event) -> None:
    history.committed.append(_offset(event, "at"))


def _resumed(history: History, event: Event) -> None:
    history.found.append(_offset(event, "asked"))


def _state(history: History, event: Event) -> None:
    ids = tuple(event["isr"]), tuple(event["replicas"])
    epochs = event["leader_epoch"], *ids, event["controller_epoch"]
    history.states.append(State(_place(event), event["leader"], *epochs))


def _final(history: History, event: Event) -> None:
    history.final[_place(event)] = _records(event)
    history.ends[_place(event)] = event["end"]


def _group(history: History, event: Event) -> None:
    history.groups[event["g"], _place(event)] = event["o"]
    history.found.append(_offset(event, "asked"))


_ADD: dict[str, Callable[[History, Event], None]] = {
    "producer": _producer,
    "acked": _acked,
    "failed": _failed,
    "poll": _poll,
    "committed": _committed,
    "resumed": _resumed,
    "state": _state,
    "final": _final,
    "group": _group,
}
