"""Compaction in a child process, so that the broker's interpreter is free while it runs.

The parent sends a job, the child answers with each finished group and an end. The child only
ever writes files called `.cleaned`; if it dies, nothing is lost but its work. If the parent
dies the child notices at its next read and ends, before a new broker can get in its way.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from select import POLLERR, POLLHUP, poll
from time import monotonic
from typing import BinaryIO, Final

from barnabas.storage.compaction.job import Blame, CompactionEvent, CompactionFailed, CompactionJob
from barnabas.storage.disk.child_process import (
    ChildProcess,
    pack_message,
    read_message,
    take_standard_streams,
)
from barnabas.storage.disk.fs import REAL, Buffer, FileSystem
from barnabas.storage.errors import StorageError, is_disk_failure

# The lowest: on two cores the 99th percentile of the broker's answers is then 1.9 times what it is
# without a compaction, at 10 it is 2.7 times. (SCHED_IDLE: 1.8, but a busy machine starves it.)
_NICENESS: Final = 19
_LONGEST_WAIT_MS: Final = 1 << 30  # twelve days; poll(2) takes no more than twice that
_PATIENCE_SECONDS: Final = 0.01
"""How long the broker waits for a killed child, which as the lowest may be long in dying."""


def run_job(fs: FileSystem, job: CompactionJob) -> Iterator[CompactionEvent]:
    """Carry out a job; failures are events, so that the process lives on."""
    from barnabas.storage.compaction.cleaner import compact  # needed by whoever does the work only

    try:
        yield from compact(fs, job)
    except OSError as error:
        blame = Blame.DISK if is_disk_failure(error) else Blame.NOTHING
        yield CompactionFailed(f"{job.directory}: {error}", blame)
    except StorageError as error:
        yield CompactionFailed(str(error.located(job.topic_partition)))
    except Exception as error:
        yield CompactionFailed(f"{job.topic_partition}: {error!r}")


class InlineCompactor:
    """Carries jobs out on the spot: for tests, and for programs with nothing else to do."""

    def __init__(self, fs: FileSystem = REAL) -> None:
        self._fs = fs
        self._events: Iterator[CompactionEvent] = iter(())

    def submit(self, job: CompactionJob) -> None:
        """Take a job."""
        self._events = run_job(self._fs, job)

    def poll(self) -> list[CompactionEvent]:
        """Carry it out."""
        return list(self._events)

    def fileno(self) -> int | None:
        """There is no waiting."""
        return None

    def another(self) -> "InlineCompactor":
        """One more of its kind."""
        return InlineCompactor(self._fs)

    def close(self) -> None:
        """Drop the job."""
        self._events = iter(())


class CompactionProcess:
    """Carries jobs out in a child, which is started with the first job."""

    def __init__(self) -> None:
        self._child: ChildProcess | None = None

    def submit(self, job: CompactionJob) -> None:
        """Send a job to the child, or what a pipe takes of it; `poll` sends the rest.

        Raises OSError if there can be no child.
        """
        if self._child is None:
            self._child = ChildProcess(__name__)
        self._child.send(job)

    def poll(self) -> list[CompactionEvent]:
        """Read what the child has sent; its death is a failure."""
        child = self._child
        if child is None:
            return []
        events: list[CompactionEvent] = child.receive()
        if child.exit_code is None:
            return events
        self._child = None
        reason = f"the compaction process ended with code {child.exit_code}"
        return [*events, CompactionFailed(reason, Blame.NOTHING)]

    def fileno(self) -> int | None:
        """The child's output."""
        return None if self._child is None else self._child.fileno()

    def another(self) -> "CompactionProcess":
        """One more of its kind."""
        return CompactionProcess()

    @property
    def pid(self) -> int | None:
        """The child's process id while there is a child."""
        return None if self._child is None else self._child.pid

    def close(self) -> None:
        """End the child, whatever it is doing."""
        if self._child is not None:
            self._child.close(_PATIENCE_SECONDS)
            self._child = None


# --- in the child ----------------------------------------------------------------------


def main() -> None:
    """Serve jobs from the standard input until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(_NICENESS)
    jobs, answers = take_standard_streams()
    with suppress(BrokenPipeError):
        while (job := read_message(jobs)) is not None:
            for event in run_job(_paced(jobs, job.io_bytes_per_second), job):
                answers.write(pack_message(event))
                answers.flush()


def _paced(jobs: BinaryIO, bytes_per_second: float) -> FileSystem:
    """The file calls, no faster than this, and ending when the parent does."""
    poller = poll()
    poller.register(jobs, 0)
    started = monotonic()
    moved_bytes = 0

    def pace(size: int) -> None:
        nonlocal moved_bytes
        moved_bytes += size
        wait_ms = wait_ms_after(moved_bytes, bytes_per_second, monotonic() - started)
        for _, events in poller.poll(wait_ms):
            if events & (POLLHUP | POLLERR):
                raise SystemExit

    def pread(fd: int, size: int, position: int) -> bytes:
        pace(size)
        return os.pread(fd, size, position)

    def pwrite(fd: int, data: Buffer, position: int) -> int:
        pace(len(data))
        return os.pwrite(fd, data, position)

    return replace(REAL, pread=pread, pwrite=pwrite)


def wait_ms_after(moved_bytes: int, bytes_per_second: float, elapsed_seconds: float) -> float:
    """How long to wait so as to be no faster than that.

    At 0 for good; below, or without a number, not at all (Kafka's Throttler).
    """
    if bytes_per_second == 0:
        return _LONGEST_WAIT_MS
    if not bytes_per_second > 0:
        return 0
    ahead_seconds = moved_bytes / bytes_per_second - elapsed_seconds
    return max(0, min(1000 * ahead_seconds, _LONGEST_WAIT_MS))
