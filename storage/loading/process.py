"""Recovering logs in child processes: several at a time, and with the interpreter left free.

A child does to a log's files all that opening it after a crash has to do, so that its parent
can open it like one that was closed. It holds the data directories' locks as well, and ends
at once when its parent does: nobody else can open a log while a child is at work on it. A
child that dies has done nothing that may not be done again: its log is recovered by the parent.
"""

import logging
import os
import signal
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from select import POLLIN, poll
from threading import Thread
from typing import Any, BinaryIO

from barnabas.storage.disk.child_process import (
    ChildProcess,
    pack_message,
    read_message,
    take_standard_streams,
)
from barnabas.storage.disk.fs import REAL
from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.errors import OpeningGivenUp
from barnabas.storage.loading.job import LoadJob, Recovered, RecoveryFailed
from barnabas.storage.loading.loader import Loader

RecoveryResult = Recovered | RecoveryFailed
LOOK_MS = 50
"""How often to look whether the results are still wanted."""


def recover_in_children(
    jobs: Sequence[LoadJob],
    most_children: int,
    lock_fds: Sequence[int] = (),
    is_given_up: Callable[[], bool] = lambda: False,
) -> list[RecoveryResult]:
    """Carry out jobs in that order, waiting for the end of it: a result for each.

    Raises OpeningGivenUp soon after `is_given_up`; the children are ended.
    """
    recovery = _Recovery(jobs, lock_fds, is_given_up)
    try:
        return recovery.run(min(most_children, len(jobs), len(os.sched_getaffinity(0))))
    finally:
        recovery.close()


class _Recovery:
    """Children, and the jobs they are at."""

    def __init__(
        self, jobs: Sequence[LoadJob], lock_fds: Sequence[int], is_given_up: Callable[[], bool]
    ) -> None:
        self._jobs = jobs
        self._is_given_up = is_given_up
        self._lock_fds = lock_fds
        self._left = list(reversed(range(len(jobs))))
        self._at_work: dict[int, tuple[ChildProcess, int]] = {}
        self._poller = poll()
        self._results: list[RecoveryResult] = [RecoveryFailed("there was no child")] * len(jobs)

    def run(self, children: int) -> list[RecoveryResult]:
        try:
            for _ in range(children):
                self._give_job(ChildProcess(__name__, self._lock_fds))
        except OSError as error:
            self._results = [RecoveryFailed(f"no child could be started: {error}")] * len(
                self._jobs
            )
        while self._at_work:
            for fd, _ in self._poller.poll(LOOK_MS):
                self._take_results(fd)
            if self._is_given_up():
                raise OpeningGivenUp("the logs are not wanted any more")
        return self._results

    def _give_job(self, child: ChildProcess) -> None:
        if not self._left:
            child.close()
            return
        number = self._left.pop()
        self._at_work[child.fileno()] = child, number
        self._poller.register(child.fileno(), POLLIN)
        child.send(self._jobs[number])

    def _take_results(self, fd: int) -> None:
        child, number = self._at_work[fd]
        results: list[RecoveryResult] = child.receive()
        if child.exit_code is not None:
            results = results or [RecoveryFailed(f"its process ended with code {child.exit_code}")]
        if results:
            del self._at_work[fd]
            self._poller.unregister(fd)
            (self._results[number],) = results
            if child.exit_code is None:
                self._give_job(child)

    def close(self) -> None:
        for child, _ in self._at_work.values():
            child.close()


# --- in the child ----------------------------------------------------------------------


def main() -> None:
    """Serve jobs from the standard input until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    stream, answers = take_standard_streams()
    logging.disable()  # the parent says what is in the reports
    files = FileCache(REAL)
    jobs: SimpleQueue[LoadJob] = SimpleQueue()
    Thread(target=_receive, args=(stream, jobs), daemon=True).start()
    with suppress(BrokenPipeError):
        while True:
            answers.write(pack_message(_recover(jobs.get(), files)))
            answers.flush()


def _receive(stream: BinaryIO, jobs: "SimpleQueue[Any]") -> None:
    """Take jobs; the end of them is the parent's, and not to be outlived."""
    while (job := read_message(stream)) is not None:
        jobs.put(job)
    os._exit(0)


def _recover(job: LoadJob, files: FileCache) -> RecoveryResult:
    loader = Loader(files, job)
    try:
        loader.load()
    except Exception as error:
        return RecoveryFailed(f"it ran into {error!r}")
    finally:
        loader.close_files()
    return Recovered(
        loader.recovery_point, loader.log_start_offset, loader.report, loader.producers.windows()
    )
