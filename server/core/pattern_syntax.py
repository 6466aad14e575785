"""Regular expressions of RE2's syntax, as trees.

What Apache Kafka takes from clients is RE2's syntax: no back-references and no looking around,
so that a match takes time proportional to the text. Characters, classes, groups, alternatives
and counted repetitions are read; Unicode classes (`\\p{...}`) and word boundaries are refused.
"""

from typing import Final, NamedTuple

MOST_REPETITIONS: Final = 1_000  # as RE2
MOST_NESTED: Final = 100
_ESCAPED: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
_WORD: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_CLASSES: Final = {"d": frozenset("0123456789"), "w": _WORD, "s": frozenset("\t\n\f\r ")}


class BadPattern(Exception):
    """A text that is no regular expression, or one that is not read here."""


class Characters(NamedTuple):
    """One character: one of these, or in one of these ranges; or any other."""

    single: frozenset[str]
    ranges: tuple[tuple[str, str], ...] = ()
    is_negated: bool = False
    ignores_case: bool = False

    def takes(self, character: str) -> bool:
        """Whether it is one of them."""
        found = self._has(character)
        if not found and self.ignores_case:
            found = self._has(character.lower()) or self._has(character.upper())
        return found != self.is_negated

    def _has(self, character: str) -> bool:
        return character in self.single or any(
            first <= character <= last for first, last in self.ranges
        )


class Sequence(NamedTuple):
    """One after the other."""

    parts: tuple["Node", ...]


class Alternatives(NamedTuple):
    """One of them."""

    choices: tuple["Node", ...]


class Repeated(NamedTuple):
    """So many times; `most` is None without an end."""

    part: "Node"
    least: int
    most: int | None


class Boundary(NamedTuple):
    """The text's beginning, or its end."""

    is_end: bool


Node = Characters | Sequence | Alternatives | Repeated | Boundary
_ANY: Final = Characters(frozenset("\n"), is_negated=True)


def parse(pattern: str) -> Node:
    """The tree of a pattern. Raises BadPattern."""
    reader = _Reader(pattern)
    tree = reader.alternatives()
    if not reader.at_end:
        raise BadPattern("unexpected )")
    return tree


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._ignores_case = False
        self._dot_is_all = False
        self._depth = 0

    @property
    def at_end(self) -> bool:
        return self._at >= len(self._text)

    def _peek(self) -> str:
        return self._text[self._at] if self._at < len(self._text) else ""

    def _next(self) -> str:
        if self.at_end:
            raise BadPattern("it ends too early")
        self._at += 1
        return self._text[self._at - 1]

    def _take(self, wanted: str) -> bool:
        found = self._text.startswith(wanted, self._at)
        self._at += len(wanted) if found else 0
        return found

    def alternatives(self) -> Node:
        flags = (self._ignores_case, self._dot_is_all)
        choices = [self._sequence()]
        while self._take("|"):
            choices.append(self._sequence())
        self._ignores_case, self._dot_is_all = flags
        return choices[0] if len(choices) == 1 else Alternatives(tuple(choices))

    def _sequence(self) -> Node:
        parts: list[Node] = []
        while not self.at_end and self._peek() not in "|)":
            parts.append(self._repetitions(self._atom()))
        return Sequence(tuple(parts))

    def _atom(self) -> Node:
        character = self._next()
        if character == "(":
            return self._group()
        if character == "[":
            return self._class()
        if character == "\\":
            return self._escape()
        if character == ".":
            return Characters(frozenset(), is_negated=True) if self._dot_is_all else _ANY
        if character in "^$":
            return Boundary(character == "$")
        if character in "*+?":
            raise BadPattern(f"nothing to repeat before {character}")
        return self._literal(character)

    def _literal(self, character: str) -> Characters:
        return Characters(frozenset(character), ignores_case=self._ignores_case)

    def _group(self) -> Node:
        self._depth += 1
        if self._depth > MOST_NESTED:
            raise BadPattern("groups are nested too deeply")
        flags = (self._ignores_case, self._dot_is_all)
        if self._take("?"):
            named = self._take("P<") or (self._take("<") and self._peek() not in "=!")
            if named:
                while self._next() != ">":
                    pass
            elif self._flags() == ")":
                self._depth -= 1
                return Sequence(())
        inner = self.alternatives()
        if not self._take(")"):
            raise BadPattern("a group is not closed")
        self._ignores_case, self._dot_is_all = flags
        self._depth -= 1
        return inner

    def _flags(self) -> str:
        """Read flags up to the `:` or `)` that ends them, which is returned."""
        is_on = True
        while (flag := self._next()) not in ":)":
            if flag == "-":
                is_on = False
            elif flag == "i":
                self._ignores_case = is_on
            elif flag == "s":
                self._dot_is_all = is_on
            elif flag != "U":
                raise BadPattern(f"(?{flag} is not known")
        return flag

    def _escape(self) -> Node:
        if self._take("A"):
            return Boundary(is_end=False)
        if self._take("z"):
            return Boundary(is_end=True)
        if self._take("Q"):
            end = self._text.find("\\E", self._at)
            quoted = self._text[self._at : end if end >= 0 else len(self._text)]
            self._at += len(quoted) + (2 if end >= 0 else 0)
            return Sequence(tuple(self._literal(each) for each in quoted))
        found = self._escaped()
        if isinstance(found, str):
            return self._literal(found)
        return found

    def _escaped(self) -> str | Characters:
        """The character, or the class, that is written with a backslash."""
        character = self._next()
        if character.lower() in _CLASSES:
            return Characters(_CLASSES[character.lower()], is_negated=character.isupper())
        if character in _ESCAPED:
            return _ESCAPED[character]
        if character == "x":
            return self._hexadecimal()
        if character.isalnum():
            raise BadPattern(f"\\{character} is not known")
        return character

    def _hexadecimal(self) -> str:
        if self._take("{"):
            digits = ""
            while (digit := self._next()) != "}":
                digits += digit
        else:
            digits = self._next() + self._next()
        try:
            return chr(int(digits, 16))
        except (ValueError, OverflowError):
            raise BadPattern(f"\\x{digits} is no character") from None

    def _class(self) -> Characters:
        is_negated = self._take("^")
        single: set[str] = set()
        ranges: list[tuple[str, str]] = []
        is_first = True
        while is_first or self._peek() != "]":
            is_first = False
            if self._peek() == "[" and self._text[self._at + 1 : self._at + 2] == ":":
                raise BadPattern("[:class:] is not read here")
            first = self._member()
            if isinstance(first, Characters):
                if first.is_negated:
                    raise BadPattern("a class within a class cannot be negated here")
                single |= first.single
            elif self._peek() == "-" and self._text[self._at + 1 : self._at + 2] not in ("]", ""):
                self._next()
                last = self._member()
                if isinstance(last, Characters) or last < first:
                    raise BadPattern("a range of characters is no range")
                ranges.append((first, last))
            else:
                single.add(first)
        self._next()
        return Characters(frozenset(single), tuple(ranges), is_negated, self._ignores_case)

    def _member(self) -> str | Characters:
        character = self._next()
        return self._escaped() if character == "\\" else character

    def _repetitions(self, atom: Node) -> Node:
        made, is_repeated = atom, False
        while (bounds := self._bounds()) is not None:
            if is_repeated:
                raise BadPattern("a repetition is repeated")
            made, is_repeated = Repeated(made, *bounds), True
            self._take("?")  # as few as possible: the same texts match as a whole
        return made

    def _bounds(self) -> tuple[int, int | None] | None:
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._take(sign):
                return bounds
        end = self._text.find("}", self._at)
        if self._peek() != "{" or end < 0:
            return None
        least, comma, most = self._text[self._at + 1 : end].partition(",")
        if not _is_number(least) or not (most == "" or _is_number(most)):
            return None  # a brace like any other character
        self._at = end + 1
        last = (int(most) if most else None) if comma else int(least)
        if not int(least) <= (int(least) if last is None else last) <= MOST_REPETITIONS:
            raise BadPattern("a repetition has bad bounds")
        return int(least), last


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
