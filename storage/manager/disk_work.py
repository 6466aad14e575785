"""Handing file calls that wait for the disk to somebody who may wait."""

import logging
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from barnabas.storage.errors import is_out_of_descriptors
from barnabas.storage.manager.data_directory import DataDirectory

_logger = logging.getLogger(__name__)

Done = Callable[[BaseException | None], None]
Worker = Callable[[Callable[[], None], Done], None]
"""Runs the first function, in a thread if it likes, and then, back in the caller's own
thread, the second: always, with whatever was raised, or None."""


def work_inline(work: Callable[[], None], done: Done) -> None:
    """Do the work on the spot."""
    try:
        work()
    except Exception as error:
        done(error)
    else:
        done(None)


class _Order(NamedTuple):
    """Work on a directory, and what follows it."""

    directory: DataDirectory
    work: Callable[[], None]
    done: Callable[[], None]
    is_known_to_fail: bool = False


class DiskWork:
    """Work on data directories; a failure of the disk takes its directory offline.

    Work that found no descriptor to open a file with, or that met a fault of the program (said
    once, with its traceback), is kept for `retry`: it may be done twice.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._at_work = 0
        self._postponed: list[_Order] = []

    @property
    def is_idle(self) -> bool:
        """Whether everything handed out has come back."""
        return not self._at_work

    def submit(
        self,
        directory: DataDirectory,
        work: Callable[[], None],
        done: Callable[[], None] = lambda: None,
    ) -> None:
        """Do `work`, then call `done`, unless the directory has failed by then."""
        self._do(_Order(directory, work, done))

    def retry(self) -> None:
        """Try again what lacked a descriptor, or met a fault of the program."""
        postponed, self._postponed = self._postponed, []
        for order in postponed:
            if order.directory.is_online:
                self._do(order)

    def _do(self, order: _Order) -> None:
        self._at_work += 1
        self._worker(order.work, partial(self._worked, order))

    def _worked(self, order: _Order, error: BaseException | None) -> None:
        self._at_work -= 1
        directory = order.directory
        if error is None:
            if directory.is_online:
                order.done()
        elif not isinstance(error, OSError):
            self._postpone(order, error)
        elif is_out_of_descriptors(error) and directory.files.make_room():
            self._do(order)
        elif is_out_of_descriptors(error):
            _logger.warning("%s: %s; tried again later", directory.path, error)
            self._postponed.append(order)
        else:
            directory.fail(error)

    def _postpone(self, order: _Order, error: BaseException) -> None:
        if not order.is_known_to_fail:
            what, path = order.work, order.directory.path
            _logger.error("%s: %r failed and is tried again", path, what, exc_info=error)
        self._postponed.append(order._replace(is_known_to_fail=True))
