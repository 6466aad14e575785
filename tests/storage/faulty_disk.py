"""A disk that stops, tears or fails at the n-th thing asked of it, and forgets what was not
synced when the power goes.

Only calls that change something count. Three ends are told apart:

* the process dies (`KILL`, `TEAR`): the page cache lives on, all that was written is there;
* the power goes (`POWER`): of a file only what was there at its last fsync is left, of a
  directory only the names it had at its last fsync;
* the disk reports an error (`EIO`, `FULL`): once for one call, or at each one from there on.
"""

import errno
import os
import shutil
from collections.abc import Callable
from dataclasses import fields
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

from barnabas.storage.disk.fs import FileSystem

CHANGES = {
    "write", "writev", "pwrite", "fsync", "ftruncate", "rename", "link", "unlink",
    "make_directory", "remove_directory", "set_times",
}  # fmt: skip
WRITES = {"write", "pwrite"}


class Fault(Enum):
    """What happens at the n-th change."""

    NONE = "nothing"
    KILL = "the process dies before it"
    TEAR = "the process dies in the middle of a write"
    POWER = "the power goes before it"
    EIO = "it fails, and so does everything after it"
    ONCE = "it fails, what comes after works"
    FULL = "no more data can be written: short writes, then ENOSPC"
    SHORT = "a write takes a part only, which is no fault"


class Killed(BaseException):
    """The process is dead: nobody may catch this."""


class FaultyDisk:
    """File calls on a real directory, up to the fault."""

    def __init__(self, root: Path, fault: Fault = Fault.NONE, at: int = 0) -> None:
        self.root = root
        self.fault = fault
        self.at = at
        self.changes = 0
        """How many changes were asked for."""
        self.trace: list[str] = []
        self.is_dead = False
        self._has_struck = False
        self._numbers: dict[int, int] = {}
        self._last_number = 0
        self._contents: dict[int, bytes] = {}
        self._names: dict[int, dict[str, int]] = {}
        self.fs = FileSystem()
        for name in (each.name for each in fields(FileSystem)):
            setattr(self.fs, name, partial(self._call, name, getattr(self.fs, name)))

    def _call(self, name: str, real: Callable[..., Any], *arguments: Any) -> Any:
        if self.is_dead and name != "close":
            raise Killed
        if name not in CHANGES and not (name == "open" and self._creates(*arguments)):
            return real(*arguments)
        is_new = name in ("open", "make_directory") and not Path(arguments[0]).exists()
        number = self.changes
        self.changes += 1
        self.trace.append(f"{number} {name} {self._describe(name, arguments)}")
        if number >= self.at and self.fault is not Fault.NONE:
            if name in WRITES and len(arguments[1]) > 1:
                arguments = self._strike_write(number, real, *arguments)
            else:
                self._strike(number, name)
        result = (self._sync if name == "fsync" else real)(*arguments)
        if is_new:
            self._renumber(Path(arguments[0]))
        return result

    def _creates(self, path: str, flags: int, mode: int) -> bool:
        if flags & os.O_TRUNC:
            return True
        return bool(flags & os.O_CREAT) and not Path(path).exists()

    def _describe(self, name: str, arguments: tuple[Any, ...]) -> str:
        first = arguments[0]
        path = Path(f"/proc/self/fd/{first}").readlink() if isinstance(first, int) else Path(first)
        return str(path).removeprefix(str(self.root))

    # --- faults ------------------------------------------------------------------------

    def _strike_write(
        self, number: int, real: Callable[..., Any], fd: int, data: Any, *position: Any
    ) -> tuple[Any, ...]:
        half = memoryview(data)[: len(data) // 2]
        match self.fault:
            case Fault.TEAR:
                real(fd, half, *position)
                self._die()
            case Fault.SHORT:
                return (fd, half, *position)
            case Fault.FULL if number == self.at:
                return (fd, half, *position)
            case Fault.FULL:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._strike(number, "write")
        return (fd, data, *position)

    def _strike(self, number: int, name: str) -> None:
        match self.fault:
            case Fault.KILL | Fault.TEAR | Fault.POWER:
                self._die()
            case Fault.EIO:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            case Fault.ONCE if not self._has_struck:
                self._has_struck = True
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            case Fault.FULL if name in ("open", "make_directory") and number > self.at:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _die(self) -> None:
        self.is_dead = True
        raise Killed

    # --- what outlives a power cut -----------------------------------------------------

    def _renumber(self, path: Path) -> int:
        """A number for a new file: its inode may have been another's before."""
        self._last_number += 1
        self._numbers[path.stat().st_ino] = self._last_number
        return self._last_number

    def _number(self, path: Path) -> int:
        return self._numbers.get(path.stat().st_ino) or self._renumber(path)

    def _sync(self, fd: int) -> None:
        """Note what a sync makes durable; a real one would only cost time."""
        path = Path(f"/proc/self/fd/{fd}")
        if path.is_dir():
            self._names[self._number(path)] = {
                each.name: self._number(each) for each in path.iterdir()
            }
        else:
            self._contents[self._number(path)] = path.read_bytes()

    def cut_power(self) -> None:
        """Leave of the directory what was durable."""
        left = self.root.with_name(self.root.name + ".left")
        directories = {self._number(each) for each in self.root.rglob("*") if each.is_dir()}
        self._copy_durable(self._number(self.root), left, directories)
        shutil.rmtree(self.root)
        left.rename(self.root)

    def _copy_durable(self, number: int, target: Path, directories: set[int]) -> None:
        target.mkdir()
        for name, inner in self._names.get(number, {}).items():
            if inner in directories or inner in self._names:
                self._copy_durable(inner, target / name, directories)
            else:
                (target / name).write_bytes(self._contents.get(inner, b""))
