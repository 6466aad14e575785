r"""How `barnabas consume` prints a record.

value       the value and a line feed, byte for byte
key-value   the key, a tab, the value
full        partition, offset, time, key, value and headers, for people
json        one JSON object, with stable keys
{…}         a template: {topic} {partition} {offset} {timestamp} {key} {value} {headers}
            {headers.NAME}; a line feed follows
%…          a template as kcat has it: %t %p %o %k %s %h %T %K %S, and \n \t \xNN; nothing follows
"""

import json
import re
from collections.abc import Callable
from typing import Any

from barnabas.server.cli.escapes import unescaped
from barnabas.server.cli.failures import BadInput, did_you_mean
from barnabas.server.cli.log_tools.formats import Format, formatted, time_text

FORMATS = ("value", "key-value", "full", "json")
FIELDS = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")
HEADER = "headers."
# kcat's letters; v and d are rpk's for s and T, V is rpk's for S
LETTERS = {"t": "topic", "p": "partition", "o": "offset", "T": "timestamp", "d": "timestamp",
           "k": "key", "s": "value", "v": "value", "h": "headers"}  # fmt: skip
SIZES = {"K": "key", "S": "value", "V": "value"}
NO_VALUE_SIZE = -1  # as kcat has it
Print = Callable[[Any], bytes]
Piece = Callable[[Any], bytes]
_encode_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def printer(name: str, keys: Format, values: Format, separator: bytes = b"\t") -> Print:
    """The function that makes a kafka-python record the bytes to print."""
    if "%" in name:
        return _percent_template(name, keys, values)
    if "{" in name:
        return _template(name, keys, values)
    if name == "json":
        return lambda record: _encode_json(row_of(record, keys, values)).encode() + b"\n"
    if name == "full":
        return lambda record: _full(row_of(record, keys, values))
    if name not in FORMATS:
        hint = did_you_mean(name, list(FORMATS)) or f"; there are {', '.join(FORMATS)}"
        raise BadInput(
            f"--format: there is no format {name}{hint} or a template with {{value}} or %s"
        )
    if keys is Format.AUTO and values is Format.AUTO:
        return _raw_value if name == "value" else _raw_key_value(separator)
    return _shown_value(values) if name == "value" else _shown_key_value(separator, keys, values)


def row_of(record: Any, keys: Format, values: Format) -> dict[str, Any]:
    """A record as JSON can hold it."""
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": formatted(record.key, keys),
        "value": formatted(record.value, values),
        "headers": [[name, formatted(value, values)] for name, value in record.headers],
    }


def _raw_value(record: Any) -> bytes:
    return (record.value or b"") + b"\n"


def _raw_key_value(separator: bytes) -> Print:
    return lambda record: (record.key or b"") + separator + (record.value or b"") + b"\n"


def _shown_value(values: Format) -> Print:
    return lambda record: _text(formatted(record.value, values)).encode() + b"\n"


def _shown_key_value(separator: bytes, keys: Format, values: Format) -> Print:
    value = _shown_value(values)
    return lambda record: _text(formatted(record.key, keys)).encode() + separator + value(record)


def _full(row: dict[str, Any]) -> bytes:
    text = f"{row['partition']}:{row['offset']}  {time_text(row['timestamp'])}"
    text += f"  {_text(row['key'])} = {_text(row['value'])}"
    for name, value in row["headers"]:
        text += f"  {name}:{_text(value)}"
    return text.encode() + b"\n"


def _text(value: object) -> str:
    if value is None:
        return "null"
    return value if isinstance(value, str) else _encode_json(value)


def _template(template: str, keys: Format, values: Format) -> Print:
    pieces = re.split(r"\{([\w.-]+)\}", unescaped(template).decode("utf-8", "surrogateescape"))
    if len(pieces) == 1:
        raise BadInput(f"--format: {template!r} has no part of a record, as in '{{key}} {{value}}'")
    for name in pieces[1::2]:
        if name not in FIELDS and not name.startswith(HEADER):
            hint = did_you_mean(name, list(FIELDS)) or f"; there are {', '.join(FIELDS)}"
            raise BadInput(f"--format: a record has no {{{name}}}{hint}")

    def fill(record: Any) -> bytes:
        row = row_of(record, keys, values)
        filled = (_field(row, piece) if i % 2 else piece for i, piece in enumerate(pieces))
        return "".join(filled).encode("utf-8", "surrogateescape") + b"\n"

    return fill


def _field(row: dict[str, Any], name: str) -> str:
    if not name.startswith(HEADER):
        return _text(row[name])
    wanted = name.removeprefix(HEADER)
    found = [value for header, value in row["headers"] if header == wanted]
    return ",".join(_text(value) for value in found)


def _percent_template(template: str, keys: Format, values: Format) -> Print:
    """kcat's: bytes as they are, null as nothing, headers as name=value,…"""
    show = {"key": _raw if keys is Format.AUTO else _shown(keys),
            "value": _raw if values is Format.AUTO else _shown(values)}  # fmt: skip
    parts: list[Piece] = []
    for text, letter in re.findall(r"([^%]+)|%(.?)", template, re.DOTALL):
        parts.append(_constant(unescaped(text)) if text else _piece(letter, show))

    return lambda record: b"".join(part(record) for part in parts)


def _piece(letter: str, show: dict[str, Callable[[Any], bytes]]) -> Piece:
    if letter == "%":
        return _constant(b"%")
    if letter in SIZES:
        name = SIZES[letter]
        return lambda record: str(_size_bytes(getattr(record, name))).encode()
    if letter not in LETTERS:
        known = " ".join(f"%{each}" for each in (*LETTERS, *SIZES))
        raise BadInput(f"--format: there is no %{letter}; there are {known} and %%")
    field = LETTERS[letter]
    if field == "headers":
        value = show["value"]
        return lambda record: b",".join(
            name.encode() + b"=" + value(each) for name, each in record.headers
        )
    how = show.get(field, lambda each: str(each).encode())
    return lambda record: how(getattr(record, field))


def _constant(text: bytes) -> Piece:
    return lambda _: text


def _raw(data: bytes | None) -> bytes:
    return data or b""


def _shown(how: Format) -> Callable[[bytes | None], bytes]:
    return lambda data: b"" if data is None else _text(formatted(data, how)).encode()


def _size_bytes(data: bytes | None) -> int:
    return NO_VALUE_SIZE if data is None else len(data)
