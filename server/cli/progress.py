"""A progress bar with a rate, on the standard error and only on a terminal."""

import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

RECORDS_PER_UPDATE = 2000


class Progress:
    """Counts records; shows them if there is somebody to see them."""

    def __init__(self, show: Callable[[int], None] | None = None) -> None:
        self._show = show
        self._count = 0

    def advance(self) -> None:
        """One more record."""
        self._count += 1
        if self._show is not None and self._count % RECORDS_PER_UPDATE == 0:
            self._show(self._count)


@contextmanager
def progress_over(file: IO[bytes], *, quiet: bool) -> Iterator[Progress]:
    """Progress through a file: how much of it is done, for a pipe only the count and rate."""
    if quiet or not sys.stderr.isatty() or (sys.stdin.isatty() and file is sys.stdin.buffer):
        yield Progress()
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        BarColumn(),
        TextColumn("{task.fields[records]:,} records"),
        TextColumn("{task.fields[rate]:,.0f}/s"),
        TimeElapsedColumn(),
    )
    size_bytes = _size_bytes(file)
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=size_bytes, records=0, rate=0.0)

        def show(count: int) -> None:
            elapsed_s = bar.tasks[0].elapsed or 0.001
            done = os.lseek(file.fileno(), 0, os.SEEK_CUR) if size_bytes else None
            bar.update(task, completed=done, records=count, rate=count / elapsed_s)

        yield Progress(show)


def _size_bytes(file: IO[bytes]) -> int | None:
    status = os.fstat(file.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) else None
