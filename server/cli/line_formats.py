r"""`barnabas produce --format`: what a line has where, in the words of `consume --format`.

'%k:%s' or '{key}:{value}' finds a key, a colon and a value; the last part takes the rest of the
line. Parts: key, value, partition, timestamp, headers (as name=value,name=value).
"""

import re
from typing import NamedTuple

from barnabas.server.cli.escapes import unescaped
from barnabas.server.cli.failures import BadInput

LETTERS = {"k": "key", "s": "value", "v": "value", "p": "partition", "T": "timestamp",
           "d": "timestamp", "h": "headers"}  # fmt: skip
PARTS = ("key", "value", "partition", "timestamp", "headers")
_PIECE = re.compile(r"%(.?)|\{(\w+)\}", re.DOTALL)


class LineFormat(NamedTuple):
    """A template that lines fit, or not."""

    template: str
    expression: re.Pattern[bytes]

    def parts(self, line: bytes) -> dict[str, bytes] | None:
        """The parts of a line by name; None where it does not fit."""
        found = self.expression.fullmatch(line)
        return found.groupdict() if found else None


def line_format(template: str) -> LineFormat:
    """A template, understood; BadInput for unknown, double, or adjoining parts."""
    expression, at, is_open = b"", 0, False
    names: list[str] = []
    text = template.removesuffix(r"\n").removesuffix("\n")
    for found in _PIECE.finditer(text):
        literal = unescaped(text[at : found.start()]) + (b"%" if found[1] == "%" else b"")
        at = found.end()
        if found[1] == "%":
            expression, is_open = expression + re.escape(literal), False
            continue
        name = _name(found)
        if name in names or (is_open and not literal):
            raise BadInput(f"--format: {found[0]} needs text before it, and to be there once")
        names.append(name)
        expression += re.escape(literal) + f"(?P<{name}>.*?)".encode()
        is_open = True
    if not names:
        raise BadInput(f"--format: {template!r} has no part of a record, as in '%k:%s'")
    expression += re.escape(unescaped(text[at:]))
    return LineFormat(template, re.compile(expression, re.DOTALL))


def _name(found: re.Match[str]) -> str:
    name = LETTERS.get(found[1] or "") or (found[2] or "")
    if name not in PARTS:
        letters = " ".join(f"%{letter}" for letter in LETTERS)
        names = " ".join(f"{{{part}}}" for part in PARTS)
        raise BadInput(f"--format: there is no {found[0]} to send; there are {letters} and {names}")
    return name


def headers_of(text: bytes) -> list[tuple[str, bytes | None]]:
    """name=value,… as `%h` prints them."""
    found: list[tuple[str, bytes | None]] = []
    for pair in text.split(b",") if text else ():
        name, _, value = pair.partition(b"=")
        found.append((name.decode("utf-8", "surrogateescape"), value))
    return found
