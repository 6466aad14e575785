"""Whether texts match patterns that clients send, in time that no pattern can blow up.

Python's own regular expressions go back and try again: a pattern of twenty characters can hold
the loop for hours. Here all ways through the pattern are followed at once, character by
character (Thompson), and where they have led from a set of places is remembered.

What a pattern may cost is bounded by what is done for it, not by what it looks like: thousands of
repetitions of nothing are short to write and leave no place behind.
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
MOST_PARTS: Final = 20_000
"""How many parts may be built, repeated ones each time: what stands for nothing is no place."""
MOST_REMEMBERED: Final = 100_000
"""How many places are remembered to have been led to, those of all sets together."""
LOOKS_IN_A_STEP: Final = 16
"""At a place, or at a character whose way is remembered."""

Places = frozenset[int]


class Pattern:
    """One pattern. Raises BadPattern for a text that is none, or is too large."""

    def __init__(self, text: str) -> None:
        # By place: what has to come there, and the places that follow.
        self._needs: list[Characters | Boundary | None] = []
        self._next: list[tuple[int, ...]] = []
        self._parts = 0
        self._end = self._place(None)
        self._start = self._build(parse(text), self._end)
        self._led: dict[tuple[Places, str], Places] = {}
        self._remembered = 0

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
        looks = LOOKS_IN_A_STEP
        for character in text:
            if looks >= LOOKS_IN_A_STEP:
                looks = 0
                yield
            led = self._led.get((places, character))
            if led is None:
                looks += len(places)
                led = self._after(places, character)
            looks += 1
            places = led
            if not places:
                return False
        at_end = self._reached(places, at_start=not text, at_end=True)
        return self._end in at_end

    def _after(self, places: Places, character: str) -> Places:
        """Where one character leads; it is remembered."""
        taken: list[int] = []
        for place in places:
            needs = self._needs[place]
            if isinstance(needs, Characters) and needs.takes(character):
                taken += self._next[place]
        led = self._reached(taken, at_start=False, at_end=False)
        self._remembered += 1 + len(led)
        if self._remembered > MOST_REMEMBERED:
            self._led.clear()
            self._remembered = 1 + len(led)
        self._led[places, character] = led
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
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise BadPattern("it is too large")
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
