"""Flushes that overlap: nobody is told before the sync that covers him has ended."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.storage.disk.fs import REAL
from barnabas.storage.log_config import LogConfig
from barnabas.storage.manager.disk_work import Done, work_inline
from barnabas.storage.manager.log_manager import LogManager
from barnabas.storage.manager.managed_log import ManagedLog

from ..managers import NOW_MS, ORDERS, append, opened, pass_time


class Disk:
    """A worker whose jobs are done in any order, and what has been synced by then."""

    def __init__(self) -> None:
        self.synced: list[str] = []
        self.waiting: list[tuple[Callable[[], None], Done]] = []
        self.fs = replace(REAL, fsync=self._fsync)

    def _fsync(self, fd: int) -> None:
        os.fsync(fd)
        self.synced.append(Path(f"/proc/self/fd/{fd}").readlink().name)

    def work(self, work: Callable[[], None], done: Done) -> None:
        self.waiting.append((work, done))

    def do(self, number: int = 0) -> None:
        work_inline(*self.waiting.pop(number))

    def do_all(self) -> None:
        while self.waiting:
            self.do()


def made(tmp_path: Path, count: int = 1) -> tuple[Disk, LogManager, list[ManagedLog]]:
    """Logs with one record, nothing of which is synced."""
    disk = Disk()
    manager = opened(tmp_path / "data", fs=disk.fs, worker=disk.work)
    logs = [manager.create(each, LogConfig(), NOW_MS) for each in ORDERS[:count]]
    for log in logs:
        append(log, b"one")
    disk.synced.clear()
    return disk, manager, logs


def flush(manager: LogManager, disk: Disk, log: ManagedLog) -> list[set[str]]:
    """Ask for a flush; what had been synced when it was said to be done."""
    told: list[set[str]] = []
    manager.flush(log, lambda: told.append(set(disk.synced)))
    return told


def test_a_flush_is_not_done_before_names_that_another_one_is_syncing(tmp_path: Path) -> None:
    disk, manager, (one, two) = made(tmp_path, 2)
    first, second = flush(manager, disk, one), flush(manager, disk, two)
    disk.do(1)
    assert second and {"data", "orders-1", f"{0:020d}.log"} <= second[0]
    assert not first
    disk.do_all()
    assert first and {"data", "orders-0"} <= first[0]
    manager.close()


def test_nor_before_names_that_the_sweep_is_syncing(tmp_path: Path) -> None:
    disk, manager, (log,) = made(tmp_path)
    pass_time(manager, NOW_MS + 1_000)
    told = flush(manager, disk, log)
    disk.do(len(disk.waiting) - 1)
    assert told and "data" in told[0]
    disk.do_all()
    manager.close()


def test_the_second_flush_of_a_log_waits_for_the_first(tmp_path: Path) -> None:
    disk, manager, (log,) = made(tmp_path)
    first = flush(manager, disk, log)
    append(log, b"two")
    second = flush(manager, disk, log)
    disk.do(len(disk.waiting) - 1)
    assert (len(first), len(second), log.recovery_point) == (1, 0, 1)
    assert {"orders-0", "data"} <= first[0]
    disk.synced.clear()
    disk.do_all()
    assert (len(second), log.recovery_point) == (1, 2)
    assert f"{0:020d}.log" in second[0]
    manager.close()


def test_all_who_wait_are_served_by_one_flush(tmp_path: Path) -> None:
    disk, manager, (log,) = made(tmp_path)
    told = [flush(manager, disk, log)]
    for number in range(20):
        append(log, b"%d" % number)
        told.append(flush(manager, disk, log))
    disk.do_all()
    assert all(told) and log.recovery_point == 21
    assert disk.synced.count(f"{0:020d}.log") == 2
    manager.close()


@pytest.mark.parametrize("goes_on", [False, True])
def test_nobody_is_told_that_what_was_truncated_is_durable(tmp_path: Path, goes_on: bool) -> None:
    disk, manager, (log,) = made(tmp_path)
    kept = flush(manager, disk, log)
    append(log, b"two")
    cut = [flush(manager, disk, log)]
    append(log, b"three")
    cut.append(flush(manager, disk, log))
    log.truncate_to(1, NOW_MS)
    if goes_on:  # others have their offsets then, and are durable
        append(log, b"another two", b"another three")
        assert not flush(manager, disk, log)
    disk.do_all()
    assert kept and cut == [[], []] and log.recovery_point == log.log_end_offset
    assert not manager.maintenance._flusher.is_flushing(log)
    manager.close()


def test_nor_what_went_when_the_log_was_begun_anew(tmp_path: Path) -> None:
    disk, manager, (log,) = made(tmp_path)
    told = [flush(manager, disk, log), flush(manager, disk, log)]
    log.truncate_fully_and_start_at(5, NOW_MS)
    disk.do_all()
    assert told == [[], []] and log.recovery_point == 5
    manager.close()


@pytest.mark.parametrize(
    "suffix", ["deleted", pytest.param("failed", marks=pytest.mark.broker_says("are offline"))]
)
def test_what_has_gone_is_waited_for_by_nobody(tmp_path: Path, suffix: str) -> None:
    disk, manager, (log, other) = made(tmp_path, 2)
    told = [flush(manager, disk, log), flush(manager, disk, log)]
    if suffix == "deleted":
        manager.delete(ORDERS[0])
    else:
        log.data_directory.fail(OSError("gone"))
    told.append(flush(manager, disk, log))
    disk.do_all()
    assert told == [[], [], []]
    assert not manager.maintenance._flusher.is_flushing(log)
    assert other.recovery_point == 0
    manager.close()


def test_a_log_of_many_segments_is_flushed_some_at_a_time(tmp_path: Path) -> None:
    disk, manager, (log,) = made(tmp_path)
    log.update_config(LogConfig(segment_bytes=150, index_interval_bytes=100))
    log.flusher.segments_synced_at_once = 4
    for number in range(30):
        append(log, b"x" * 50, timestamp=NOW_MS + number)
    told = flush(manager, disk, log)
    reached = [log.recovery_point]
    while disk.waiting:
        disk.do()
        reached.append(log.recovery_point)
    assert told and log.recovery_point == log.log_end_offset == 31
    assert reached == sorted(reached) and len(reached) >= 8
    manager.close()
