"""A test's broker that nobody stopped: it is ended, its temporary folder goes, a warning tells.

That comes when the last reference to it goes, or when the interpreter ends. The warning is a
ResourceWarning at the line that started it. Where a process was forked, only the one that started
the broker may end it.
"""

import atexit
import concurrent.futures.thread  # noqa: F401  (what it does at exit comes behind what we do)
import os
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Final

_OWN_MODULES: Final = "barnabas"
_open: "set[Watch]" = set()


class Watch:
    """What is to happen to `owner` if it is never stopped: `end`, which must not hold it."""

    def __init__(self, owner: object, end: Callable[[], object]) -> None:
        self._end = end
        self._name = type(owner).__name__
        self._process_id = os.getpid()
        self._file, self._line = _caller(sys._getframe(1))
        self._finalizer = weakref.finalize(owner, self._lost)
        self._finalizer.atexit = False  # `_end_all` does that
        _open.add(self)

    def dismiss(self) -> None:
        """It is being stopped."""
        self._finalizer.detach()
        _open.discard(self)

    def end_at_exit(self) -> None:
        """Nobody will stop it any more."""
        self.dismiss()
        if os.getpid() == self._process_id:
            self._end()
            self._warn()

    def _lost(self) -> None:
        """Nobody can stop it any more. This may be any thread, the broker's own too."""
        _open.discard(self)
        if os.getpid() == self._process_id:
            threading.Thread(target=self._end, name="barnabas-end").start()
            self._warn()

    def _warn(self) -> None:
        message = (
            f"a barnabas.{self._name} that {self._file}:{self._line} started was not stopped;"
            " start it by `with`, or call `stop`"
        )
        warnings.warn_explicit(message, ResourceWarning, self._file, self._line)


def _end_all() -> None:
    for watch in tuple(_open):
        watch.end_at_exit()


# A broker that is to end still needs threads for its disk, and pools start none once those that
# register with `threading` have been called, before `atexit`.
getattr(threading, "_register_atexit", atexit.register)(_end_all)


def _caller(frame: FrameType | None) -> tuple[str, int]:
    """The file and line of the first frame that is not ours."""
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] != _OWN_MODULES:
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return "?", 0
