"""A file system that changes nothing, for who looks at directories that belong to others."""

import errno
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

from barnabas.storage.disk.fs import REAL, FileSystem


def read_only(open_file: Callable[[str, int, int], int], why: str) -> FileSystem:
    """One whose every call that would change something raises OSError EROFS with `why`.

    `open_file` decides what becomes of a file that is opened to be written.
    """

    def refuse(*_: Any) -> NoReturn:
        raise OSError(errno.EROFS, why)

    return replace(
        REAL,
        open=open_file,
        write=refuse,
        writev=refuse,
        pwrite=refuse,
        fsync=refuse,
        ftruncate=refuse,
        rename=refuse,
        link=refuse,
        unlink=refuse,
        make_directory=refuse,
        remove_directory=refuse,
        set_times=refuse,
    )
