"""The checker finds every kind of anomaly that is planted, and nothing where nothing is wrong."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from exactly_once.checker.anomalies import Kind
from exactly_once.checker.check import check
from exactly_once.checker.history import History, add_events, read_history
from exactly_once.checker.perfect_kafka import INPUTS, OUTPUTS, Event, PerfectKafka, random_history

Plant = Callable[[list[Event], Random], list[Event] | None]
SEEDS = st.integers(0, 2**32)


def found(events: list[Event]) -> list[Kind]:
    history = History()
    add_events(history, events)
    return [anomaly.kind for anomaly in check(history)]


@settings(max_examples=200, deadline=None)
@given(SEEDS, st.integers(0, 150))
def test_nothing_is_found_in_a_history_of_a_broker_that_does_no_wrong(
    seed: int, steps: int
) -> None:
    assert found(random_history(Random(seed), steps)) == []


# --- what is planted ----------------------------------------------------------------------------


def _polls(events: list[Event], *, committed: bool = True) -> list[Event]:
    return [e for e in events if e["e"] == "poll" and e["committed"] is committed and e["records"]]


def _committed(events: list[Event]) -> list[str]:
    asked = {e["txn"] for e in events if e["e"] == "end" and e["commit"]}
    return [e["txn"] for e in events if e["e"] == "ended" and not e["error"] and e["txn"] in asked]


def _values(events: list[Event], transactions: list[str]) -> list[str]:
    return [e["value"] for e in events if e["e"] == "send" and e["txn"] in transactions]


def _hide(events: list[Event], value: str) -> list[Event]:
    """Nobody has read it."""
    for event in events:
        if event["e"] == "poll":
            event["records"] = [each for each in event["records"] if each[1] != value]
    return events


def plant_lost_write(events: list[Event], random: Random) -> list[Event] | None:
    values = _values(events, _committed(events))
    return _hide(events, random.choice(values)) if values else None


def plant_unseen(events: list[Event], random: Random) -> list[Event] | None:
    """Nobody has come to the last record of a partition."""
    kept = [e for e in events if e["e"] != "drained"]
    values = _values(events, _committed(events))
    last = [
        poll["records"][-1][1] for poll in _polls(kept)
        if poll["session"] == "last" and poll["records"][-1][1] in values
    ]  # fmt: skip
    return _hide(kept, random.choice(last)) if last else None


def plant_aborted_read(events: list[Event], random: Random) -> list[Event] | None:
    asked = {e["txn"] for e in events if e["e"] == "end" and e["commit"]}
    aborted = {e["txn"] for e in events if e["e"] == "begin"} - asked
    acked = [e for e in events if e["e"] == "acked" and e["txn"] in aborted]
    if not acked:
        return None
    read = random.choice(acked)
    sent = next(e for e in events if e["e"] == "send" and e["value"] == read["value"])
    at = {"topic": sent["topic"], "partition": sent["partition"], "at": events[-1]["at"] + 1}
    records = [[read["offset"], read["value"]]]
    poll = {"e": "poll", "session": "planted", "committed": True, "records": records}
    return [*events, poll | at]


def plant_partial_read(events: list[Event], random: Random) -> list[Event] | None:
    unanswered = [e["txn"] for e in events if e["e"] == "ended" and e["error"]]
    read = {value for poll in _polls(events) for _, value in poll["records"]}
    several = [
        values for txn in unanswered
        if len(values := [v for v in _values(events, [txn]) if v in read]) > 1
    ]  # fmt: skip
    return _hide(events, random.choice(random.choice(several))) if several else None


def plant_unwritten_read(events: list[Event], random: Random) -> list[Event] | None:
    polls = _polls(events) + _polls(events, committed=False)
    if not polls:
        return None
    random.choice(random.choice(polls)["records"])[1] = "nobody's"
    return events


def plant_duplicate(events: list[Event], random: Random) -> list[Event] | None:
    """A record is read once more at the end of its partition."""
    last = [poll for poll in _polls(events) if poll["session"] == "last"]
    if not last:
        return None
    poll = random.choice(last)
    _, value = random.choice(poll["records"])
    poll["records"].append([poll["records"][-1][0] + 10, value])
    return events


def plant_inconsistent_offsets(events: list[Event], random: Random) -> list[Event] | None:
    """Two readers see two records change places."""
    last = [p for p in _polls(events) if p["session"] == "last" and len(p["records"]) > 1]
    if not last:
        return None
    poll = copy.deepcopy(random.choice(last))
    first, second = random.sample(poll["records"], 2)
    first[1], second[1] = second[1], first[1]
    return [*events, poll | {"session": "planted"}]


def plant_poll_skip(events: list[Event], random: Random) -> list[Event] | None:
    polls = [poll for poll in _polls(events) if len(poll["records"]) > 2]
    if not polls:
        return None
    poll = copy.deepcopy(random.choice(polls))
    del poll["records"][random.randrange(1, len(poll["records"]) - 1)]
    return [*events, poll | {"session": "planted"}]


def plant_skipped_start(events: list[Event], random: Random) -> list[Event] | None:
    polls = [poll for poll in _polls(events) if len(poll["records"]) > 1]
    if not polls:
        return None
    poll = copy.deepcopy(random.choice(polls)) | {"session": "planted"}
    offset, _ = poll["records"].pop(0)
    return [*events, poll | {"e": "start", "offset": offset}, poll]


def plant_non_monotonic_poll(events: list[Event], random: Random) -> list[Event] | None:
    polls = _polls(events) + _polls(events, committed=False)
    if not polls:
        return None
    poll = random.choice(polls)
    return [*events, copy.deepcopy(poll) | {"at": events[-1]["at"] + 1}]


def _swap(events: list[Event], first: str, second: str) -> list[Event]:
    """Two records of one partition have always been in each other's place."""
    other = {first: second, second: first}
    offsets = {e["value"]: e["offset"] for e in events if e["e"] == "acked"}
    for event in events:
        if event["e"] == "acked" and event["value"] in other:
            event["offset"] = offsets[other[event["value"]]]
        for record in event.get("records", ()):
            record[1] = other.get(record[1], record[1])
    return events


def _acked_by_place(events: list[Event]) -> dict[tuple[str, int], list[Event]]:
    places = {e["value"]: (e["topic"], e["partition"]) for e in events if e["e"] == "send"}
    acked: dict[tuple[str, int], list[Event]] = {}
    for event in events:
        if event["e"] == "acked":
            acked.setdefault(places[event["value"]], []).append(event)
    return acked


def plant_non_monotonic_send(events: list[Event], random: Random) -> list[Event] | None:
    pairs = [
        (first["value"], second["value"])
        for acked in _acked_by_place(events).values()
        for first, second in itertools.pairwise(acked)
        if first["txn"] == second["txn"]
    ]
    return _swap(events, *random.choice(pairs)) if pairs else None


def plant_write_cycle(events: list[Event], random: Random) -> list[Event] | None:
    begun = {e["txn"]: e["at"] for e in events if e["e"] == "begin"}
    pairs = [
        (first["value"], second["value"])
        for acked in _acked_by_place(events).values()
        for index, first in enumerate(acked)
        for second in acked[index + 1 :]
        if first["at"] < begun[second["txn"]]
    ]
    return _swap(events, *random.choice(pairs)) if pairs else None


def plant_unstable_read(events: list[Event], random: Random) -> list[Event] | None:
    """A record is read by read_committed as soon as it is written, behind an open transaction."""
    kafka = PerfectKafka()
    place = random.choice(INPUTS)
    kafka.send("slow", place)
    for _ in range(random.randrange(1, 4)):
        kafka.send("quick", place)
    kafka.end("quick", commit=True)
    records = [(offset, value) for offset, value in enumerate(kafka.logs[place][1:], 1) if value]
    kafka.read("planted", place, 1, records, committed=True)
    kafka.end("slow", commit=random.random() < 0.5)
    kafka.drain()
    return kafka.events


def plant_unstable_answer(events: list[Event], random: Random) -> list[Event] | None:
    """A last stable offset is told that is above a record whose transaction is open."""
    end_at = {e["txn"]: e["at"] for e in reversed(events) if e["e"] == "end"}
    committed = _committed(events)
    places = {e["value"]: e for e in events if e["e"] == "send"}
    acked = [e for e in events if e["e"] == "acked" and e["txn"] in committed]
    if not acked:
        return None
    write = random.choice(acked)
    sent = places[write["value"]]
    told = {"offset": write["offset"] + 1, "at": end_at[write["txn"]] - 1}
    return [*events, {"e": "stable", "topic": sent["topic"], "partition": sent["partition"]} | told]


def _moved(events: list[Event]) -> list[str]:
    sends = {e["value"]: e for e in events if e["e"] == "send"}
    read = {value for poll in _polls(events) for _, value in poll["records"]}
    return [value for value in read if value in sends and sends[value]["source"]]


def plant_lost_move(events: list[Event], random: Random) -> list[Event] | None:
    moved = _moved(events)
    if not moved:
        return None
    value = random.choice(sorted(moved))
    events = [e for e in events if e.get("value") != value]
    return _hide(events, value)


def plant_duplicate_move(events: list[Event], random: Random) -> list[Event] | None:
    sends = {e["value"]: e for e in events if e["e"] == "send"}
    moved = sorted(_moved(events))
    if len(moved) < 2:
        return None
    first, second = random.sample(moved, 2)
    sends[first]["source"] = sends[second]["source"]
    return events


PLANTS: list[tuple[Kind, Plant]] = [
    (Kind.LOST_WRITE, plant_lost_write),
    (Kind.UNSEEN, plant_unseen),
    (Kind.ABORTED_READ, plant_aborted_read),
    (Kind.PARTIAL_READ, plant_partial_read),
    (Kind.UNWRITTEN_READ, plant_unwritten_read),
    (Kind.DUPLICATE, plant_duplicate),
    (Kind.INCONSISTENT_OFFSETS, plant_inconsistent_offsets),
    (Kind.POLL_SKIP, plant_poll_skip),
    (Kind.POLL_SKIP, plant_skipped_start),
    (Kind.NON_MONOTONIC_POLL, plant_non_monotonic_poll),
    (Kind.NON_MONOTONIC_SEND, plant_non_monotonic_send),
    (Kind.WRITE_CYCLE, plant_write_cycle),
    (Kind.UNSTABLE_READ, plant_unstable_read),
    (Kind.UNSTABLE_READ, plant_unstable_answer),
    (Kind.LOST_MOVE, plant_lost_move),
    (Kind.DUPLICATE_MOVE, plant_duplicate_move),
]


@pytest.mark.parametrize(("kind", "plant"), PLANTS, ids=[plant.__name__ for _, plant in PLANTS])
@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_a_planted_anomaly_is_found(kind: Kind, plant: Plant, seed: int) -> None:
    random = Random(seed)
    planted = plant(random_history(random, 120), random)
    assume(planted is not None)
    assert planted is not None
    assert kind in found(planted)


def test_every_kind_of_anomaly_is_planted() -> None:
    assert {kind for kind, _ in PLANTS} == set(Kind)


# --- what is no anomaly -------------------------------------------------------------------------


def test_transactions_that_overlap_may_be_in_either_order_in_each_partition() -> None:
    kafka = PerfectKafka()
    first, second = INPUTS
    for producer, place in [("a", first), ("b", first), ("b", second), ("a", second)]:
        kafka.send(producer, place)
    kafka.end("a", commit=True)
    kafka.end("b", commit=True)
    kafka.drain()
    assert found(kafka.events) == []


@pytest.mark.parametrize("happened", [True, False])
def test_a_commit_without_an_answer_may_have_happened_or_not(happened: bool) -> None:
    kafka = PerfectKafka()
    for place in INPUTS:
        kafka.send("writer", place)
    kafka.note("end", txn=kafka.open["writer"].name, commit=True)
    kafka.finish("writer", commit=happened)
    kafka.drain()
    assert found(kafka.events) == []


def test_a_transaction_that_ran_out_of_time_holds_nobody_back() -> None:
    kafka = PerfectKafka()
    kafka.send("slow", OUTPUTS[0])
    slow = kafka.open["slow"].name
    kafka.finish("slow", commit=False)
    kafka.send("quick", OUTPUTS[0])
    kafka.end("quick", commit=True)
    kafka.poll("reader", OUTPUTS[0], 5, committed=True)
    kafka.note("end", txn=slow, commit=False)
    kafka.note("ended", txn=slow, error="fenced")
    kafka.drain()
    assert found(kafka.events) == []


def test_a_file_whose_last_line_was_cut_off_is_read_up_to_there(tmp_path: Path) -> None:
    path = tmp_path / "writer.jsonl"
    whole = '{"e":"begin","txn":"t","id":"i","process":"p","timeout_ms":1,"at":1}\n'
    path.write_text(whole + '{"e":"end","txn":"t","com')
    history = read_history([path])
    assert history.transactions["t"].ends == []
