"""The state table of a replica."""

import re
from pathlib import Path

from barnabas.server.replication.states import TRANSITIONS, ReplicaEvent, ReplicaState


def test_every_event_is_known_in_every_state() -> None:
    assert set(TRANSITIONS) == {(state, event) for state in ReplicaState for event in ReplicaEvent}


def test_every_state_can_be_left_and_entered() -> None:
    ways = {(before, after) for (before, _), after in TRANSITIONS.items() if before is not after}
    assert ways == {(a, b) for a in ReplicaState for b in ReplicaState if a is not b}


def test_the_documentation_draws_this_table() -> None:
    text = (Path(__file__).parents[3] / "docs" / "cluster.md").read_text()
    drawn = re.findall(r"^    (\w+) --> (\w+): (\w+)$", text, re.MULTILINE)
    assert drawn == [
        (before.value, after.value, event.name)
        for (before, event), after in TRANSITIONS.items()
        if before is not after
    ]
    told = dict(re.findall(r"^\| ([A-Z]+) \| (.*) \|$", text, re.MULTILINE))
    assert told == {event.name: event.value for event in ReplicaEvent}
