import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.storage.disk.fs import FileSystem
from barnabas.storage.errors import LogDirectoryFailed
from barnabas.storage.log.log import Log

from ..logs import NOW_MS, a_batch, append, config, delete_due_files, fill, open_log

SIZE = len(a_batch(2))


def watched(folder: Path) -> tuple[Log, list[str]]:
    """A log of ten batches in segments of three, and the names of the files it syncs."""
    synced: list[str] = []

    def fsync(fd: int) -> None:
        synced.append(Path(f"/proc/self/fd/{fd}").readlink().name)
        os.fsync(fd)

    (folder / "t-0").mkdir()
    settings = config(segment_bytes=3 * SIZE)
    log = Log.open(str(folder / "t-0"), "t-0", settings, NOW_MS, fs=FileSystem(fsync=fsync))
    fill(log, 10, 2)
    synced.clear()
    return log, synced


def test_syncs_what_lies_above_the_recovery_point(tmp_path: Path) -> None:
    log, synced = watched(tmp_path)
    assert log.log_end_offset - log.recovery_point == 20
    log.flush(12)
    assert {name[:20] for name in synced if name[0] == "0"} == {
        f"{0:020d}",
        f"{6:020d}",
        f"{12:020d}",
    }
    assert {"leader-epoch-checkpoint", "t-0", f"{12:020d}.snapshot"} <= set(synced)
    assert not any(name.startswith((f"{12:020d}.log", f"{18:020d}")) for name in synced)
    assert (log.recovery_point, log.log_end_offset) == (12, 20)
    synced.clear()
    log.flush()
    assert {name for name in synced if name.endswith(".log")} == {
        f"{12:020d}.log", f"{18:020d}.log"
    }  # fmt: skip
    assert log.recovery_point == 20
    synced.clear()
    log.flush()
    assert log.flusher.begin() is None
    assert synced == []


def test_the_waiting_can_be_done_elsewhere(tmp_path: Path) -> None:
    log, synced = watched(tmp_path)
    flush = log.flusher.begin()
    assert flush is not None and synced == []
    append(log, a_batch(2))
    log.delete_old_segments(2, NOW_MS)
    delete_due_files(log, NOW_MS + 10**9)
    flush.sync()
    assert len(synced) > 3
    log.flusher.end(flush)
    assert (log.recovery_point, log.log_end_offset) == (20, 22)


def test_a_failed_sync_takes_the_directory_down(tmp_path: Path) -> None:
    def fsync(fd: int) -> None:
        raise OSError("the disk is gone")

    (tmp_path / "t-0").mkdir()
    log = Log.open(str(tmp_path / "t-0"), "t-0", config(), NOW_MS, fs=FileSystem(fsync=fsync))
    fill(log, 2)
    with pytest.raises(LogDirectoryFailed, match="the disk is gone") as raised:
        log.flush()
    assert raised.value.topic_partition == "t-0"
    assert log.recovery_point == 0
    with pytest.raises(LogDirectoryFailed):
        log.close()


class OneBadSync:
    """A disk that fails one fsync and says nothing of it later, as Linux does."""

    def __init__(self) -> None:
        self.fails = False
        self.fs = FileSystem(fsync=self._fsync)

    def _fsync(self, fd: int) -> None:
        if self.fails:
            self.fails = False
            raise OSError(errno.EIO, "the disk is gone")
        os.fsync(fd)


USES: dict[str, Callable[[Log], object]] = {
    "append": lambda log: append(log, a_batch()),
    "append a set": lambda log: append(log, a_batch(producer_id=1, sequence=0)),
    "append as follower": lambda log: log.append_as_follower(follower_batch(log), NOW_MS),
    "roll": lambda log: log.roll(NOW_MS),
    "truncate": lambda log: log.truncate_to(1, NOW_MS),
    "truncate fully": lambda log: log.truncate_fully_and_start_at(9, NOW_MS),
    "delete": lambda log: log.delete_old_segments(2, NOW_MS),
    "read": lambda log: log.read(0, 100),
    "flush": lambda log: log.flush(),
}


def follower_batch(log: Log) -> bytearray:
    batch = a_batch()
    batch[:8] = log.log_end_offset.to_bytes(8)
    return batch


@pytest.mark.parametrize("use", USES)
def test_after_a_failed_sync_a_log_that_somebody_still_holds_does_nothing(
    tmp_path: Path, use: str
) -> None:
    (tmp_path / "t-0").mkdir()
    disk = OneBadSync()
    log = Log.open(str(tmp_path / "t-0"), "t-0", config(segment_bytes=3 * SIZE), NOW_MS, fs=disk.fs)
    fill(log, 7, 2)
    disk.fails = True
    with pytest.raises(LogDirectoryFailed, match="the disk is gone"):
        log.flush()
    end, before = log.log_end_offset, contents(tmp_path / "t-0")
    with pytest.raises(LogDirectoryFailed):
        USES[use](log)
    assert contents(tmp_path / "t-0") == before
    assert log.log_end_offset == end and log.recovery_point <= log.log_start_offset


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_closing_leaves_no_descriptor(tmp_path: Path) -> None:
    log = open_log(tmp_path, segment_bytes=3 * SIZE)
    fill(log, 10, 2)
    log.close()
    assert len(log.store.files) == 0
    assert log.recovery_point == 20
