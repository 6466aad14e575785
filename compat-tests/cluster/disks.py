"""Disks that a nemesis can fill: a small file system in memory under one data directory.

Only root may mount one; where it cannot be done brokers share the machine's disk, which nobody
fills.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

SMALL_MB = 192
BALLAST = "ballast"
BLOCK = 1 << 20


class SomeDisk(Protocol):
    """What a data directory lies on."""

    can_be_filled: bool
    is_full: bool

    def fill(self) -> None: ...
    def empty(self) -> None: ...
    def keep(self) -> None: ...
    def remove(self) -> None: ...


Disk = Callable[[Path], SomeDisk]


class PlainDisk:
    """The machine's own, which is not filled."""

    can_be_filled = is_full = False

    def fill(self) -> None: ...
    def empty(self) -> None: ...
    def keep(self) -> None: ...
    def remove(self) -> None: ...


def plain_disk(_: Path) -> PlainDisk:
    return PlainDisk()


class SmallDisk:
    """A tmpfs over the data directory."""

    can_be_filled = True

    def __init__(self, data: Path) -> None:
        self._data = data
        self.is_full = False
        data.mkdir(parents=True, exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_MB}m", "barnabas-nl", str(data)]
        subprocess.run(command, check=True, capture_output=True)
        self._is_mounted = True

    def fill(self) -> None:
        """To the last byte, by a file that is nobody's."""
        self.is_full = True
        with contextlib.suppress(OSError), (self._data / BALLAST).open("wb", buffering=0) as file:
            while True:
                file.write(bytes(BLOCK))

    def empty(self) -> None:
        """Room again."""
        (self._data / BALLAST).unlink(missing_ok=True)
        self.is_full = False

    def keep(self) -> None:
        """What lies on it goes to the machine's disk, in the same place."""
        kept = self._data.with_name("kept")
        shutil.copytree(self._data, kept)
        self.remove()
        self._data.rmdir()
        kept.rename(self._data)

    def remove(self) -> None:
        """Unmount it; what lies on it is gone."""
        if self._is_mounted:
            subprocess.run(["umount", "-l", str(self._data)], check=True, capture_output=True)
            self._is_mounted = False


def small_disk(data: Path) -> SomeDisk:
    """One that can be filled, if this process may make it."""
    if os.geteuid() == 0 and shutil.which("mount"):
        with contextlib.suppress(subprocess.CalledProcessError):
            return SmallDisk(data)
    return PlainDisk()
