"""Patterns against Python's own regular expressions, where these are safe to ask."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.server.core.pattern_syntax import BadPattern
from barnabas.server.core.patterns import MOST_REMEMBERED, Pattern

TEXTS = ("", "a", "b", "ab", "aab", "abab", "A", "a.b", "a-1", "app-42", "x\ny", "ä", "_", "]", "{")
PATTERNS = (
    "", "a", "a*", "a+b?", "(ab)*", "(ab|a)+", "a|b|", "[ab]+", "[^a]*", "[a-z]+-[0-9]{1,2}",
    r"app-\d+", r"\w+", r"\W", r"\S*\s\S*", ".*", "(?s).*", "(?s:.)*", "^a.*b$", "a$|^b", r"a\.b",
    r"\x61", "a{2}b", "a{1,}b", "a{0,1}b", "(?:a)(?P<n>b)", "(?i)A+b*", "(?i:a)B", "[]a]", "[a\\]]",
    r"[\d-]*", "a{", "{", "a*?b", "(a*)*b", "()", "(|a)+",
)  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_whole_texts_match_as_they_do_elsewhere(pattern: str) -> None:
    made = Pattern(pattern)
    for text in TEXTS:
        # RE2's classes are ASCII's, and its $ is the very end.
        expected = re.fullmatch(pattern.replace("$", r"\Z"), text, re.ASCII) is not None
        assert made.matches(text) is expected, text


@given(
    st.text("ab()|*+?.", max_size=12),
    st.lists(st.text("ab", max_size=8), max_size=6),
)
def test_any_small_pattern(pattern: str, texts: list[str]) -> None:
    try:
        made = Pattern(pattern)
    except BadPattern:
        return
    theirs = re.compile(pattern)
    for text in texts:
        assert made.matches(text) is (theirs.fullmatch(text) is not None)


@pytest.mark.parametrize(
    "pattern",
    ["(", ")", "a)", "[", "[a", "[z-a]", "*", "+a", "a**", "\\", r"\1", r"\p{L}", r"\bx", "(?=a)",
     "(?<!a)", "a{3,2}", "a{1001}", r"\x{zz}", "(" * 200 + ")" * 200, "((a{100}){100}){100}"],
)  # fmt: skip
def test_what_is_no_pattern(pattern: str) -> None:
    with pytest.raises(BadPattern):
        Pattern(pattern)


def test_no_pattern_takes_for_ever() -> None:  # as trying one way after the other would
    assert not Pattern("(a*)*b").matches("a" * 2_000)
    assert not Pattern("(a|a|a)*(a|aa)*c").matches("a" * 2_000)


def test_others_are_served_while_a_long_text_is_looked_at() -> None:
    assert sum(1 for _ in Pattern("a*").match_in_steps("a" * 1_600)) >= 100


def test_and_while_a_character_leads_to_many_places() -> None:
    assert sum(1 for _ in Pattern("(a?){600}").match_in_steps("a" * 100)) >= 100


@pytest.mark.parametrize("nothing", ["()", "(?:)", "(?i)", "(|)", "(()())"])
def test_nothing_many_times_over_is_not_done_each_time(nothing: str) -> None:
    with pytest.raises(BadPattern):
        Pattern(f"(({nothing}{{1000}}){{1000}}){{1000}}")


def test_what_is_remembered_is_bounded_by_its_size() -> None:
    made = Pattern("(.*a.{100})*")
    made.matches("".join("ab"[number * number % 7 % 2] for number in range(3_000)))
    assert sum(1 + len(places) for places in made._led.values()) <= MOST_REMEMBERED
