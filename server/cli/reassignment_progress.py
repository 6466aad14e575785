"""Waiting until partitions have the replicas that they are to have, and showing how far it is."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from barnabas.server.cli.connection import Cluster
from barnabas.server.cli.offsets import Place
from barnabas.server.cli.output import note
from barnabas.server.cli.reassignment_requests import under_way

LOOK_S: Final = 0.25
SAY_S: Final = 10.0


def wait_until_moved(cluster: Cluster, places: Sequence[Place]) -> None:
    """Return when none of the reassignments is under way any more."""
    with _shown(len(places)) as show:
        left = set(places)
        while left := left & under_way(cluster).keys():
            show(len(places) - len(left))
            time.sleep(LOOK_S)


@contextmanager
def _shown(total: int) -> Iterator[Callable[[int], None]]:
    """How to show so many are done: a bar on a terminal, now and then a line elsewhere."""
    if not sys.stderr.isatty():
        said_at = [time.monotonic()]

        def say(done: int) -> None:
            if time.monotonic() - said_at[0] >= SAY_S:
                said_at[0] = time.monotonic()
                note(f"{done:,} of {total:,} partitions are moved")

        yield say
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (BarColumn(), TextColumn("{task.completed:,} of {task.total:,} partitions"))
    console = Console(stderr=True)
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.update(task, completed=done)
