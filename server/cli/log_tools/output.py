"""Where rows and lines go: JSON lines, plain text, or colours on a terminal."""

import json
import sys
from collections.abc import Callable
from io import TextIOWrapper

from barnabas.server.cli.log_tools.segment_rows import Row
from barnabas.server.cli.log_tools.text import Line, line_of

Emit = Callable[[Row], None]


def emitter(*, as_json: bool) -> Emit:
    """A function that prints one row to the standard output."""
    if as_json:
        write = sys.stdout.write
        encode = json.JSONEncoder(separators=(",", ":")).encode

        def emit_json(row: Row) -> None:
            write(encode(row) + "\n")

        return emit_json
    show = line_printer()
    return lambda row: show(line_of(row))


def line_printer() -> Callable[[Line], None]:
    """A function that prints one line, coloured on a terminal.

    What cannot be encoded there, also bytes of a header's name that are no UTF-8, is escaped.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    if not sys.stdout.isatty():
        write = sys.stdout.write
        return lambda line: void(write(line.text + "\n"))
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True)
    return lambda line: console.print(line.text, style=line.style or None)


def void(_: object) -> None:
    """Take a result that nobody wants."""
