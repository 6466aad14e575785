"""The state table against Kafka's (the states from which each may be entered)."""

import re
from pathlib import Path

import pytest

from barnabas.server.transactions.states import (
    TRANSITIONS,
    ImpossibleTransition,
    TransactionEvent,
    TransactionState,
    next_state,
)

# Kafka's TransactionState names the states that may come before each.
KAFKA = {
    "Empty": {"Empty", "CompleteCommit", "CompleteAbort"},
    "Ongoing": {"Ongoing", "Empty", "CompleteCommit", "CompleteAbort"},
    "PrepareCommit": {"Ongoing"},
    "PrepareAbort": {"Ongoing", "PrepareEpochFence", "Empty", "CompleteCommit", "CompleteAbort"},
    "CompleteCommit": {"PrepareCommit"},
    "CompleteAbort": {"PrepareAbort"},
    "Dead": {"Empty", "CompleteAbort", "CompleteCommit"},
    "PrepareEpochFence": {"Ongoing"},
}


def test_the_table_has_kafkas_transitions_and_no_others() -> None:
    found: dict[str, set[str]] = {}
    for (before, _), after in TRANSITIONS.items():
        found.setdefault(after.text, set()).add(before.text)
    assert found == KAFKA


def test_every_event_leads_somewhere() -> None:
    assert {event for _, event in TRANSITIONS} == set(TransactionEvent)


def test_what_is_not_in_the_table_is_refused() -> None:
    with pytest.raises(ImpossibleTransition, match="COMMITTED in state Empty"):
        next_state(TransactionState.EMPTY, TransactionEvent.COMMITTED)
    assert not [event for state, event in TRANSITIONS if state is TransactionState.DEAD]


def test_the_documentation_draws_this_table() -> None:
    text = (Path(__file__).parents[3] / "docs" / "transactions.md").read_text()
    drawn = re.findall(r"^    (\w+) --> (\w+): (\w+)$", text, re.MULTILINE)
    assert drawn == [
        (before.text, after.text, event.name) for (before, event), after in TRANSITIONS.items()
    ]
    told = dict(re.findall(r"^\| ([A-Z_]+) \| (.*) \|$", text, re.MULTILINE))
    assert told == {event.name: event.value for event in TransactionEvent}
