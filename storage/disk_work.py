"""Handing file calls that wait for the disk to somebody who may wait."""

import logging
from collections.abc import Callable
from functools import partial

from barnabas.storage.data_directory import DataDirectory
from barnabas.storage.errors import is_out_of_descriptors

_logger = logging.getLogger(__name__)

Done = Callable[[OSError | None], None]
Worker = Callable[[Callable[[], None], Done], None]
"""Runs the first function, in a thread if it likes, and then, back in the caller's own
thread, the second with the `OSError` that came of it, or None."""


def work_inline(work: Callable[[], None], done: Done) -> None:
    """Do the work on the spot."""
    try:
        work()
    except OSError as error:
        done(error)
    else:
        done(None)


class DiskWork:
    """Work on data directories; a failure takes its directory offline.

    Work that found no descriptor to open a file with is kept for `retry`: it may be done twice.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._at_work = 0
        self._postponed: list[tuple[DataDirectory, Callable[[], None], Callable[[], None]]] = []

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
        self._at_work += 1
        self._worker(work, partial(self._worked, directory, work, done))

    def retry(self) -> None:
        """Try again what lacked a descriptor."""
        postponed, self._postponed = self._postponed, []
        for directory, work, done in postponed:
            if directory.is_online:
                self.submit(directory, work, done)

    def _worked(
        self,
        directory: DataDirectory,
        work: Callable[[], None],
        done: Callable[[], None],
        error: OSError | None,
    ) -> None:
        self._at_work -= 1
        if error is None:
            if directory.is_online:
                done()
        elif is_out_of_descriptors(error):
            _logger.warning("%s: %s; tried again later", directory.path, error)
            self._postponed.append((directory, work, done))
        else:
            directory.fail(error)
