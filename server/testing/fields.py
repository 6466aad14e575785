"""The fields of one command, read one by one; what is wrong with them is one sentence.

Over HTTP they are the members of a JSON object, or a query, whose numbers arrive as text.
"""

import re
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import TypeVar

from barnabas.server.testing.refusals import BadCommand

_NUMBER = re.compile(r"\d{1,18}(\.\d{1,18})?")
Number = TypeVar("Number", bound=IntEnum)


class Fields:
    """What was given with a command; `place` names it in a refusal."""

    def __init__(self, place: str, given: Mapping[str, object], known: Iterable[str]) -> None:
        self._place = place
        self._given = given
        known = tuple(known)
        for name in given:
            if name not in known:
                takes = f"it takes {', '.join(known)}" if known else "it takes no fields"
                raise self.bad(f"unknown field `{name}`; {takes}")

    def __contains__(self, name: str) -> bool:
        return name in self._given

    def bad(self, sentence: str) -> BadCommand:
        """A refusal that names the command."""
        return BadCommand(f"{self._place}: {sentence}")

    def wrong(self, name: str, wanted: str) -> BadCommand:
        """The refusal of one field's value."""
        if name not in self._given:
            return self.bad(f"`{name}` is missing; it is {wanted}")
        return self.bad(f"`{name}` is {self._given[name]!r}, not {wanted}")

    def raw(self, name: str) -> object:
        """The value as it was given; None without one."""
        return self._given.get(name)

    def text(self, name: str) -> str:
        """A text that must be there."""
        value = self._given.get(name)
        if not isinstance(value, str) or not value:
            raise self.wrong(name, "a text")
        return value

    def optional_text(self, name: str) -> str | None:
        """A text, or None where there is none."""
        return None if self._given.get(name) is None else self.text(name)

    def whole_number(self, name: str, least: int = 0) -> int | None:
        """A whole number, or None where there is none."""
        value = self._given.get(name)
        if isinstance(value, str) and _NUMBER.fullmatch(value) and "." not in value:
            value = int(value)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise self.wrong(name, f"a whole number from {least}")
        return value

    def milliseconds(self, name: str, default: float) -> float:
        """A number of milliseconds from 0, fractions included."""
        value = self._given.get(name, default)
        if isinstance(value, str) and _NUMBER.fullmatch(value):
            value = float(value)
        if not isinstance(value, int | float) or isinstance(value, bool) or not value >= 0:
            raise self.wrong(name, "a number of milliseconds from 0")
        return value

    def one_of(self, name: str, allowed: Iterable[str], default: str) -> str:
        """One of a few words."""
        allowed = tuple(allowed)
        value = self._given.get(name, default)
        if value not in allowed:
            raise self.wrong(name, f"one of {', '.join(allowed)}")
        return str(value)

    def named(self, name: str, kind: type[Number], what: str) -> Number | None:
        """A member of an enumeration by its name, in either case, or by its number in JSON."""
        value = self._given.get(name)
        if value is None:
            return None
        if isinstance(value, str):
            value = kind.__members__.get(value.upper())
        for member in kind:
            if member == value:
                return member
        raise self.wrong(name, what)

    def settings(self, name: str) -> dict[str, str]:
        """An object of settings, each as text; empty where there is none."""
        value = self._given.get(name)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise self.wrong(name, "an object of settings by name")
        return {str(key): _setting_text(each) for key, each in value.items()}


def _setting_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
