"""Compaction in a child process, so that the broker's interpreter is free while it runs.

The parent sends a job, the child answers with each finished group and an end: every message
is a length (uint32) and a pickle, both sides being the same program. The child only ever
writes files called `.cleaned`; if it dies, nothing is lost but its work. If the parent dies
the child notices at its next read and ends, before a new broker can get in its way.
"""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from select import POLLERR, POLLHUP, poll
from struct import Struct
from time import monotonic
from typing import BinaryIO, Final

from barnabas.storage.compaction_job import CompactionEvent, CompactionFailed, CompactionJob
from barnabas.storage.errors import StorageError
from barnabas.storage.fs import REAL, Buffer, FileSystem

_LENGTH: Final = Struct(">I")
_READ_BYTES: Final = 1 << 16
_CHILD: Final = "from barnabas.storage.compaction_process import main; main()"
_NICENESS: Final = 10
_STOP_SECONDS: Final = 5


def run_job(fs: FileSystem, job: CompactionJob) -> Iterator[CompactionEvent]:
    """Carry out a job; failures are events, so that the process lives on."""
    from barnabas.storage.compaction import compact  # needed by whoever does the work only

    try:
        yield from compact(fs, job)
    except OSError as error:
        yield CompactionFailed(f"{job.directory}: {error}", is_io_error=True)
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

    def close(self) -> None:
        """Drop the job."""
        self._events = iter(())


class CompactionProcess:
    """Carries jobs out in a child, which is started with the first job."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._unsent = bytearray()
        self._received = bytearray()

    def submit(self, job: CompactionJob) -> None:
        """Send a job to the child, or what a pipe takes of it; `poll` sends the rest."""
        process = self._process or self._start()
        self._unsent += _message(job)
        self._send(process)

    def _send(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        try:
            while self._unsent:
                del self._unsent[: os.write(process.stdin.fileno(), self._unsent)]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self._unsent.clear()  # poll sees the end of the child's output and says so

    def _start(self) -> subprocess.Popen[bytes]:
        path = os.pathsep.join(entry for entry in sys.path if entry)
        process = subprocess.Popen(
            [sys.executable, "-c", _CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env=os.environ | {"PYTHONPATH": path},
        )
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
        self._process = process
        return process

    def poll(self) -> list[CompactionEvent]:
        """Read what the child has sent; its death is a failure."""
        process = self._process
        if process is None:
            return []
        assert process.stdout is not None
        fd = process.stdout.fileno()
        self._send(process)
        try:
            while data := os.read(fd, _READ_BYTES):
                self._received += data
        except BlockingIOError:
            return self._take_messages()
        events = self._take_messages()
        self.close()
        code = process.returncode
        return [*events, CompactionFailed(f"the compaction process ended with code {code}")]

    def _take_messages(self) -> list[CompactionEvent]:
        events = []
        received = self._received
        while len(received) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(received)
            end = _LENGTH.size + length
            if len(received) < end:
                break
            events.append(pickle.loads(received[_LENGTH.size : end]))
            del received[:end]
        return events

    def fileno(self) -> int | None:
        """The child's output."""
        stdout = None if self._process is None else self._process.stdout
        return None if stdout is None else stdout.fileno()

    @property
    def pid(self) -> int | None:
        """The child's process id while there is a child."""
        return None if self._process is None else self._process.pid

    def close(self) -> None:
        """End the child, whatever it is doing."""
        process, self._process = self._process, None
        if process is None:
            return
        self._unsent.clear()
        self._received.clear()
        process.kill()
        process.wait(_STOP_SECONDS)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def _message(content: object) -> bytes:
    data = pickle.dumps(content, pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(data)) + data


# --- in the child ----------------------------------------------------------------------


def main() -> None:
    """Serve jobs from the standard input until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(_NICENESS)
    jobs = sys.stdin.buffer
    # Whatever prints must not get between the messages.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with suppress(BrokenPipeError):
        while (job := _receive(jobs)) is not None:
            for event in run_job(_paced(jobs, job.io_bytes_per_second), job):
                answers.write(_message(event))
                answers.flush()


def _receive(jobs: BinaryIO) -> CompactionJob | None:
    head = jobs.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    data = jobs.read(length)
    if len(data) < length:
        return None
    job: CompactionJob = pickle.loads(data)
    return job


def _paced(jobs: BinaryIO, bytes_per_second: float) -> FileSystem:
    """The file calls, no faster than this, and ending when the parent does."""
    poller = poll()
    poller.register(jobs, 0)
    started = monotonic()
    moved_bytes = 0

    def pace(size: int) -> None:
        nonlocal moved_bytes
        moved_bytes += size
        ahead_ms = 1000 * (started + moved_bytes / bytes_per_second - monotonic())
        for _, events in poller.poll(max(ahead_ms, 0)):
            if events & (POLLHUP | POLLERR):
                raise SystemExit

    def pread(fd: int, size: int, position: int) -> bytes:
        pace(size)
        return os.pread(fd, size, position)

    def write(fd: int, data: Buffer) -> int:
        pace(len(data))
        return os.write(fd, data)

    return replace(REAL, pread=pread, write=write)
