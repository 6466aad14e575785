"""Snapshots of a test's broker: the whole data directory, cheap to take and to go back to.

A closed segment's files never change again, so they are linked; what may still be written is
copied. The broker is stopped for a moment while that happens, which is what makes the copy
whole: a few milliseconds, on the same port.
"""

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.server.broker import Broker as ServerBroker

if TYPE_CHECKING:
    from barnabas.server.testing.broker import Broker

SEGMENT_FILES = {".log", ".index", ".timeindex", ".txnindex"}


def take_snapshot(broker: "Broker", target: Path) -> None:
    """Put a copy of the broker's data into `target`, which must not exist."""
    with _Stopped(broker):
        copy_tree(broker.data_dir, target)


def put_back(broker: "Broker", source: Path) -> None:
    """Replace the broker's data by a snapshot."""
    with _Stopped(broker):
        data_dir = broker.data_dir
        for entry in data_dir.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            else:
                entry.unlink()
        copy_tree(source, data_dir, may_exist=True)


def copy_tree(source: Path, target: Path, *, may_exist: bool = False) -> None:
    """Copy a data directory; files of closed segments are linked."""
    target.mkdir(parents=True, exist_ok=may_exist)
    for entry in sorted(source.iterdir()):
        if entry.is_dir():
            _copy_partition(entry, target / entry.name)
        else:
            shutil.copy2(entry, target / entry.name)


def _copy_partition(source: Path, target: Path) -> None:
    target.mkdir()
    active = max((entry.stem for entry in source.glob("*.log")), default="")
    for entry in sorted(source.iterdir()):
        if entry.suffix in SEGMENT_FILES and entry.stem < active:
            os.link(entry, target / entry.name)
        else:
            shutil.copy2(entry, target / entry.name)


class _Stopped:
    """The broker is stopped inside this block, and back on its port behind it."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._port = broker.port

    def __enter__(self) -> None:
        self._broker.halt(ServerBroker.stop)

    def __exit__(self, *_: object) -> None:
        self._broker.come_back(self._port)
