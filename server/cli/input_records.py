"""Records from lines, CSV or JSON lines: what `barnabas produce` sends.

A line is a value as it is. A CSV row and a JSON line become JSON objects, or one of their
columns alone. Input is read as it comes, never whole.
"""

import csv
import json
from collections.abc import Callable, Iterator
from typing import IO, Any, NamedTuple

from barnabas.server.cli.failures import BadInput, did_you_mean

LINES, CSV, JSON_LINES = "lines", "csv", "jsonl"
_encode_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Columns(NamedTuple):
    """Which columns are the key, the value (all without one) and the time; "" for none."""

    key: str = ""
    value: str = ""
    timestamp: str = ""
    delimiter: str = ","
    key_separator: str = ""


class Record(NamedTuple):
    """What one line of input becomes."""

    key: bytes | None
    value: bytes | None
    timestamp_ms: int | None = None


def records_of(file: IO[bytes], name: str, form: str, columns: Columns) -> Iterator[Record]:
    """The records of a file; BadInput names the file and the line of what cannot be one."""
    makers: dict[str, Callable[[IO[bytes], str, Columns], Iterator[Record]]] = {
        LINES: _from_lines,
        CSV: _from_csv,
        JSON_LINES: _from_json_lines,
    }
    return makers[form](file, name, columns)


def _from_lines(file: IO[bytes], name: str, columns: Columns) -> Iterator[Record]:
    separator = columns.key_separator.encode()
    for number, line in enumerate(file, 1):
        value = line.rstrip(b"\r\n") if line.endswith(b"\n") else line
        if not separator:
            yield Record(None, value)
            continue
        key, found, value = value.partition(separator)
        if not found:
            raise BadInput(
                f"{name}:{number}: no {columns.key_separator!r} between a key and a value"
            )
        yield Record(key, value)


def _from_csv(file: IO[bytes], name: str, columns: Columns) -> Iterator[Record]:
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
                    f"{name}:{reader.line_num}: {_count(len(row), 'column')} under"
                    f" {_count(len(heads), 'head')}; every row needs as many as the first"
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
    options = {"--key": columns.key, "--value": columns.value, "--timestamp": columns.timestamp}
    for option, column in options.items():
        if column and column not in heads:
            hint = did_you_mean(column, heads) or f"; it has {', '.join(heads)}"
            raise BadInput(f"{option}: {name} has no column {column}{hint}")


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _from_json_lines(file: IO[bytes], name: str, columns: Columns) -> Iterator[Record]:
    takes_apart = columns.key or columns.value or columns.timestamp
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line.rstrip())
        except ValueError as error:
            raise BadInput(f"{name}:{number}: not JSON: {_reason(error)}") from error
        if not takes_apart:
            yield Record(None, line.strip())
            continue
        if not isinstance(row, dict):
            raise BadInput(f"{name}:{number}: columns are taken from JSON objects only")
        yield _record(row, f"{name}:{number}", columns, whole=line.strip())


def _reason(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg.lower()} at column {error.colno}"
    return "not UTF-8"


def _record(
    row: dict[str, Any], where: str, columns: Columns, whole: bytes | None = None
) -> Record:
    if columns.value:
        value = _cell(row, columns.value, where, "--value")
    else:
        value = whole if whole is not None else _encode_json(row).encode()
    key = _cell(row, columns.key, where, "--key") if columns.key else None
    if not columns.timestamp:
        return Record(key, value)
    return Record(key, value, _time(_cell(row, columns.timestamp, where, "--timestamp"), where))


def _cell(row: dict[str, Any], column: str, where: str, option: str) -> bytes | None:
    if column not in row:
        known = [str(name) for name in row]
        hint = did_you_mean(column, known) or f"; it has {', '.join(known) or 'none'}"
        raise BadInput(f"{option}: {where} has no column {column}{hint}")
    cell = row[column]
    if cell is None:
        return None
    return (cell if isinstance(cell, str) else _encode_json(cell)).encode()


def _time(cell: bytes | None, where: str) -> int | None:
    from barnabas.server.cli.times import FORMS, parse_time_ms

    if not cell:
        return None
    text = cell.decode()
    time_ms = int(text) if text.isdigit() else parse_time_ms(text)
    if time_ms is None:
        raise BadInput(f"--timestamp: {where}: {text!r} is no time; {FORMS} are")
    return time_ms
