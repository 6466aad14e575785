"""How `barnabas consume` prints a record.

value       the value and a line feed, byte for byte
key-value   the key, a tab, the value
full        partition, offset, time, key, value and headers, for people
json        one JSON object, with stable keys
{…}         a template: {topic} {partition} {offset} {timestamp} {key} {value} {headers}
"""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from barnabas.server.cli.failures import BadInput, did_you_mean
from barnabas.server.cli.log_tools.formats import Format, formatted

FORMATS = ("value", "key-value", "full", "json")
FIELDS = ("topic", "partition", "offset", "timestamp", "key", "value", "headers")
Print = Callable[[Any], bytes]
_encode_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def printer(name: str, keys: Format, values: Format) -> Print:
    """The function that makes a kafka-python record the bytes to print."""
    if "{" in name:
        return _template(name, keys, values)
    if name == "json":
        return lambda record: _encode_json(row_of(record, keys, values)).encode() + b"\n"
    if name == "full":
        return lambda record: _full(row_of(record, keys, values))
    if name not in FORMATS:
        hint = did_you_mean(name, list(FORMATS)) or f"; there are {', '.join(FORMATS)}"
        raise BadInput(f"--format: there is no format {name}{hint} or a template with {{value}}")
    if keys is Format.AUTO and values is Format.AUTO:
        return _raw_value if name == "value" else _raw_key_value
    return _template("{value}" if name == "value" else "{key}\t{value}", keys, values)


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


def _raw_key_value(record: Any) -> bytes:
    return (record.key or b"") + b"\t" + (record.value or b"") + b"\n"


def _full(row: dict[str, Any]) -> bytes:
    moment = datetime.fromtimestamp(row["timestamp"] / 1000, UTC)
    text = f"{row['partition']}:{row['offset']}  {moment:%Y-%m-%dT%H:%M:%S}."
    text += f"{row['timestamp'] % 1000:03}Z  {_text(row['key'])} = {_text(row['value'])}"
    for name, value in row["headers"]:
        text += f"  {name}:{_text(value)}"
    return text.encode() + b"\n"


def _text(value: object) -> str:
    if value is None:
        return "null"
    return value if isinstance(value, str) else _encode_json(value)


def _template(template: str, keys: Format, values: Format) -> Print:
    pieces = re.split(r"\{(\w+)\}", template.replace("\\t", "\t").replace("\\n", "\n"))
    for name in pieces[1::2]:
        if name not in FIELDS:
            hint = did_you_mean(name, list(FIELDS)) or f"; there are {', '.join(FIELDS)}"
            raise BadInput(f"--format: a record has no {{{name}}}{hint}")

    def fill(record: Any) -> bytes:
        row = row_of(record, keys, values)
        filled = (_text(row[piece]) if i % 2 else piece for i, piece in enumerate(pieces))
        return "".join(filled).encode() + b"\n"

    return fill
