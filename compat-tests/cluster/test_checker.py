"""The checker finds every kind of fault that is planted, and nothing where nothing is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cluster.checker.anomalies import Kind
from cluster.checker.check import check
from cluster.checker.history import Event, History, add_events, read_history
from cluster.checker.perfect_cluster import random_history

Plant = Callable[[list[Event], Random], list[Event] | None]
SEEDS = st.integers(0, 2**32)


def found(events: list[Event]) -> list[Kind]:
    history = History()
    add_events(history, events)
    return [anomaly.kind for anomaly in check(history)]


@settings(max_examples=200, deadline=None)
@given(SEEDS, st.integers(0, 200))
def test_nothing_is_found_in_a_history_of_a_cluster_that_does_no_wrong(
    seed: int, steps: int
) -> None:
    assert found(random_history(Random(seed), steps)) == []


# --- what is planted ----------------------------------------------------------------------------


def _of(events: list[Event], kind: str) -> list[Event]:
    return [event for event in events if event["e"] == kind]


def _kinds(events: list[Event]) -> dict[str, str]:
    return {event["p"]: event["kind"] for event in _of(events, "producer")}


def _final_of(events: list[Event], acked: Event) -> Event:
    topic = _kinds(events)[acked["p"]]
    return next(
        each for each in _of(events, "final") if (each["t"], each["q"]) == (topic, acked["q"])
    )


def _acked(events: list[Event], random: Random) -> Event | None:
    acked = _of(events, "acked")
    return random.choice(acked) if acked else None


def plant_lost_record(events: list[Event], random: Random) -> list[Event] | None:
    """Acknowledged, and in nobody's log at the end."""
    if (acked := _acked(events, random)) is None:
        return None
    value = f"{acked['p']}/{acked['n']}"
    for event in events:
        if event["e"] in ("final", "poll"):
            event["r"] = [each for each in event["r"] if each[1] != value]
    return events


def plant_another_offset(events: list[Event], random: Random) -> list[Event] | None:
    acked = [each for each in _of(events, "acked") if each["o"] >= 0]
    if not acked:
        return None
    random.choice(acked)["o"] += 1_000
    return events


def plant_doubled_record(events: list[Event], random: Random) -> list[Event] | None:
    """An idempotent producer's is there once more at the end of its partition."""
    finals = [each for each in _of(events, "final") if each["t"] == "idempotent" and each["r"]]
    if not finals:
        return None
    final = random.choice(finals)
    final["r"].append([final["end"] + 7, random.choice(final["r"])[1]])
    return events


def plant_reordered_records(events: list[Event], random: Random) -> list[Event] | None:
    """Two records of one producer have always been in each other's place."""
    pairs = []
    acked = _of(events, "acked")
    for one in acked:
        for two in acked:
            if (one["p"], one["q"]) == (two["p"], two["q"]) and one["n"] < two["n"]:
                pairs.append((f"{one['p']}/{one['n']}", f"{two['p']}/{two['n']}"))
    if not pairs:
        return None
    first, second = random.choice(pairs)
    other = {first: second, second: first}
    for event in events:
        for record in event["r"] if event["e"] in ("final", "poll") else ():
            record[1] = other.get(record[1], record[1])
    for event in acked:
        event["o"] = -1
    return events


def plant_unwritten_record(events: list[Event], random: Random) -> list[Event] | None:
    finals = [each for each in _of(events, "final") if each["r"]]
    if not finals:
        return None
    random.choice(random.choice(finals)["r"])[1] = "nobody/1"
    return events


def plant_vanished_record(events: list[Event], random: Random) -> list[Event] | None:
    """A member has read what was cut off later."""
    polls = _of(events, "poll")
    if not polls:
        return None
    random.choice(random.choice(polls)["r"])[1] = "a#1/987654"
    return events


def plant_lost_offset(events: list[Event], random: Random) -> list[Event] | None:
    """A member finds less than was committed, and at the end more is committed again."""
    answered = _of(events, "committed")
    if not answered:
        return None
    at = random.choice(answered)
    found_at = {"o": random.randrange(at["o"]), "asked": at["at"], "at": at["at"], "c": "m"}
    resumed = {"e": "resumed", "g": at["g"], "t": at["t"], "q": at["q"]}
    return [*events, resumed | found_at]


def plant_offset_lost_at_the_end(events: list[Event], random: Random) -> list[Event] | None:
    committed = [each for each in _of(events, "group") if each["o"]]
    if not committed:
        return None
    chosen = random.choice(committed)
    highest = max(
        (
            each["o"]
            for each in _of(events, "committed")
            if (each["t"], each["q"]) == (chosen["t"], chosen["q"])
        ),
        default=0,
    )
    chosen["o"] = highest - 1
    return events if highest else None


def plant_skipped_record(events: list[Event], random: Random) -> list[Event] | None:
    polls = _of(events, "poll")
    if not polls:
        return None
    poll = random.choice(polls)
    offset, _ = random.choice(poll["r"])
    for each in polls:
        if (each["t"], each["q"]) == (poll["t"], poll["q"]):
            each["r"] = [record for record in each["r"] if record[0] != offset]
    return events


def plant_two_leaders(events: list[Event], random: Random) -> list[Event] | None:
    state = random.choice(_of(events, "state"))
    other = {"leader": state["leader"] % 3 + 1, "isr": [1, 2, 3]}
    events.insert(events.index(state) + 1, state | other)
    return events


def plant_old_leader_epoch(events: list[Event], random: Random) -> list[Event] | None:
    state = random.choice(_of(events, "state"))
    return [*events, state | {"leader_epoch": 0}]


def plant_old_controller(events: list[Event], random: Random) -> list[Event] | None:
    state = random.choice(_of(events, "state"))
    return [*events, state | {"leader_epoch": 10_000, "controller_epoch": 0}]


def plant_strange_isr(events: list[Event], random: Random) -> list[Event] | None:
    random.choice(_of(events, "state"))["isr"] = [1, 2, 3, 4]
    return events


def plant_leader_out_of_sync(events: list[Event], random: Random) -> list[Event] | None:
    led = [each for each in _of(events, "state") if each["leader"] > 0]
    state = random.choice(led)
    state["isr"] = [broker for broker in (1, 2, 3) if broker != state["leader"]]
    return events


PLANTS: list[tuple[Kind, Plant]] = [
    (Kind.LOST, plant_lost_record),
    (Kind.MISPLACED, plant_another_offset),
    (Kind.DOUBLED, plant_doubled_record),
    (Kind.REORDERED, plant_reordered_records),
    (Kind.UNWRITTEN, plant_unwritten_record),
    (Kind.VANISHED, plant_vanished_record),
    (Kind.LOST_OFFSET, plant_lost_offset),
    (Kind.LOST_OFFSET, plant_offset_lost_at_the_end),
    (Kind.SKIPPED, plant_skipped_record),
    (Kind.TWO_LEADERS, plant_two_leaders),
    (Kind.OLD_EPOCH, plant_old_leader_epoch),
    (Kind.OLD_EPOCH, plant_old_controller),
    (Kind.STRANGE_ISR, plant_strange_isr),
    (Kind.STRANGE_ISR, plant_leader_out_of_sync),
]


@pytest.mark.parametrize(("kind", "plant"), PLANTS, ids=[plant.__name__ for _, plant in PLANTS])
@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_a_planted_fault_is_found(kind: Kind, plant: Plant, seed: int) -> None:
    random = Random(seed)
    planted = plant(random_history(random, 120), random)
    assume(planted is not None)
    assert planted is not None
    assert kind in found(planted)


def test_a_producer_that_does_not_keep_order_may_have_any() -> None:
    events = [
        {"e": "producer", "p": "a#1", "kind": "plain", "t": "plain", "keeps_order": False},
        *({"e": "acked", "p": "a#1", "n": n, "q": 0, "o": 1 - n, "at": n} for n in (0, 1)),
        {"e": "final", "t": "plain", "q": 0, "r": [[0, "a#1/1"], [1, "a#1/0"]], "end": 2},
    ]
    assert found(events) == []


def test_every_kind_of_anomaly_is_planted() -> None:
    assert {kind for kind, _ in PLANTS} == set(Kind)


def test_a_file_whose_last_line_was_cut_off_is_read_up_to_there(tmp_path: Path) -> None:
    path = tmp_path / "producer.jsonl"
    whole = '{"e":"producer","p":"a#1","kind":"plain","t":"plain","at":1}\n'
    path.write_text(whole + '{"e":"acked","p":"a')
    assert read_history([path]).producers["a#1"].acked == []
