"""Checkpoints on the disk, above all what a truncation makes of them, whatever is in progress."""

from pathlib import Path

import pytest

from barnabas.storage.directory import checkpoints
from barnabas.storage.directory.checkpoints import Offsets
from barnabas.storage.disk.fs import REAL
from barnabas.storage.log_config import LogConfig
from barnabas.storage.manager.log_manager import LogManager
from barnabas.storage.manager.managed_log import ManagedLog

from ..faulty_disk import FaultyDisk
from ..managers import NOW_MS, ORDERS, LaterWorker, append, opened, pass_time, values_of

NAMES = [checkpoints.RECOVERY_POINT, checkpoints.CLEANER]


def on_disk(path: Path, name: str) -> Offsets:
    return checkpoints.read_offsets(REAL, str(path / name))


def with_ten_records(path: Path, worker: LaterWorker) -> tuple[LogManager, ManagedLog]:
    """A log that is durable and clean up to 10, as its checkpoints say."""
    manager = opened(path, worker=worker)
    log = manager.create(ORDERS[0], LogConfig(), NOW_MS)
    for number in range(10):
        append(log, b"%d" % number)
    manager.flush(log)
    worker.do_all()
    log.data_directory.clean_offsets[ORDERS[0]] = 10
    pass_time(manager, NOW_MS + 60_000)
    worker.do_all()
    return manager, log


@pytest.mark.parametrize("in_progress", range(5))
def test_what_is_appended_after_a_truncation_lies_above_every_checkpoint(
    tmp_path: Path, in_progress: int
) -> None:
    """The checkpoints are being written, with the offsets from before, and are so many file
    calls on their way when the log is truncated to 5 and appended to 10 again."""
    worker = LaterWorker()
    manager, log = with_ten_records(tmp_path, worker)
    append(log, b"10")
    manager.flush(log)
    worker.do_all()
    pass_time(manager, NOW_MS + 120_000)
    for _ in range(in_progress):
        if worker.waiting:
            worker.do_one()
    log.truncate_to(5, NOW_MS)
    for number in range(5):
        append(log, b"again %d" % number)
    for _ in range(20):
        assert on_disk(tmp_path, checkpoints.RECOVERY_POINT).get(ORDERS[0], 0) <= 5
        assert on_disk(tmp_path, checkpoints.CLEANER).get(ORDERS[0], 0) <= 5
        assert on_disk(tmp_path, checkpoints.REPLICATION).get(ORDERS[0], 0) in (0, 5, 10)
        if worker.waiting:
            worker.do_one()
    assert not worker.waiting
    manager.close()


def test_a_truncation_is_on_the_disk_before_anything_is_cut(tmp_path: Path) -> None:
    manager, _ = with_ten_records(tmp_path, LaterWorker())
    manager.close()
    disk = FaultyDisk(tmp_path)
    manager = opened(tmp_path, fs=disk.fs)
    log = manager.get(ORDERS[0])
    assert log is not None
    disk.trace.clear()
    log.truncate_to(5, NOW_MS)
    calls = [line.split(" ", 1)[1] for line in disk.trace]
    cut = next(number for number, call in enumerate(calls) if "ftruncate" in call)
    named = calls.index(f"rename /{checkpoints.RECOVERY_POINT}.lowered.tmp")
    assert named < calls.index("fsync ", named) < cut
    manager.close()


def test_a_log_truncated_below_its_start_is_not_dropped(tmp_path: Path) -> None:
    worker = LaterWorker()
    manager, log = with_ten_records(tmp_path, worker)
    log.maybe_increment_log_start_offset(8)
    pass_time(manager, NOW_MS + 120_000)
    worker.do_all()
    assert on_disk(tmp_path, checkpoints.LOG_START) == {ORDERS[0]: 8}
    log.truncate_to(5, NOW_MS)
    append(log, b"kept")
    manager.flush(log)
    worker.do_all()
    assert log.recovery_point == 6
    manager.abandon()
    manager = opened(tmp_path)
    again = manager.get(ORDERS[0])
    assert again is not None and again.log_end_offset == 6
    assert values_of(again)[-1] == b"kept"
    manager.close()


def test_a_truncation_of_what_no_checkpoint_holds_writes_nothing(tmp_path: Path) -> None:
    worker = LaterWorker()
    manager, log = with_ten_records(tmp_path, worker)
    log.truncate_to(9, NOW_MS)
    written = [(tmp_path / name).stat().st_ino for name in NAMES]
    append(log, b"not flushed")
    append(log, b"nor this")
    log.truncate_to(10, NOW_MS)
    assert [(tmp_path / name).stat().st_ino for name in NAMES] == written
    manager.close()


def test_segments_that_are_cut_do_not_come_back(tmp_path: Path) -> None:
    """A power cut after what took their place was flushed."""
    disk = FaultyDisk(tmp_path)
    manager = opened(tmp_path, fs=disk.fs)
    log = manager.create(ORDERS[0], LogConfig(segment_bytes=250, index_interval_bytes=100), NOW_MS)
    for number in range(12):
        append(log, b"old %d" % number + b"." * 50)
    manager.flush(log)
    log.truncate_to(1, NOW_MS)
    log.update_config(LogConfig())
    for number in range(1, 5):
        append(log, b"new %d" % number)
    manager.flush(log)
    for directory in manager.directories:
        directory.close_files()
    disk.cut_power()
    manager = opened(tmp_path)
    again = manager.get(ORDERS[0])
    assert again is not None
    assert values_of(again)[1:] == [b"new %d" % number for number in range(1, 5)]
    manager.close()


def test_a_truncation_takes_the_checkpoints_back_at_once(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    log = manager.create(ORDERS[0], LogConfig(), NOW_MS)
    append(log, b"one", b"two")
    append(log, b"three", b"four")
    manager.flush(log)
    log.data_directory.clean_offsets[ORDERS[0]] = 3
    assert log.recovery_point == 4
    log.truncate_to(2, NOW_MS)
    assert on_disk(tmp_path, checkpoints.RECOVERY_POINT) == {ORDERS[0]: 2}
    assert on_disk(tmp_path, checkpoints.CLEANER) == {ORDERS[0]: 0}
    log.truncate_fully_and_start_at(1, NOW_MS)
    assert on_disk(tmp_path, checkpoints.RECOVERY_POINT) == {ORDERS[0]: 0}
    assert log.data_directory.clean_offsets == {}
    manager.close()


def test_what_is_not_truncated_writes_nothing(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    log = manager.create(ORDERS[0], LogConfig(), NOW_MS)
    append(log, b"one")
    assert not log.truncate_to(1, NOW_MS)
    assert on_disk(tmp_path, checkpoints.RECOVERY_POINT) == {}
    manager.close()


def test_many_truncations_cost_one_write_of_each_file(tmp_path: Path) -> None:
    disk = FaultyDisk(tmp_path)
    manager = opened(tmp_path, fs=disk.fs)
    for partition in ORDERS:
        log = manager.create(partition, LogConfig(), NOW_MS)
        append(log, b"one")
        append(log, b"two")
        log.flush()
    disk.trace.clear()
    manager.truncate_to(dict.fromkeys(ORDERS, 1) | {ORDERS[3]: 2}, NOW_MS)
    renames = [line for line in disk.trace if ".lowered.tmp" in line and "rename" in line]
    assert len(renames) == len(checkpoints.ALL)
    assert on_disk(tmp_path, checkpoints.RECOVERY_POINT) == dict.fromkeys(ORDERS, 1) | {
        ORDERS[3]: 2
    }
    assert [log.log_end_offset for log in manager] == [1, 1, 1, 2]
    manager.close()
