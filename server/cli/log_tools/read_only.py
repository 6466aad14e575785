"""A file system that cannot change anything: what storage's classes are given to look with."""

import errno
import os
from typing import NoReturn

from barnabas.storage.disk.fs import FileSystem

_KEPT_FLAGS = os.O_CLOEXEC | os.O_DIRECTORY


def open_to_read(path: str, flags: int, mode: int) -> int:
    """Open an existing file for reading, whatever else is asked for."""
    return os.open(path, os.O_RDONLY | flags & _KEPT_FLAGS)


def _refuse(*_: object) -> NoReturn:
    raise OSError(errno.EROFS, "opened for looking only")


READ_ONLY = FileSystem(
    open=open_to_read,
    write=_refuse,
    writev=_refuse,
    pwrite=_refuse,
    fsync=_refuse,
    ftruncate=_refuse,
    rename=_refuse,
    link=_refuse,
    unlink=_refuse,
    make_directory=_refuse,
    remove_directory=_refuse,
    set_times=_refuse,
)
