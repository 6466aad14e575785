"""Java's .properties text, as much of it as Kafka's own files use and its writer produces.

One `key=value` a line; `#` or `!` begins a comment; `\\` escapes the next character, a
Unicode code (`\\u00e9`) or the end of a line, which then continues; key and value may also be
parted by `:` or white space. Source: java.util.Properties.
"""

import re
from collections.abc import Iterator, Mapping

_KEY = re.compile(r"((?:\\.|[^\\=:\s])*)\s*[=:]?\s*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_SPECIAL = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_MUST_ESCAPE = re.compile(r"[\\=:#!]|^ ")


def parse(text: str) -> dict[str, str]:
    """The properties in `text`; a key given twice has its last value."""
    properties = {}
    for line in _logical_lines(text):
        match = _KEY.fullmatch(line)
        if match is not None:
            properties[_unescape(match[1])] = _unescape(match[2])
    return properties


def _logical_lines(text: str) -> Iterator[str]:
    pending = ""
    for line in text.splitlines():
        line = line.lstrip()
        if not pending and (not line or line[0] in "#!"):
            continue
        pending += line
        if (len(pending) - len(pending.rstrip("\\"))) % 2:
            pending = pending[:-1]
            continue
        yield pending
        pending = ""
    if pending:
        yield pending


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_escaped_character, text)


def _escaped_character(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else _SPECIAL.get(code, code)


def build(properties: Mapping[str, str], written_at: str) -> str:
    """Text that Java reads back to the same properties, with an empty and a date comment."""
    lines = ["#", f"#{written_at}"]
    lines += [f"{_escape(key)}={_escape(value)}" for key, value in properties.items()]
    return "\n".join([*lines, ""])


def _escape(text: str) -> str:
    return _MUST_ESCAPE.sub(lambda match: "\\" + match[0], text)
