"""Compaction in a child: the same results, failures as events, and nothing left behind."""

import errno
import os
import pickle
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from math import inf, nan
from pathlib import Path
from typing import NoReturn

import pytest

from barnabas.storage.compaction.job import (
    Blame,
    CompactedGroup,
    CompactionDone,
    CompactionEvent,
    CompactionFailed,
    CompactionJob,
    Compactor,
)
from barnabas.storage.compaction.process import (
    CompactionProcess,
    InlineCompactor,
    run_job,
    wait_ms_after,
)
from barnabas.storage.disk.fs import REAL
from barnabas.storage.segment.transaction_index import AbortedTransaction

from ..compaction_jobs import job_for, write_segment

DEADLINE_SECONDS = 20
DAY_MS = 24 * 60 * 60 * 1000
LARGEST_TIMEOUT_MS = 1 << 31  # of poll(2)


@pytest.fixture
def process() -> Iterator[CompactionProcess]:
    process = CompactionProcess()
    yield process
    process.close()


def small_job(directory: Path) -> CompactionJob:
    batches = [[(b"a", b"1"), (b"b", b"1")], [(b"a", b"2"), (b"c", None)]]
    return job_for(directory, [write_segment(directory, 0, batches)])


def wait_for_end(compactor: Compactor) -> list[CompactionEvent]:
    events: list[CompactionEvent] = []
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not events or isinstance(events[-1], CompactedGroup):
        assert time.monotonic() < deadline, events
        if (fd := compactor.fileno()) is not None:
            select.select([fd], [], [], 0.2)
        events += compactor.poll()
    return events


def test_the_child_does_what_is_done_inline(process: CompactionProcess, tmp_path: Path) -> None:
    job = small_job(tmp_path)
    inline = InlineCompactor()
    inline.submit(job)
    expected = wait_for_end(inline)
    cleaned = tmp_path / f"{0:020}.log.cleaned"
    content = cleaned.read_bytes()
    process.submit(job)
    assert wait_for_end(process) == expected
    assert isinstance(expected[-1], CompactionDone)
    assert cleaned.read_bytes() == content


def test_a_child_serves_several_jobs(process: CompactionProcess, tmp_path: Path) -> None:
    job = small_job(tmp_path)
    process.submit(job)
    first, pid = wait_for_end(process), process.pid
    process.submit(job)
    assert wait_for_end(process) == first
    assert process.pid == pid


def test_a_job_larger_than_a_pipe_is_sent_all_the_same(
    process: CompactionProcess, tmp_path: Path
) -> None:
    job = small_job(tmp_path)
    aborted = [AbortedTransaction(n, 10_000 + n, 20_000 + n, 1) for n in range(20_000)]
    started = time.monotonic()
    process.submit(replace(job, aborted=aborted))
    assert time.monotonic() - started < DEADLINE_SECONDS
    assert isinstance(wait_for_end(process)[-1], CompactionDone)


def test_a_slow_pace_is_kept(process: CompactionProcess, tmp_path: Path) -> None:
    """Both passes read the log once: twice its bytes, and what is written."""
    job = small_job(tmp_path)
    moved_bytes = 2 * job.segments[0].size_bytes
    started = time.monotonic()
    process.submit(replace(job, io_bytes_per_second=moved_bytes / 0.5))
    assert isinstance(wait_for_end(process)[-1], CompactionDone)
    assert time.monotonic() - started >= 0.5


@pytest.mark.parametrize("rate", [-1.0, nan, inf])
def test_a_pace_that_is_none_holds_nothing_up(
    process: CompactionProcess, tmp_path: Path, rate: float
) -> None:
    process.submit(replace(small_job(tmp_path), io_bytes_per_second=rate))
    assert isinstance(wait_for_end(process)[-1], CompactionDone)


@pytest.mark.parametrize("rate", [0.0, 1e-300])
def test_a_pace_at_which_nothing_gets_done_is_waited_for(rate: float) -> None:
    assert DAY_MS < wait_ms_after(1, rate, 0) < LARGEST_TIMEOUT_MS


def test_damage_is_reported_with_its_place(process: CompactionProcess, tmp_path: Path) -> None:
    job = small_job(tmp_path)
    path = tmp_path / f"{0:020}.log"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    process.submit(job)
    (failed,) = wait_for_end(process)
    assert failed == CompactionFailed("orders-0 at offset 2: a batch's CRC is wrong")


def test_a_missing_file_blames_nothing(process: CompactionProcess, tmp_path: Path) -> None:
    job = small_job(tmp_path)
    (tmp_path / f"{0:020}.log").unlink()
    process.submit(job)
    (failed,) = wait_for_end(process)
    assert isinstance(failed, CompactionFailed) and failed.blame is Blame.NOTHING


@pytest.mark.parametrize(
    ("number", "blame"),
    [
        (errno.EIO, Blame.DISK),
        (errno.ENOSPC, Blame.DISK),
        (errno.EROFS, Blame.DISK),
        (errno.EMFILE, Blame.NOTHING),
        (errno.ENFILE, Blame.NOTHING),
        (errno.ENOENT, Blame.NOTHING),
    ],
)
@pytest.mark.parametrize("call", ["open", "pread", "pwrite", "fsync"])
def test_only_what_the_disk_reports_blames_it(
    call: str, number: int, blame: Blame, tmp_path: Path
) -> None:
    def fails(*arguments: object) -> NoReturn:
        raise OSError(number, os.strerror(number))

    job = small_job(tmp_path)
    (failed,) = run_job(replace(REAL, **{call: fails}), job)
    assert isinstance(failed, CompactionFailed) and failed.blame is blame


def test_a_killed_child_is_a_failure_and_the_next_job_gets_a_new_one(
    process: CompactionProcess, tmp_path: Path
) -> None:
    job = small_job(tmp_path)
    process.submit(job)
    wait_for_end(process)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    reason = "the compaction process ended with code -9"
    assert wait_for_end(process) == [CompactionFailed(reason, Blame.NOTHING)]
    process.submit(job)
    assert isinstance(wait_for_end(process)[-1], CompactionDone)


# Starts a child on a log, says its process id and is killed.
PARENT = """
import sys
import pickle
from barnabas.storage.compaction.process import CompactionProcess
process = CompactionProcess()
process.submit(pickle.loads(sys.stdin.buffer.read()))
print(process.pid, flush=True)
while True:
    process.poll()
"""


def test_the_child_ends_with_its_parent(tmp_path: Path) -> None:
    job = small_job(tmp_path)
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with parent:
        assert parent.stdin is not None and parent.stdout is not None
        parent.stdin.write(pickle.dumps(job))
        parent.stdin.close()
        child = int(parent.stdout.readline())
        parent.kill()
    deadline = time.monotonic() + DEADLINE_SECONDS
    while _is_running(child):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
