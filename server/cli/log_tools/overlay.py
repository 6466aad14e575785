"""A file system whose changes are kept apart: recovery can be tried without touching a file.

A file that is only cut keeps its bytes where they are, behind a limit; one that is written to
is first copied to a scratch directory. `changes` says in the end what would be different.
"""

import errno
import os
import shutil
from pathlib import Path
from typing import Literal, NamedTuple, NoReturn

from barnabas.storage.disk.fs import Buffer, FileSystem

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
Action = Literal["cut", "create", "rewrite", "remove"]


class Change(NamedTuple):
    """What would happen to a file; sizes in bytes, None where there is no file."""

    name: str
    action: Action
    size_before: int | None
    size_after: int | None


class Overlay:
    """A directory as it is, plus changes that nobody else sees."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._number = 0
        self._moved: dict[str, str | None] = {}  # path -> where its content is, None: removed
        self._limits: dict[str, int] = {}  # path of an original -> how long it is now
        self._open: dict[int, str] = {}
        self.fs = FileSystem(
            open=self._open_file,
            close=self._close,
            write=os.write,
            writev=os.writev,
            pwrite=self._pwrite,
            pread=self._pread,
            preadv=_refuse,
            fsync=_nothing,
            ftruncate=self._ftruncate,
            rename=self._rename,
            link=_refuse,
            unlink=self._unlink,
            make_directory=_refuse,
            remove_directory=_refuse,
            list_directory=self._list_directory,
            stat=self._stat,
            fstat=self._fstat,
            set_times=_refuse,
        )

    def changes(self, directory: Path) -> list[Change]:
        """What is different in a directory now, in the order of the files' names."""
        before = {path.name for path in directory.iterdir()}
        after = set(self._list_directory(str(directory)))
        found = [self._change(directory / name, name in after) for name in sorted(before | after)]
        return [change for change in found if change is not None]

    def _change(self, path: Path, is_there: bool) -> Change | None:
        name = f"{path.parent.name}/{path.name}"
        size = path.stat().st_size if path.exists() else None
        if not is_there:
            return Change(name, "remove", size, None)
        content = Path(self._content(str(path)))
        after = self._stat(str(path)).st_size
        if size is None:
            return Change(name, "create", None, after)
        if content == path:
            return Change(name, "cut", size, after) if after < size else None
        if content.read_bytes() == path.read_bytes():
            return None
        return Change(name, "rewrite", size, after)

    # --- where things are --------------------------------------------------------------

    def _content(self, path: str) -> str:
        content = self._moved.get(path, path)
        if content is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return content

    def _exists(self, path: str) -> bool:
        content = self._moved.get(path, path)
        return content is not None and Path(content).exists()

    def _new_content(self, path: str) -> str:
        self._number += 1
        content = str(self._scratch / str(self._number))
        self._moved[path] = content
        self._limits.pop(path, None)
        return content

    def _is_original(self, path: str) -> bool:
        return self._moved.get(path, path) == path

    def _own(self, fd: int, path: str) -> None:
        """Let an open file be a copy, which may be changed."""
        source = self._content(path)
        limit = self._limits.get(path)
        copy = self._new_content(path)
        shutil.copyfile(source, copy)
        if limit is not None:
            os.truncate(copy, limit)
        opened = os.open(copy, os.O_RDWR | os.O_CLOEXEC)
        os.dup2(opened, fd, inheritable=False)
        os.close(opened)

    # --- the calls ---------------------------------------------------------------------

    def _open_file(self, path: str, flags: int, mode: int) -> int:
        if flags & os.O_TRUNC or (flags & os.O_CREAT and not self._exists(path)):
            fd = os.open(self._new_content(path), flags | os.O_CREAT, mode)
        elif self._is_original(path):
            fd = os.open(path, flags & ~_WRITING | os.O_RDONLY)
        else:
            fd = os.open(self._content(path), flags)
        self._open[fd] = path
        return fd

    def _close(self, fd: int) -> None:
        self._open.pop(fd, None)
        os.close(fd)

    def _pread(self, fd: int, size: int, position: int) -> bytes:
        limit = self._limits.get(self._open[fd])
        if limit is not None:
            size = max(min(size, limit - position), 0)
        return os.pread(fd, size, position)

    def _pwrite(self, fd: int, data: Buffer, position: int) -> int:
        if self._is_original(self._open[fd]):
            self._own(fd, self._open[fd])
        return os.pwrite(fd, data, position)

    def _ftruncate(self, fd: int, size: int) -> None:
        path = self._open[fd]
        if not self._is_original(path):
            os.ftruncate(fd, size)
        elif size < self._fstat(fd).st_size:
            self._limits[path] = size

    def _fstat(self, fd: int) -> os.stat_result:
        return self._limited(os.fstat(fd), self._open[fd])

    def _stat(self, path: str) -> os.stat_result:
        return self._limited(Path(self._content(path)).stat(), path)

    def _limited(self, facts: os.stat_result, path: str) -> os.stat_result:
        limit = self._limits.get(path)
        return facts if limit is None else os.stat_result((*facts[:6], limit, *facts[7:10]))

    def _rename(self, path: str, target: str) -> None:
        content, limit = self._content(path), self._limits.pop(path, None)
        self._moved[target] = content
        self._moved[path] = None
        if limit is not None:
            os.truncate(self._copy_for(target, content), limit)

    def _copy_for(self, path: str, content: str) -> str:
        copy = self._new_content(path)
        shutil.copyfile(content, copy)
        return copy

    def _unlink(self, path: str) -> None:
        if not self._exists(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        self._moved[path] = None
        self._limits.pop(path, None)

    def _list_directory(self, path: str) -> list[str]:
        names = {entry.name for entry in Path(path).iterdir()}
        for moved, content in self._moved.items():
            folder, _, name = moved.rpartition("/")
            if folder == path:
                (names.discard if content is None else names.add)(name)
        return sorted(names)


def _refuse(*_: object) -> NoReturn:
    raise OSError(errno.EROFS, "recovery does not do this")


def _nothing(fd: int) -> None:
    """A scratch file need not be durable."""
