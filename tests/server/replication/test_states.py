"""The state tables of a replica, and of a leader's in-sync set."""

import re
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from barnabas.server.replication import isr_states, states
from barnabas.server.replication.isr_states import IsrEvent
from barnabas.server.replication.states import TRANSITIONS, ReplicaEvent, ReplicaState

DOCUMENT = Path(__file__).parents[3] / "docs" / "cluster.md"


def test_every_event_is_known_in_every_state() -> None:
    assert set(TRANSITIONS) == {(state, event) for state in ReplicaState for event in ReplicaEvent}


def test_every_state_can_be_left_and_entered() -> None:
    ways = {(before, after) for (before, _), after in TRANSITIONS.items() if before is not after}
    assert ways == {(a, b) for a in ReplicaState for b in ReplicaState if a is not b}


@pytest.mark.parametrize(
    "module, table, events",
    [
        (states, TRANSITIONS, ReplicaEvent),
        (isr_states, isr_states.TRANSITIONS, IsrEvent),
    ],
    ids=["replica", "in-sync set"],
)
def test_the_documentation_draws_this_table(
    module: Any, table: dict[tuple[Enum, Enum], Enum], events: type[Enum]
) -> None:
    source = f"{module.__name__.removeprefix('barnabas.').replace('.', '/')}.py"
    sections = re.split(r"(?=<!-- drawn from )|^## ", DOCUMENT.read_text(), flags=re.MULTILINE)
    (text,) = [each for each in sections if each.startswith(f"<!-- drawn from {source};")]
    drawn = re.findall(r"^    (\w+) --> (\w+): (\w+)$", text, re.MULTILINE)
    assert drawn == [
        (before.value, after.value, event.name)
        for (before, event), after in table.items()
        if before is not after
    ]
    told = dict(re.findall(r"^\| ([A-Z_]+) \| (.*) \|$", text, re.MULTILINE))
    assert told == {event.name: event.value for event in events}
