"""The screen of `barnabas top`: three tables that fit the terminal, renewed, until q."""

import os
import select
import signal
import sys
import termios
import time
import tty
from types import TracebackType
from typing import Any

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from barnabas.server.cli.output import GAP, NOTHING, Row
from barnabas.server.cli.sizes import in_words
from barnabas.server.cli.top_samples import Changes

# column -> what stands above it; narrow terminals leave out the last of each table
TOPICS = {"topic": "topic", "records_per_s": "records/s", "bytes_per_s": "bytes/s",
          "partitions": "partitions", "records": "records", "bytes": "size"}  # fmt: skip
GROUPS = {"group": "group", "lag": "lag", "read_per_s": "read/s", "state": "state",
          "members": "members", "lag_per_s": "lag/s"}  # fmt: skip
BROKERS = {"broker": "broker", "host": "host", "leads": "leads", "bytes": "size",
           "connections": "connections"}  # fmt: skip
NARROW = 70
NARROW_COLUMNS = 4
RESERVED_LINES = 11  # heads and gaps of the tables, the line on top and the last
LOW = 16  # lower terminals have no table of brokers
QUIT = b"qQ\x03"
TERMINATED = 128 + signal.SIGTERM  # as shells have it
AWAY = "no broker answers; trying again"


class Screen:
    """The whole terminal, until it is left; then it is as it was."""

    def __init__(self, bootstrap: str, interval_s: float) -> None:
        self._bootstrap, self._interval_s = bootstrap, interval_s
        self._console = Console(highlight=False, markup=False, emoji=False)
        self._live = Live(console=self._console, screen=True, auto_refresh=False)
        self._fd = sys.stdin.fileno()
        self._shown: Changes | None = None

    def __enter__(self) -> "Screen":
        self._before = termios.tcgetattr(self._fd)
        # Left to itself SIGTERM ends the process, not the alternate screen and the missing echo.
        self._handler = signal.signal(signal.SIGTERM, _end)
        tty.setcbreak(self._fd)
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None
    ) -> bool:
        self._live.stop()
        termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)
        signal.signal(signal.SIGTERM, self._handler)
        return kind is KeyboardInterrupt

    def show(self, changes: Changes) -> None:
        """Draw what there is, as much of it as fits."""
        self._shown = changes
        self._draw(changes)

    def show_away(self) -> None:
        """Draw what there was, and that nobody answers."""
        if self._shown is not None:
            self._draw(self._shown, is_away=True)

    def _draw(self, changes: Changes, *, is_away: bool = False) -> None:
        size = self._console.size
        picture = drawn(changes, self._bootstrap, size.width, size.height, is_away=is_away)
        self._live.update(picture, refresh=True)

    def wait(self) -> bool:
        """Until the next look; False at once when q is typed."""
        deadline_s = time.monotonic() + self._interval_s
        while (left_s := deadline_s - time.monotonic()) > 0:
            ready, _, _ = select.select([self._fd], [], [], left_s)
            if ready:
                typed = os.read(self._fd, 1)
                if not typed or typed in QUIT:
                    return False
        return True


def _end(*_: object) -> None:
    sys.exit(TERMINATED)


def drawn(
    changes: Changes, bootstrap: str, width: int, height: int, *, is_away: bool = False
) -> Group:
    """The screen for a terminal of that size."""
    topics, groups, brokers = changes.topics(), changes.groups(), changes.brokers()
    brokers = brokers[: height // 5] if height >= LOW else []
    room = max(height - RESERVED_LINES - len(brokers), 2)
    for_groups = min(len(groups), room // 2)
    shown = (
        (topics[: room - for_groups], TOPICS), (groups[:for_groups], GROUPS), (brokers, BROKERS)
    )  # fmt: skip
    parts: list[Any] = [_head(topics, groups, bootstrap, width, is_away=is_away)]
    for rows, columns in shown:
        if rows:
            parts += ["", _table(rows, columns, width)]
    return Group(*parts)


def _head(
    topics: list[Row], groups: list[Row], bootstrap: str, width: int, *, is_away: bool
) -> Text:
    records = sum(row["records_per_s"] for row in topics)
    size = in_words(sum(row["bytes_per_s"] for row in topics))
    lag = sum(row["lag"] for row in groups)
    text = Text("barnabas top  ", "bold")
    if is_away:
        text.append(AWAY, "bold red")
    else:
        text.append(f"{records:,} records/s  {size}/s  lag {lag:,}", "bold green")
    text.append("  q quits", "dim")
    text.append(f"  {time.strftime('%H:%M:%S')}  {bootstrap}", "dim")
    text.truncate(width, overflow="ellipsis")
    return text


def _table(rows: list[Row], columns: dict[str, str], width: int) -> Table:
    """Numbers whole, the name as wide as there is room."""
    shown = dict(list(columns.items())[:NARROW_COLUMNS]) if width < NARROW else columns
    lines = [[_cell(name, row[name]) for name in shown] for row in rows]
    widths = [
        max(len(text) for text in column) for column in zip(shown.values(), *lines, strict=True)
    ]
    widths[0] = min(widths[0], width - sum(widths[1:]) - GAP * (len(widths) - 1))
    table = Table(
        box=box.SIMPLE_HEAD, header_style="bold cyan", pad_edge=False, show_edge=False,
        padding=(0, GAP - 1, 0, 0),
    )  # fmt: skip
    for number, head in enumerate(shown.values()):
        is_name = number == 0 or head in ("host", "state")
        table.add_column(
            head, justify="left" if is_name else "right", no_wrap=True, overflow="ellipsis",
            width=max(widths[number], 1),
        )  # fmt: skip
    for line in lines:
        table.add_row(*line)
    return table


def _cell(name: str, value: object) -> str:
    if value is None:
        return NOTHING
    if name in ("bytes", "bytes_per_s") and isinstance(value, int):
        return in_words(value)
    return f"{value:,}" if isinstance(value, int) and name != "broker" else str(value)
