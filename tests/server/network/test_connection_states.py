"""The state table of a connection."""

import re
from pathlib import Path

import pytest

from barnabas.server.network.connection_states import (
    EVENTS,
    STATES,
    TRANSITIONS,
    WAIT_TO_READ,
    WAIT_TO_WRITE,
    WANTS,
    ConnectionEvent,
    ConnectionState,
    ImpossibleTransition,
    next_state,
)

DOCUMENT = (Path(__file__).parents[3] / "docs" / "architecture.md").read_text()


def test_what_a_connection_asks_is_the_table() -> None:
    for state in ConnectionState:
        for event in ConnectionEvent:
            if (state, event) in TRANSITIONS:
                assert next_state(state, event) == TRANSITIONS[state, event]
            else:
                with pytest.raises(ImpossibleTransition, match=f"{event.name} in .*{state.name}"):
                    next_state(state, event)


def test_everything_is_named_and_numbered_as_its_row() -> None:
    assert list(STATES) == list(ConnectionState) == [*range(len(WANTS))]
    assert list(EVENTS) == list(ConnectionEvent) == [*range(len(EVENTS))]


def test_every_state_is_reached_and_only_closed_is_the_end() -> None:
    reached = {ConnectionState.READING}
    while more := {to for (state, _), to in TRANSITIONS.items() if state in reached} - reached:
        reached |= more
    assert reached == set(ConnectionState)
    ended = set(ConnectionState) - {state for state, _ in TRANSITIONS}
    assert ended == {ConnectionState.CLOSED}


def test_who_sends_does_not_read() -> None:
    def watched_for(wants: int) -> set[str]:
        return {state.name for state in ConnectionState if WANTS[state] == wants}

    assert watched_for(WAIT_TO_READ) == {"READING", "PARKED"}
    assert watched_for(WAIT_TO_WRITE) == {"SENDING", "SENDING_PARKED"}


def test_the_documentation_draws_this_table() -> None:
    drawn = re.findall(r"^    ([A-Z_]+) --> ([A-Z_]+): ([A-Z]+)$", DOCUMENT, re.MULTILINE)
    assert drawn == [
        (before.name, after.name, event.name)
        for (before, event), after in TRANSITIONS.items()
        if before is not after and event is not ConnectionEvent.CLOSE
    ]
    states = dict(re.findall(r"^\| ([A-Z_]+) \| (.*) \|$", DOCUMENT, re.MULTILINE))
    assert states == {state.name: told for state, told in STATES.items()}
    events = dict(re.findall(r"^\| \*([A-Z]+)\* \| (.*) \|$", DOCUMENT, re.MULTILINE))
    assert events == {event.name: told for event, told in EVENTS.items()}
