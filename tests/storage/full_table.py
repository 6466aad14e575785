"""A process that has no descriptor left, for tests of what becomes of a log then."""

import errno
import os
from dataclasses import replace

from barnabas.storage.disk.fs import REAL

PLENTY = 1 << 30


class FullTable:
    """File calls of a process in which only so many more files can be opened."""

    def __init__(self, code: int = errno.EMFILE) -> None:
        self.left = PLENTY
        self._code = code
        self.fs = replace(REAL, open=self._open, close=self._close)

    def _open(self, path: str, flags: int, mode: int) -> int:
        if self.left <= 0:
            raise OSError(self._code, os.strerror(self._code), path)
        fd = os.open(path, flags, mode)
        self.left -= 1
        return fd

    def _close(self, fd: int) -> None:
        self.left += 1
        os.close(fd)
