"""A file system that cannot change anything: what storage's classes are given to look with."""

import os

from barnabas.storage.disk.read_only import read_only

_KEPT_FLAGS = os.O_CLOEXEC | os.O_DIRECTORY


def open_to_read(path: str, flags: int, mode: int) -> int:
    """Open an existing file for reading, whatever else is asked for."""
    return os.open(path, os.O_RDONLY | flags & _KEPT_FLAGS)


READ_ONLY = read_only(open_to_read, "opened for looking only")
