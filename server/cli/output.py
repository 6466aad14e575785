"""Where answers go: JSON lines, plain columns, or a coloured table on a terminal.

Notes for people go to the standard error, so that what a script reads is never mixed with them.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Row = dict[str, Any]
NOTHING = "-"
GAP, FOLDED = 2, (20, 10)  # between columns; how narrow texts may be folded


def print_rows(rows: Iterable[Row], columns: Sequence[str], *, as_json: bool) -> None:
    """Print rows: whole as JSON, otherwise the columns, whose heads are their keys in words."""
    if as_json:
        for row in rows:
            print_json(row)
        return
    lines = [[cell_text(row.get(column)) for column in columns] for row in rows]
    heads = [column.replace("_", " ") for column in columns]
    if lines and sys.stdout.isatty():
        _print_table(heads, lines)
    elif lines:
        _print_columns(heads, lines)


def print_json(row: Row) -> None:
    """Print one object as one line."""
    sys.stdout.write(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n")


def note(text: str) -> None:
    """Say something to a person: on the standard error."""
    print(text, file=sys.stderr)


def write_nowhere() -> None:
    """Give up a standard output that cannot be written: Python flushes once more on its way out."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def counted(count: int, noun: str) -> str:
    """1 record, 2,000 records."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


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
    """A table that fits the terminal, in tighter forms where it is narrow.

    Heads are wrapped between words, long texts folded, columns without any value left out; what
    does not fit even so comes as blocks of a line a column.
    """
    from rich.cells import cell_len
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    kept = range(len(heads))
    if _widths(heads, lines, cell_len, gap=GAP)[1] > console.width:
        kept_too = [i for i in kept if any(line[i] != NOTHING for line in lines)]
        heads = [heads[i] for i in kept_too]
        lines = [[line[i] for i in kept_too] for line in lines]
    for gap, fold in ((GAP, None), (1, None), *((1, fold) for fold in FOLDED)):
        widths, total = _widths(heads, lines, cell_len, gap=gap, fold=fold)
        if total <= console.width:
            spare = console.width - total if fold else 0
            console.print(_table(heads, lines, _grown(widths, heads, lines, cell_len, spare), gap))
            return
    _print_blocks(console, heads, lines)


def _widths(
    heads: list[str], lines: list[list[str]], size: Callable[[str], int], *, gap: int,
    fold: int | None = None,
) -> tuple[list[int], int]:  # fmt: skip
    """The least width of each column, and of the table; texts may be folded to `fold`."""
    found = []
    for i, head in enumerate(heads):
        cells = max((size(line[i]) for line in lines), default=0)
        if fold and not _is_numeric(lines, i):
            cells = min(cells, fold)
        found.append(max(cells, *(size(word) for word in head.split())))
    return found, sum(found) + gap * (len(found) - 1)


def _grown(
    widths: list[int], heads: list[str], lines: list[list[str]], size: Callable[[str], int],
    spare: int,
) -> list[int]:  # fmt: skip
    """Give columns that were folded what room is left."""
    whole, _ = _widths(heads, lines, size, gap=0)
    for i, width in enumerate(widths):
        more = min(whole[i] - width, spare)
        widths[i], spare = width + more, spare - more
    return widths


def _table(heads: list[str], lines: list[list[str]], widths: list[int], gap: int) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(
        box=box.SIMPLE_HEAD, header_style="bold cyan", pad_edge=False, show_edge=False,
        padding=(0, gap - 1, 0, 0),
    )  # fmt: skip
    for i, head in enumerate(heads):
        right = _is_numeric(lines, i)
        table.add_column(
            head, justify="right" if right else "left", overflow="fold",
            min_width=widths[i], max_width=max(widths[i], len(head) if gap > 1 else 0),
        )  # fmt: skip
    for line in lines:
        table.add_row(*line)
    return table


def _print_blocks(console: Any, heads: list[str], lines: list[list[str]]) -> None:
    width = max(map(len, heads))
    for number, line in enumerate(lines):
        if number:
            console.print()
        for head, cell in zip(heads, line, strict=True):
            console.print(head.ljust(width), style="bold cyan", end="  ")
            console.print(cell, overflow="fold")


def _is_numeric(lines: list[list[str]], index: int) -> bool:
    cells = [line[index] for line in lines if line[index] != NOTHING]
    return bool(cells) and all(cell.lstrip("+-").isdigit() for cell in cells)
