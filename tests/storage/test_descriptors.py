"""A process that has no descriptor left: nothing is wrong with the disk, and all goes on later."""

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.storage.disk.fs import REAL
from barnabas.storage.errors import TooManyOpenFiles
from barnabas.storage.log_config import LogConfig

from .managers import NOW_MS, ORDERS, LaterWorker, append, opened, values_of


class FullTable:
    """File calls of a process in which only so many more files can be opened."""

    def __init__(self, code: int = errno.EMFILE) -> None:
        self.left = 1 << 30
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


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE])
def test_a_write_without_a_descriptor_is_refused_and_nothing_else(
    tmp_path: Path, code: int
) -> None:
    table = FullTable(code)
    manager = opened(tmp_path, fs=table.fs)
    log = manager.create(ORDERS[0], LogConfig(), NOW_MS)
    left, table.left = table.left, 0
    with pytest.raises(TooManyOpenFiles, match=r"orders-0: .*open files"):
        append(log, b"refused")
    with pytest.raises(TooManyOpenFiles, match=r"Too many|open files"):
        manager.create(ORDERS[1], LogConfig(), NOW_MS, topic_id=bytes(range(16)))
    assert manager.directories[0].is_online
    table.left = left
    append(log, b"kept")
    manager.create(ORDERS[1], LogConfig(), NOW_MS, topic_id=bytes(range(16)))
    assert values_of(log) == [b"kept"]
    manager.close()


def test_a_flush_without_a_descriptor_is_done_later(tmp_path: Path) -> None:
    table, worker = FullTable(), LaterWorker()
    manager = opened(tmp_path, fs=table.fs, worker=worker)
    log = manager.create(ORDERS[0], LogConfig(), NOW_MS)
    append(log, b"kept")
    done: list[int] = []
    manager.flush(log, lambda: done.append(log.recovery_point))
    left, table.left = table.left, 0
    worker.do_all()
    assert not done and manager.directories[0].is_online
    table.left = left
    manager.background(NOW_MS)
    worker.do_all()
    assert done == [1]
    manager.close()
