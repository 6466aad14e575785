"""Protocol selection."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.server.groups.members import Member, Members
from barnabas.server.groups.protocols import (
    Protocols,
    common_protocols,
    metadata_for,
    names_of,
    select_protocol,
)


def _speak(*names: str) -> Protocols:
    return tuple((name, name.encode()) for name in names)


def test_the_most_votes_win_among_what_all_speak() -> None:
    assert select_protocol([_speak("a", "b"), _speak("b", "a"), _speak("b", "a")]) == "b"
    assert select_protocol([_speak("a", "b"), _speak("b", "c")]) == "b"
    assert select_protocol([_speak("a", "b"), _speak("b", "a")]) == "a"
    with pytest.raises(ValueError, match="in common"):
        select_protocol([_speak("a"), _speak("b")])


def test_metadata_of_a_protocol() -> None:
    assert metadata_for(_speak("a", "b"), "b") == b"b"
    assert metadata_for(_speak("a"), "x") == b""


names = st.lists(st.sampled_from("abcd"), min_size=1, unique=True).map(lambda n: _speak(*n))


@given(st.lists(names, min_size=1, max_size=6), names)
def test_members_know_what_all_of_them_speak(spoken: list[Protocols], joining: Protocols) -> None:
    members = Members()
    for number, protocols in enumerate(spoken):
        member = Member(str(number), None, "", "", 0, 0, ())
        members.add(member)
        members.update_protocols(member, protocols)
    common = common_protocols(spoken)
    assert members.can_speak(joining) == bool(common & names_of(joining))
    members.remove("0")
    assert members.can_speak(joining) == (
        len(spoken) == 1 or bool(common_protocols(spoken[1:]) & names_of(joining))
    )
    if common:
        chosen = select_protocol(spoken)
        votes = [next(n for n, _ in each if n in common) for each in spoken]
        assert chosen in common
        assert votes.count(chosen) == max(votes.count(name) for name in common)
