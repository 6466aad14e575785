"""Handing file calls that wait for the disk to somebody who may wait."""

from collections.abc import Callable
from functools import partial

from barnabas.storage.data_directory import DataDirectory

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
    """Work on data directories; a failure takes its directory offline."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._at_work = 0

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
        self._worker(work, partial(self._worked, directory, done))

    def _worked(
        self, directory: DataDirectory, done: Callable[[], None], error: OSError | None
    ) -> None:
        self._at_work -= 1
        if error is not None:
            directory.fail(error)
        elif directory.is_online:
            done()
