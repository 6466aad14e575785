"""Whether texts match patterns that clients send, in time that no pattern can blow up.

Python's own regular expressions go back and try again: a pattern of twenty characters can hold
the loop for hours. Here all ways through the pattern are followed at once, character by
character (Thompson), and where they have led from a set of places is remembered.
"""

from collections.abc import Iterable
from typing import Final

from barnabas.server.core.pattern_syntax import (
    Alternatives,
    BadPattern,
    Boundary,
    Characters,
    Node,
    Repeated,
    Sequence,
    parse,
)
from barnabas.wire.compiler import Steps

MOST_PLACES: Final = 2_000
MOST_REMEMBERED: Final = 2_000
CHARACTERS_IN_A_STEP: Final = 16

Places = frozenset[int]


class Pattern:
    """One pattern. Raises BadPattern for a text that is none, or is too large."""

    def __init__(self, text: str) -> None:
        # By place: what has to come there, and the places that follow.
        self._needs: list[Characters | Boundary | None] = []
        self._next: list[tuple[int, ...]] = []
        self._end = self._place(None)
        self._start = self._build(parse(text), self._end)
        self._led: dict[tuple[Places, str], Places] = {}

    def matches(self, text: str) -> bool:
        """Whether the whole text matches."""
        steps = self.match_in_steps(text)
        while True:
            try:
                next(steps)
            except StopIteration as stop:
                return bool(stop.value)

    def match_in_steps(self, text: str) -> Steps[bool]:
        """The same; others may be served in between."""
        places = self._reached((self._start,), at_start=True, at_end=not text)
        for number, character in enumerate(text):
            if number % CHARACTERS_IN_A_STEP == 0:
                yield
            places = self._after(places, character)
            if not places:
                return False
        at_end = self._reached(places, at_start=not text, at_end=True)
        return self._end in at_end

    def _after(self, places: Places, character: str) -> Places:
        """Where one character leads."""
        key = (places, character)
        led = self._led.get(key)
        if led is None:
            taken: list[int] = []
            for place in places:
                needs = self._needs[place]
                if isinstance(needs, Characters) and needs.takes(character):
                    taken += self._next[place]
            led = self._reached(taken, at_start=False, at_end=False)
            if len(self._led) >= MOST_REMEMBERED:
                self._led.clear()
            self._led[key] = led
        return led

    def _reached(self, places: Iterable[int], *, at_start: bool, at_end: bool) -> Places:
        """The places themselves, and those that nothing has to come for."""
        found: set[int] = set()
        waiting = list(places)
        while waiting:
            place = waiting.pop()
            if place in found:
                continue
            found.add(place)
            needs = self._needs[place]
            if needs is None or (
                isinstance(needs, Boundary) and (at_end if needs.is_end else at_start)
            ):
                waiting += self._next[place]
        return frozenset(found)

    # Building, from the end to the start.

    def _place(self, needs: Characters | Boundary | None, *following: int) -> int:
        if len(self._needs) >= MOST_PLACES:
            raise BadPattern("it is too large")
        self._needs.append(needs)
        self._next.append(following)
        return len(self._needs) - 1

    def _build(self, node: Node, following: int) -> int:
        """The place where the node begins, after which it goes on at `following`."""
        if isinstance(node, Sequence):
            for part in reversed(node.parts):
                following = self._build(part, following)
            return following
        if isinstance(node, Alternatives):
            return self._place(None, *(self._build(each, following) for each in node.choices))
        if isinstance(node, Repeated):
            return self._build_repeated(node, following)
        return self._place(node, following)

    def _build_repeated(self, node: Repeated, following: int) -> int:
        if node.most is None:
            again = self._place(None)
            self._next[again] = (self._build(node.part, again), following)
            following = again
        else:
            last = following
            for _ in range(node.most - node.least):
                following = self._place(None, self._build(node.part, following), last)
        for _ in range(node.least):
            following = self._build(node.part, following)
        return following
