"""Records from lines, CSV or JSON lines: what `barnabas produce` sends.

A line is a value as it is. A CSV row and a JSON line become JSON objects, or one of their
columns alone. A JSON line that `consume --json` has printed becomes that record again, byte
for byte. Input is read as it comes, never whole.
"""

import binascii
import codecs
import csv
import json
from base64 import b64decode
from collections.abc import Callable, Iterator
from typing import IO, Any, NamedTuple

from barnabas.server.cli.escapes import unescaped
from barnabas.server.cli.failures import BadInput, did_you_mean
from barnabas.server.cli.line_formats import LineFormat, headers_of
from barnabas.server.cli.output import counted
from barnabas.server.cli.whole_numbers import whole_number

LINES, CSV, JSON_LINES = "lines", "csv", "jsonl"
_encode_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


Header = tuple[str, bytes | None]
MOST_CELL = 1 << 28  # ends a quote that nothing closes; Python's own 128 KB ends records, too
MOST_PARTITION = (1 << 31) - 1
CONSUMED = {"topic", "partition", "offset", "timestamp", "key", "value", "headers"}


class Columns(NamedTuple):
    """Which columns are the key, the value (all without one), the time, the headers and the
    partition; "" for none.
    """

    key: str = ""
    value: str = ""
    timestamp: str = ""
    headers: str = ""
    partition: str = ""
    delimiter: str = ","
    key_separator: str = ""
    line_format: LineFormat | None = None

    def by_option(self) -> dict[str, str]:
        """The columns that were named, by the option that names them."""
        names = {"--key": self.key, "--value": self.value, "--timestamp": self.timestamp,
                 "--headers": self.headers, "--partition": self.partition}  # fmt: skip
        return {option: name for option, name in names.items() if name}


class Record(NamedTuple):
    """What one line of input becomes."""

    key: bytes | None
    value: bytes | None
    timestamp_ms: int | None = None
    headers: list[Header] | None = None
    partition: int | None = None


def records_of(file: IO[bytes], name: str, form: str, columns: Columns) -> Iterator[Record]:
    """The records of a file; BadInput names the file and the line of what cannot be one."""
    makers: dict[str, Callable[[IO[bytes], str, Columns], Iterator[Record]]] = {
        LINES: _from_lines,
        CSV: _from_csv,
        JSON_LINES: _from_json_lines,
    }
    return makers[form](file, name, columns)


def _from_lines(file: IO[bytes], name: str, columns: Columns) -> Iterator[Record]:
    """Lines as values; with a separator or a format as more. --key is the key of all here."""
    separator = unescaped(columns.key_separator)
    fixed = columns.key.encode("utf-8", "surrogateescape") if columns.key else None
    for number, line in enumerate(file, 1):
        value = line.rstrip(b"\r\n") if line.endswith(b"\n") else line
        if columns.line_format is not None:
            yield _from_parts(columns.line_format, value, f"{name}:{number}", fixed)
            continue
        if not separator:
            yield Record(fixed, value)
            continue
        key, found, value = value.partition(separator)
        if not found:
            raise BadInput(
                f"{name}:{number}: no {columns.key_separator!r} between a key and a value"
            )
        yield Record(key, value)


def _from_parts(form: LineFormat, line: bytes, where: str, key: bytes | None) -> Record:
    parts = form.parts(line)
    if parts is None:
        raise BadInput(f"{where}: not like {form.template!r}")
    headers = headers_of(parts["headers"]) if "headers" in parts else None
    number, moment = (
        parts.get(each, b"").decode("utf-8", "replace") for each in ("partition", "timestamp")
    )
    return Record(
        parts.get("key", key), parts.get("value"), _time(moment, where), headers,
        _partition(number, where),
    )  # fmt: skip


def _from_csv(file: IO[bytes], name: str, columns: Columns) -> Iterator[Record]:
    csv.field_size_limit(MOST_CELL)
    reader = csv.reader(_text_lines(file, name), delimiter=columns.delimiter, strict=True)
    heads: list[str] = []
    try:
        for row in reader:
            if not heads:
                heads = row
                _check_heads(heads, name, columns)
            elif len(row) == len(heads):
                yield _record(
                    dict(zip(heads, row, strict=True)), f"{name}:{reader.line_num}", columns
                )
            elif row:
                raise BadInput(
                    f"{name}:{reader.line_num}: {counted(len(row), 'column')} under"
                    f" {counted(len(heads), 'head')}; every row needs as many as the first"
                )
    except csv.Error as error:
        raise BadInput(f"{name}:{reader.line_num}: not CSV: {error}") from error


def _text_lines(file: IO[bytes], name: str) -> Iterator[str]:
    for number, line in enumerate(file, 1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise BadInput(
                f"{name}:{number}: byte {error.start + 1} is not UTF-8; convert the file first"
            ) from error


def _check_heads(heads: list[str], name: str, columns: Columns) -> None:
    if twice := next((head for head in heads if heads.count(head) > 1), None):
        raise BadInput(f"{name}: the column {twice} is there twice; one of them would be lost")
    for option, column in columns.by_option().items():
        if column not in heads:
            hint = did_you_mean(column, heads) or f"; it has {', '.join(heads)}"
            raise BadInput(f"{option}: {name} has no column {column}{hint}")


def _from_json_lines(file: IO[bytes], name: str, columns: Columns) -> Iterator[Record]:
    takes_apart = bool(columns.by_option())
    for number, text in enumerate(file, 1):
        line = text if number > 1 else text.removeprefix(codecs.BOM_UTF8)
        if not line.strip():
            continue
        where = f"{name}:{number}"
        try:
            row = json.loads(line.rstrip())
        except ValueError as error:
            raise BadInput(f"{where}: not JSON: {_reason(error)}") from error
        except RecursionError:
            raise BadInput(f"{where}: JSON that is nested too deeply") from None
        if isinstance(row, dict) and row.keys() == CONSUMED:
            yield _record(row, where, _as_consumed(columns))
        elif not takes_apart:
            yield Record(None, line.strip())
        elif isinstance(row, dict):
            yield _record(row, where, columns, whole=line.strip())
        else:
            raise BadInput(f"{where}: columns are taken from JSON objects only")


def _as_consumed(columns: Columns) -> Columns:
    """Everything of a record that `consume --json` has printed, but for the partition."""
    return columns._replace(
        key=columns.key or "key", value=columns.value or "value",
        timestamp=columns.timestamp or "timestamp", headers=columns.headers or "headers",
    )  # fmt: skip


def _reason(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg.lower()} at column {error.colno}"
    return "not UTF-8" if isinstance(error, UnicodeDecodeError) else "a number of too many digits"


def _record(
    row: dict[str, Any], where: str, columns: Columns, whole: bytes | None = None
) -> Record:
    def taken(option: str, column: str) -> Any:
        return _cell(row, column, where, option) if column else None

    if columns.value:
        value = _bytes(taken("--value", columns.value), f"--value: {where}")
    else:
        value = whole if whole is not None else _encode_json(row).encode()
    return Record(
        _bytes(taken("--key", columns.key), f"--key: {where}"),
        value,
        _time(taken("--timestamp", columns.timestamp), where),
        _headers(taken("--headers", columns.headers), where),
        _partition(taken("--partition", columns.partition), where),
    )


def _cell(row: dict[str, Any], column: str, where: str, option: str) -> Any:
    if column not in row:
        known = [str(name) for name in row]
        hint = did_you_mean(column, known) or f"; it has {', '.join(known) or 'none'}"
        raise BadInput(f"{option}: {where} has no column {column}{hint}")
    return row[column]


def _bytes(cell: object, where: str) -> bytes | None:
    """Text as UTF-8, {"base64": …} as those bytes, anything else as JSON; null stays null."""
    if cell is None:
        return None
    if isinstance(cell, dict) and cell.keys() == {"base64"} and isinstance(cell["base64"], str):
        try:
            return b64decode(cell["base64"], validate=True)
        except (binascii.Error, ValueError):
            raise BadInput(f"{where}: {cell['base64']!r} is not base64") from None
    try:
        return (cell if isinstance(cell, str) else _encode_json(cell)).encode()
    except UnicodeEncodeError:
        raise BadInput(f"{where}: half of a surrogate pair is no text") from None


def _headers(cell: object, where: str) -> list[Header] | None:
    """[["name","value"],…] or {"name":"value",…}, in CSV as JSON text."""
    where = f"--headers: {where}"
    if cell is None or cell == "":
        return None
    if isinstance(cell, str):
        try:
            cell = json.loads(cell)
        except (ValueError, RecursionError):
            cell = ""
    pairs = list(cell.items()) if isinstance(cell, dict) else cell
    if not isinstance(pairs, list) or not all(_is_pair(pair) for pair in pairs):
        raise BadInput(f'{where}: headers are like {{"name":"value"}} or [["name","value"]]')
    return [(name, _bytes(value, where)) for name, value in pairs]


def _is_pair(pair: object) -> bool:
    return isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str)


def _partition(cell: object, where: str) -> int | None:
    if cell is None or cell == "":
        return None
    number = whole_number(str(cell))
    if number is None or number > MOST_PARTITION:
        raise BadInput(f"--partition: {where}: {str(cell)!r} is not the number of a partition")
    return number


def _time(cell: object, where: str) -> int | None:
    from barnabas.server.cli.times import FORMS, parse_time_ms

    if cell is None or cell == "":
        return None
    text = str(cell)
    if isinstance(cell, int) and not isinstance(cell, bool):
        time_ms: int | None = cell
    else:
        number = whole_number(text)
        time_ms = parse_time_ms(text) if number is None else number
    if time_ms is None or not -(1 << 63) <= time_ms < 1 << 63:
        raise BadInput(f"--timestamp: {where}: {text!r} is no time; {FORMS} are")
    return time_ms
