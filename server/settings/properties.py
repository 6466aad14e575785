"""Java's properties files, in which `server.properties` is written.

A logical line is `name=value`, `name:value` or `name value`; leading blanks are skipped, `#` and
`!` begin a comment, an odd number of backslashes at the end joins the next line. `\\t \\n \\r \\f`
and `\\uXXXX` are escapes, a backslash before anything else is dropped. Bytes are ISO-8859-1, as
java.util.Properties reads them from a stream.
"""

from collections.abc import Iterator
from typing import NamedTuple

_BLANK = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class Property(NamedTuple):
    """One setting of a file and the number of the line it begins on."""

    name: str
    value: str
    line: int


class MalformedProperties(ValueError):
    """A file that Java would refuse to read, or that is no text; `line` says where."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(reason)
        self.line = line


def parse_properties(data: bytes) -> list[Property]:
    """The properties of a file in its order, repetitions included (the last one counts)."""
    properties = []
    for number, line in _logical_lines(data.decode("latin-1")):
        if "\0" in line:
            raise MalformedProperties(number, "a zero byte: UTF-16, or no text; save it as UTF-8")
        key, value = _split(line)
        properties.append(Property(_unescape(key, number), _unescape(value, number), number))
    return properties


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    joined, start = "", 0
    for number, line in enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1):
        line = line.lstrip(_BLANK)
        if not joined:
            if not line or line[0] in "#!":
                continue
            start = number
        if _ends_in_escape(line):
            joined += line[:-1]
            continue
        yield start, joined + line
        joined = ""
    if joined:
        yield start, joined


def _ends_in_escape(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _split(line: str) -> tuple[str, str]:
    end = 0
    while end < len(line) and line[end] not in "=: \t\f":
        end += 2 if line[end] == "\\" else 1
    value = line[end:].lstrip(_BLANK)
    if value[:1] in ("=", ":"):
        value = value[1:].lstrip(_BLANK)
    return line[:end], value


def _unescape(text: str, line: int) -> str:
    if "\\" not in text:
        return text
    out, at = [], 0
    while at < len(text):
        character = text[at]
        if character != "\\":
            out.append(character)
            at += 1
            continue
        escaped = text[at + 1 : at + 2]
        if escaped == "u":
            out.append(_unicode(text[at + 2 : at + 6], line))
            at += 6
        else:
            out.append(_ESCAPES.get(escaped, escaped))
            at += 2
    return "".join(out)


def _unicode(digits: str, line: int) -> str:
    if len(digits) < 4 or any(digit not in "0123456789abcdefABCDEF" for digit in digits):
        raise MalformedProperties(line, f"\\u{digits} is not \\u and four hexadecimal digits")
    return chr(int(digits, 16))
