import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import cast

import pytest

from barnabas.storage.directory.lock import DirectoryLock
from barnabas.storage.disk.child_process import ChildProcess
from barnabas.storage.disk.fs import REAL, FileSystem
from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.errors import LogDirectoryLocked, OpeningGivenUp
from barnabas.storage.loading.job import LoadJob, Recovered, RecoveryFailed
from barnabas.storage.loading.loader import Loader
from barnabas.storage.loading.process import recover_in_children
from barnabas.storage.log.listener import LogListener
from barnabas.storage.log.log import Log
from barnabas.storage.log_config import LogConfig

from ..logs import NOW_MS, a_batch, append, config, end_transaction, fill, offsets, open_log

DEADLINE_SECONDS = 20


def crashed_log(folder: Path) -> Path:
    """The directory of a log with producers, an aborted transaction and a torn tail."""
    folder.mkdir()
    log = open_log(folder)
    fill(log, 12, 2, producer_id=-1)
    for sequence in range(8):
        append(log, a_batch(producer_id=7, sequence=sequence))
    append(log, a_batch(producer_id=8, sequence=0, transactional=True))
    end_transaction(log, 8, commit=False)
    append(log, a_batch(producer_id=9, sequence=0, transactional=True))
    log.close_files()
    last = max((folder / "t-0").glob("*.log"))
    with last.open("ab") as file:
        file.write(bytes(a_batch(3))[:-5])
    return folder / "t-0"


def job_for(directory: Path) -> LoadJob:
    return LoadJob(str(directory), config(), NOW_MS, False, 0, 0, 86_400_000)


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_a_child_does_what_is_done_in_place(tmp_path: Path) -> None:
    directory = crashed_log(tmp_path / "a")
    copy = Path(shutil.copytree(directory, tmp_path / "b"))
    here = Loader(FileCache(REAL), job_for(directory))
    here.load()
    (result,) = recover_in_children([job_for(copy)], 1)
    assert result == Recovered(0, 0, here.report, here.producers.windows())
    assert list(here.producers.windows()) == [7]
    assert here.report.truncated_bytes and here.report.notes
    assert contents(copy) == contents(directory)


def test_what_a_child_has_recovered_opens_like_the_rest(tmp_path: Path) -> None:
    directory = crashed_log(tmp_path / "a")
    copy = Path(shutil.copytree(directory, tmp_path / "b"))
    here = Loader(FileCache(REAL), job_for(directory))
    here.load()
    (result,) = recover_in_children([job_for(copy)], 1)
    assert isinstance(result, Recovered)
    there = Loader(FileCache(REAL), job_for(copy))
    there.load_recovered(result)
    assert there.report == here.report
    logs = [Log(loader, "t-0", LogListener()) for loader in (here, there)]
    for log in logs:
        log.update_high_watermark(log.log_end_offset)
    one, other = logs
    assert offsets(one) == offsets(other)
    assert one.log_end_offset == other.log_end_offset
    assert one.recovery_point == other.recovery_point == 0
    assert one.last_stable_offset == other.last_stable_offset < one.log_end_offset
    assert one.producer_entries() == other.producer_entries()
    assert one.epochs.entries() == other.epochs.entries()
    flush = other.flusher.begin()
    assert flush is not None and flush.directory == str(copy)


class Syncs:
    """File calls that note what is synced."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.fs = FileSystem(fsync=self._fsync)

    def _fsync(self, fd: int) -> None:
        os.fsync(fd)
        self.names.append(Path(f"/proc/self/fd/{fd}").readlink().name)


def index_names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir() if path.suffix in (".index", ".timeindex")}


def test_what_a_child_has_made_anew_is_synced_before_the_recovery_point_passes(
    tmp_path: Path,
) -> None:
    directory = crashed_log(tmp_path / "a")
    (result,) = recover_in_children([job_for(directory)], 1)
    assert isinstance(result, Recovered)
    disk = Syncs()
    loader = Loader(FileCache(disk.fs), job_for(directory))
    loader.load_recovered(result)
    log = Log(loader, "t-0", LogListener())
    assert log.recovery_point == 0 and len(index_names(directory)) > 4
    disk.names.clear()
    log.flush()
    assert log.recovery_point == log.log_end_offset
    assert {"t-0", *index_names(directory)} <= set(disk.names)


@pytest.mark.parametrize("clean", [True, False])
def test_what_is_made_anew_below_the_recovery_point_is_synced_at_once(
    tmp_path: Path, clean: bool
) -> None:
    log = open_log(tmp_path)
    fill(log, 30, 2)
    log.close()
    directory = tmp_path / "t-0"
    (directory / f"{0:020d}.index").unlink()
    disk = Syncs()
    job = LoadJob(str(directory), config(), NOW_MS, clean, log.log_end_offset, 0, 86_400_000)
    Loader(FileCache(disk.fs), job).load()
    assert {"t-0", f"{0:020d}.index", f"{0:020d}.timeindex"} <= set(disk.names)


def test_what_is_mended_while_it_is_used_is_synced_too(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    fill(log, 30, 2)
    log.close()
    (tmp_path / "t-0" / f"{0:020d}.index").write_bytes(bytes(7))
    disk = Syncs()
    log = Log.open(str(tmp_path / "t-0"), "t-0", config(), NOW_MS, fs=disk.fs, recovery_point=60)
    log.update_high_watermark(60)
    disk.names.clear()
    assert log.read(2, 1).records is not None
    assert {"t-0", f"{0:020d}.index", f"{0:020d}.timeindex"} <= set(disk.names)
    log.close()


def test_many_logs_share_few_children(tmp_path: Path) -> None:
    jobs = [job_for(crashed_log(tmp_path / f"{number}")) for number in range(7)]
    results = recover_in_children(jobs, 2)
    assert len(results) == 7
    assert all(isinstance(each, Recovered) for each in results)


def test_a_log_that_cannot_be_opened_does_not_stop_the_others(tmp_path: Path) -> None:
    missing, good = job_for(tmp_path / "nowhere"), job_for(crashed_log(tmp_path / "a"))
    failed, recovered = recover_in_children([missing, good], 1)
    assert isinstance(failed, RecoveryFailed) and "FileNotFoundError" in failed.reason
    assert isinstance(recovered, Recovered)


class _Deadly:
    """Whoever unpickles this dies."""

    def __reduce__(self) -> tuple[object, tuple[int]]:
        return os._exit, (3,)


def test_a_child_that_dies_has_failed(tmp_path: Path) -> None:
    deadly = LoadJob("d", cast(LogConfig, _Deadly()), NOW_MS, False, 0, 0, 0)
    results = recover_in_children([deadly, job_for(tmp_path)], 1)
    assert results[0] == RecoveryFailed("its process ended with code 3")
    assert results[1] == RecoveryFailed("there was no child")


def test_no_child_can_be_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    (result,) = recover_in_children([job_for(tmp_path)], 1)
    assert isinstance(result, RecoveryFailed) and "no child could be started" in result.reason


def test_a_child_holds_the_lock_until_it_ends(tmp_path: Path) -> None:
    lock = DirectoryLock(REAL, str(tmp_path))
    child = ChildProcess("barnabas.storage.loading.process", [lock.fd])
    lock.release()
    with pytest.raises(LogDirectoryLocked):
        DirectoryLock(REAL, str(tmp_path))
    child.close()
    DirectoryLock(REAL, str(tmp_path)).release()


# Holds a directory, starts a child that holds it too, and waits to be killed.
PARENT = """
import sys
from barnabas.storage.disk.child_process import ChildProcess
from barnabas.storage.directory.lock import DirectoryLock
from barnabas.storage.disk.fs import REAL, FileSystem
lock = DirectoryLock(REAL, sys.argv[1])
child = ChildProcess("barnabas.storage.loading.process", [lock.fd])
print(child.pid, flush=True)
sys.stdin.read()
"""


def test_a_child_ends_with_its_parent_and_lets_go_of_the_lock(tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with parent:
        assert parent.stdout is not None
        assert int(parent.stdout.readline()) > 0
        parent.kill()
    deadline = time.monotonic() + DEADLINE_SECONDS
    while True:
        try:
            DirectoryLock(REAL, str(tmp_path)).release()
            return
        except LogDirectoryLocked:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_children_end_soon_when_nobody_wants_their_results(tmp_path: Path) -> None:
    jobs = [job_for(crashed_log(tmp_path / name)) for name in ("a", "b")]
    with pytest.raises(OpeningGivenUp):
        recover_in_children(jobs, 1, (), lambda: True)
    (result,) = recover_in_children([jobs[1]], 1)
    assert isinstance(result, Recovered)
