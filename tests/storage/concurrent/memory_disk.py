"""A disk in memory that knows what a power cut may leave of it.

Of a file the bytes at its last fsync are sure, and of what was asked of it since then any part
may have reached the disk: `cut_power` decides. Of a directory the names at its last fsync are
sure; of creations, renames and removals since then the first so-and-so-many, as a journalling
file system does them in order. The death of the process alone loses nothing.

`boot` gives the file calls of a new process; those of an older one raise `Killed`, except that
descriptors may always be closed.
"""

import errno
import os
import random
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

from barnabas.storage.disk.fs import Buffer, FileSystem

from ..faulty_disk import Killed

CHANGES = frozenset({
    "write", "writev", "pwrite", "fsync", "ftruncate", "rename", "link", "unlink",
    "make_directory", "remove_directory", "set_times",
})  # fmt: skip
_NAMES = tuple(each.name for each in fields(FileSystem))
Write = tuple[int, bytes | None]
"""Position and data; without data the file was cut to that length."""


@dataclass(eq=False)
class File:
    """What a file holds, what is sure of it, and what was asked since."""

    number: int
    mtime: float = 0.0
    content: bytearray = field(default_factory=bytearray)
    sure: bytes = b""
    since: list[Write] = field(default_factory=list)

    def write(self, position: int, data: bytes) -> None:
        _apply(self.content, (position, data))
        self.since.append((position, data))

    def cut(self, length: int) -> None:
        _apply(self.content, (length, None))
        self.since.append((length, None))

    def sync(self) -> None:
        self.sure = bytes(self.content)
        self.since.clear()

    def left(self, chance: random.Random) -> bytearray:
        """What a power cut leaves: some writes whole, one torn, none before a lost cut."""
        content = bytearray(self.sure)
        reached = chance.randint(0, len(self.since))
        cuts = [n for n, (_, data) in enumerate(self.since[:reached]) if data is None]
        for number, (position, data) in enumerate(self.since[:reached]):
            if data is None or number < (cuts[-1] if cuts else 0) or chance.random() < 0.8:
                torn = data is not None and number == reached - 1 and chance.random() < 0.5
                _apply(content, (position, data[: len(data) // 2] if torn and data else data))
        return content


def _apply(content: bytearray, write: Write) -> None:
    position, data = write
    if data is None:
        del content[position:]
        content.extend(bytes(position - len(content)))
    else:
        content.extend(bytes(max(0, position - len(content))))
        content[position : position + len(data)] = data


@dataclass(eq=False)
class Directory:
    """Its names now, the sure ones, and all states in between."""

    number: int
    mtime: float = 0.0
    names: dict[str, "Node"] = field(default_factory=dict)
    states: list[dict[str, "Node"]] = field(default_factory=lambda: [{}])
    """As of the last sync and after each change since."""

    def changed(self) -> None:
        self.states.append(dict(self.names))

    def sync(self) -> None:
        self.states = [dict(self.names)]


Node = File | Directory


@dataclass(eq=False)
class Opened:
    """An open file of one boot."""

    node: Node
    appends: bool
    position: int = 0


class MemoryDisk:
    """The disk; all paths are absolute."""

    def __init__(self) -> None:
        self.root = Directory(0)
        self.boots = 0
        self.before_call: Callable[[str], None] = lambda name: None
        """Told before each call but `close`; may raise instead of it."""
        self.now_ms: Callable[[], int] = lambda: 0
        self._numbers = 0
        self._opened: dict[int, Opened] = {}
        self._last_fd = 1000
        self.trace: list[str] = []

    def boot(self) -> FileSystem:
        """The file calls of a new process."""
        self.boots += 1
        self._opened.clear()
        fs = FileSystem()
        for name in _NAMES:
            setattr(fs, name, partial(self._call, self.boots, name, getattr(self, f"_{name}")))
        return fs

    def _call(self, boot: int, name: str, real: Callable[..., Any], *arguments: Any) -> Any:
        if name == "close":
            return real(*arguments)
        if boot != self.boots:
            raise Killed
        self.before_call(name)
        if boot != self.boots:
            raise Killed
        if name in CHANGES:
            self.trace.append(f"{name} {self._describe(arguments)}")
        return real(*arguments)

    def _describe(self, arguments: tuple[Any, ...]) -> str:
        first = arguments[0]
        if isinstance(first, int):
            return self._path_of(self.root, self._opened[first].node) or "(unlinked)"
        return " ".join(each for each in arguments if isinstance(each, str))

    def _path_of(self, folder: Directory, node: Node) -> str:
        for name, each in folder.names.items():
            if each is node:
                return f"/{name}"
            if isinstance(each, Directory) and (path := self._path_of(each, node)):
                return f"/{name}{path}"
        return ""

    def kill(self) -> None:
        """The process is dead; what it had written is there."""
        self.boots += 1
        self._opened.clear()

    def cut_power(self, chance: random.Random) -> None:
        """The machine is dead: of what was not synced something between nothing and all is left.

        Half of the time nothing at all, since that is the hardest of single cases.
        """
        self.kill()
        nothing = chance.random() < 0.5
        self.root = self._left_of_directory(self.root, chance, nothing, {})

    def _left_of_directory(
        self, old: Directory, chance: random.Random, nothing: bool, made: dict[Node, Node]
    ) -> Directory:
        names = old.states[0] if nothing else chance.choice(old.states)
        new = Directory(old.number, old.mtime)
        made[old] = new
        for name, node in names.items():
            if node in made:
                new.names[name] = made[node]
            elif isinstance(node, Directory):
                new.names[name] = self._left_of_directory(node, chance, nothing, made)
            else:
                content = bytearray(node.sure) if nothing else node.left(chance)
                new.names[name] = made[node] = File(
                    node.number, node.mtime, content, bytes(content)
                )
        new.sync()
        return new

    # --- paths -------------------------------------------------------------------------

    def _parent(self, path: str) -> tuple[Directory, str]:
        *folders, name = path.strip("/").split("/")
        node: Node = self.root
        for folder in folders:
            node = self._child(node, folder, path)
        if not isinstance(node, Directory):
            raise _error(errno.ENOTDIR, path)
        return node, name

    def _child(self, node: Node, name: str, path: str) -> Node:
        if not isinstance(node, Directory):
            raise _error(errno.ENOTDIR, path)
        if name not in node.names:
            raise _error(errno.ENOENT, path)
        return node.names[name]

    def _find(self, path: str) -> Node:
        if not path.strip("/"):
            return self.root
        return self._child(*self._parent(path), path)

    def read(self, path: str) -> bytes:
        """What a file holds; for checks, of which the disk takes no notice."""
        node = self._find(path)
        assert isinstance(node, File)
        return bytes(node.content)

    def is_sure(self, path: str) -> bool:
        """Whether a power cut would leave a file as it is now."""
        node = self._find(path)
        assert isinstance(node, File)
        return node.sure == node.content

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    # --- the calls ---------------------------------------------------------------------

    def _open(self, path: str, flags: int, mode: int) -> int:
        folder, name = self._parent(path)
        node = folder.names.get(name)
        if node is None:
            if not flags & os.O_CREAT:
                raise _error(errno.ENOENT, path)
            node = folder.names[name] = File(self._number(), self.now_ms() / 1000)
            folder.changed()
        elif flags & os.O_TRUNC and isinstance(node, File) and node.content:
            node.cut(0)
        if flags & os.O_DIRECTORY and isinstance(node, File):
            raise _error(errno.ENOTDIR, path)
        self._last_fd += 1
        self._opened[self._last_fd] = Opened(node, bool(flags & os.O_APPEND))
        return self._last_fd

    def _close(self, fd: int) -> None:
        self._opened.pop(fd, None)

    def _file(self, fd: int) -> File:
        opened = self._opened.get(fd)
        if opened is None:
            raise _error(errno.EBADF, str(fd))
        assert isinstance(opened.node, File)
        return opened.node

    def _write(self, fd: int, data: Buffer) -> int:
        file, opened = self._file(fd), self._opened[fd]
        if opened.appends:
            opened.position = len(file.content)
        done = self._pwrite(fd, data, opened.position)
        opened.position += done
        return done

    def _writev(self, fd: int, pieces: Sequence[Buffer]) -> int:
        return self._write(fd, b"".join(pieces))

    def _pwrite(self, fd: int, data: Buffer, position: int) -> int:
        file = self._file(fd)
        file.write(position, bytes(data))
        file.mtime = self.now_ms() / 1000
        return len(data)

    def _pread(self, fd: int, size: int, position: int) -> bytes:
        return bytes(self._file(fd).content[position : position + size])

    def _preadv(
        self, fd: int, buffers: Sequence[bytearray | memoryview], position: int, flags: int = 0
    ) -> int:
        done = 0
        for buffer in buffers:
            data = self._pread(fd, len(buffer), position + done)
            buffer[: len(data)] = data
            done += len(data)
        return done

    def _fsync(self, fd: int) -> None:
        if fd not in self._opened:
            raise _error(errno.EBADF, str(fd))
        self._opened[fd].node.sync()

    def _ftruncate(self, fd: int, length: int) -> None:
        self._file(fd).cut(length)

    def _control(self, fd: int, command: int, argument: bytes) -> bytes:
        return argument

    def _rename(self, old: str, new: str) -> None:
        folder, name = self._parent(old)
        target, new_name = self._parent(new)
        node = self._child(folder, name, old)
        standing = target.names.get(new_name)
        if isinstance(standing, Directory) and standing.names:
            raise _error(errno.ENOTEMPTY, new)
        del folder.names[name]
        target.names[new_name] = node
        target.changed()
        if folder is not target:
            folder.changed()

    def _link(self, old: str, new: str) -> None:
        node = self._find(old)
        folder, name = self._parent(new)
        if name in folder.names:
            raise _error(errno.EEXIST, new)
        folder.names[name] = node
        folder.changed()

    def _unlink(self, path: str) -> None:
        folder, name = self._parent(path)
        if isinstance(self._child(folder, name, path), Directory):
            raise _error(errno.EISDIR, path)
        del folder.names[name]
        folder.changed()

    def _make_directory(self, path: str, mode: int = 0o777) -> None:
        folder, name = self._parent(path)
        if name in folder.names:
            raise _error(errno.EEXIST, path)
        folder.names[name] = Directory(self._number(), self.now_ms() / 1000)
        folder.changed()

    def _remove_directory(self, path: str) -> None:
        folder, name = self._parent(path)
        node = self._child(folder, name, path)
        if not isinstance(node, Directory):
            raise _error(errno.ENOTDIR, path)
        if node.names:
            raise _error(errno.ENOTEMPTY, path)
        del folder.names[name]
        folder.changed()

    def _list_directory(self, path: str) -> list[str]:
        node = self._find(path)
        if not isinstance(node, Directory):
            raise _error(errno.ENOTDIR, path)
        return list(node.names)

    def _stat(self, path: str) -> os.stat_result:
        return _facts(self._find(path))

    def _fstat(self, fd: int) -> os.stat_result:
        return _facts(self._opened[fd].node)

    def _set_times(self, path: str, times: tuple[float, float]) -> None:
        self._find(path).mtime = times[1]

    def _statvfs(self, path: str) -> os.statvfs_result:
        return os.statvfs("/")


def _facts(node: Node) -> os.stat_result:
    is_file = isinstance(node, File)
    size = len(node.content) if isinstance(node, File) else 0
    mode = stat.S_IFREG if is_file else stat.S_IFDIR
    times = (node.mtime,) * 3
    return os.stat_result(
        (mode, node.number, 1, 1, 0, 0, size, *map(int, times)),
        {"st_mtime": node.mtime, "st_mtime_ns": int(node.mtime * 1e9)},
    )


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
