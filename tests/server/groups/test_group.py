"""The state table against Kafka's (the states from which each may be entered)."""

import re
from pathlib import Path

import pytest

from barnabas.server.groups.group import (
    TRANSITIONS,
    GroupEvent,
    GroupState,
    ImpossibleTransition,
    next_state,
)

# Kafka's GroupState classes name the states that may come before each.
KAFKA = {
    "PreparingRebalance": {"Stable", "CompletingRebalance", "Empty"},
    "CompletingRebalance": {"PreparingRebalance"},
    "Stable": {"CompletingRebalance"},
    "Empty": {"PreparingRebalance"},
    "Dead": {"Stable", "PreparingRebalance", "CompletingRebalance", "Empty", "Dead"},
}


def test_the_table_has_kafkas_transitions_and_no_others() -> None:
    found: dict[str, set[str]] = {}
    for (before, _), after in TRANSITIONS.items():
        found.setdefault(after.value, set()).add(before.value)
    assert found == KAFKA


def test_every_event_leads_somewhere() -> None:
    assert {event for _, event in TRANSITIONS} == set(GroupEvent)


def test_what_is_not_in_the_table_is_refused() -> None:
    with pytest.raises(ImpossibleTransition, match="REBALANCE in state Dead"):
        next_state(GroupState.DEAD, GroupEvent.REBALANCE)


def test_the_documentation_draws_this_table() -> None:
    text = (Path(__file__).parents[3] / "docs" / "groups.md").read_text()
    drawn = re.findall(r"^    (\w+) --> (\w+): (\w+)$", text, re.MULTILINE)
    assert drawn == [
        (before.value, after.value, event.name) for (before, event), after in TRANSITIONS.items()
    ]
    told = dict(re.findall(r"^\| ([A-Z_]+) \| (.*) \|$", text, re.MULTILINE))
    assert told == {event.name: event.value for event in GroupEvent}
