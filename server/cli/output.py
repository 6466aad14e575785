"""Where answers go: JSON lines, plain columns, or a coloured table on a terminal.

Notes for people go to the standard error, so that what a script reads is never mixed with them.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

Row = dict[str, Any]
NOTHING = "-"


def print_rows(rows: Iterable[Row], columns: Sequence[str], *, as_json: bool) -> None:
    """Print rows: whole as JSON, otherwise the columns, whose heads are their keys in words."""
    if as_json:
        for row in rows:
            print_json(row)
        return
    lines = [[cell_text(row.get(column)) for column in columns] for row in rows]
    heads = [column.replace("_", " ") for column in columns]
    if sys.stdout.isatty():
        _print_table(heads, lines)
    elif lines:
        _print_columns(heads, lines)


def print_json(row: Row) -> None:
    """Print one object as one line."""
    sys.stdout.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")


def note(text: str) -> None:
    """Say something to a person: on the standard error."""
    print(text, file=sys.stderr)


def cell_text(value: object) -> str:
    """A value as a table shows it."""
    if value is None or value == "":
        return NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ",".join(str(part) for part in value) or NOTHING
    return str(value)


def _print_columns(heads: list[str], lines: list[list[str]]) -> None:
    table = [[head.upper() for head in heads], *lines]
    widths = [max(len(line[i]) for line in table) for i in range(len(heads))]
    right = [_is_numeric(lines, i) for i in range(len(heads))]
    for line in table:
        cells = zip(line, widths, right, strict=True)
        text = "  ".join(c.rjust(w) if is_right else c.ljust(w) for c, w, is_right in cells)
        sys.stdout.write(text.rstrip() + "\n")


def _print_table(heads: list[str], lines: list[list[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, header_style="bold cyan", pad_edge=False)
    for index, head in enumerate(heads):
        right = _is_numeric(lines, index)
        table.add_column(head, justify="right" if right else "left", overflow="fold")
    for line in lines:
        table.add_row(*line)
    Console(highlight=False, markup=False, emoji=False).print(table)


def _is_numeric(lines: list[list[str]], index: int) -> bool:
    cells = [line[index] for line in lines if line[index] != NOTHING]
    return bool(cells) and all(cell.lstrip("+-").isdigit() for cell in cells)
