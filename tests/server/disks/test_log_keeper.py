"""What waits for the disk happens in threads; before a stop it happens in many at once."""

import asyncio
import errno
import os
import threading
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from barnabas.server.core.clock import ManualClock
from barnabas.server.disks.log_keeper import (
    FLUSHED_AT_ONCE,
    STOPPING_THREADS,
    LogKeeper,
    log_manager_config,
)
from barnabas.server.settings.config import load_config
from barnabas.storage.directory import clean_marker
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.disk.fs import REAL, FileSystem
from barnabas.storage.log_config import LogConfig
from barnabas.storage.manager.log_manager import LogManager
from tests.server.records import NOW_MS, Producer, make_batch

LOGS = 100


def test_a_stop_waits_for_many_logs_at_once(tmp_path: Path) -> None:
    syncing: set[str] = set()
    together = threading.Barrier(STOPPING_THREADS)

    def fsync(fd: int) -> None:
        name = threading.current_thread().name
        if name.startswith("barnabas-stop") and name not in syncing:
            syncing.add(name)
            together.wait(30)  # all threads are in here at one time
        os.fsync(fd)

    async def run() -> None:
        def raise_it(error: BaseException) -> None:
            raise error

        clock = ManualClock(NOW_MS)
        keeper = LogKeeper(clock, asyncio.get_running_loop(), raise_it)
        fs = replace(REAL, fsync=fsync)
        disks = keeper.manager = LogManager([str(tmp_path)], fs=fs, worker=keeper.run)
        disks.open(lambda topic: LogConfig(), NOW_MS)
        for index in range(FLUSHED_AT_ONCE):
            log = disks.create(TopicPartition("t", index), LogConfig(), NOW_MS)
            batch = make_batch(b"x", producer=Producer(7), sequence=0)
            log.append_as_leader(batch, 0, NOW_MS)
        await keeper.complete()
        assert all(log.recovery_point == 1 for log in disks)
        assert len(syncing) == STOPPING_THREADS
        disks.close()

    asyncio.run(run())
    assert len(list(tmp_path.glob(f"t-*/{1:020d}.snapshot"))) == FLUSHED_AT_ONCE
    again = LogManager([str(tmp_path)])
    again.open(lambda topic: LogConfig(), NOW_MS)
    assert [log.log_end_offset for log in again] == [1] * FLUSHED_AT_ONCE
    assert not any(log.load_report.notes for log in again if log.load_report)
    again.close()


def test_a_stop_opens_each_file_of_a_log_once(tmp_path: Path) -> None:
    """With far fewer descriptors than logs: complete and flush come one after the other."""
    opened: list[str] = []

    def noting_open(path: str, flags: int, mode: int) -> int:
        opened.append(path)
        return os.open(path, flags, mode)

    async def run() -> None:
        keeper = LogKeeper(ManualClock(NOW_MS), asyncio.get_running_loop(), lambda error: None)
        fs = replace(REAL, open=noting_open)
        disks = LogManager([str(tmp_path)], fs=fs, worker=keeper.run, open_files=16)
        keeper.manager = disks
        disks.open(lambda topic: LogConfig(), NOW_MS)
        for index in range(LOGS):
            log = disks.create(TopicPartition("t", index), LogConfig(), NOW_MS)
            log.append_as_leader(make_batch(b"x"), 0, NOW_MS)
        opened.clear()
        await keeper.complete()
        await keeper.close()

    asyncio.run(run())
    logs = [path for path in opened if path.endswith((".log", ".timeindex"))]
    assert sorted(logs) == sorted(set(logs))


def test_what_lacks_a_descriptor_while_threads_hold_them_is_completed_later(tmp_path: Path) -> None:
    is_short = False

    def short_open(path: str, flags: int, mode: int) -> int:
        if is_short and "/t-" in path:
            raise OSError(errno.EMFILE, "too many open files", path)
        return os.open(path, flags, mode)

    async def run() -> None:
        nonlocal is_short
        keeper = LogKeeper(ManualClock(NOW_MS), asyncio.get_running_loop(), lambda error: None)
        fs = replace(REAL, open=short_open)
        disks = LogManager([str(tmp_path)], fs=fs, worker=keeper.run, open_files=16)
        keeper.manager = disks
        disks.open(lambda topic: LogConfig(), NOW_MS)
        for index in range(LOGS):
            log = disks.create(TopicPartition("t", index), LogConfig(), NOW_MS)
            log.append_as_leader(make_batch(b"x", producer=Producer(7), sequence=0), 0, NOW_MS)
        is_short = True
        await keeper.complete()
        is_short = False
        await keeper.close()

    asyncio.run(run())
    assert (tmp_path / clean_marker.NAME).exists()
    assert len(list(tmp_path.glob(f"t-*/{1:020d}.snapshot"))) == LOGS


def test_a_failure_among_what_one_thread_does_is_its_own(tmp_path: Path) -> None:
    async def run() -> list[str]:
        told: list[str] = []
        errors: list[BaseException] = []
        keeper = LogKeeper(ManualClock(NOW_MS), asyncio.get_running_loop(), errors.append)

        def fail() -> None:
            raise OSError("no disk")

        def refuse(error: BaseException | None) -> None:
            raise ValueError("refused")

        with keeper._in_one_thread():
            keeper.run(fail, lambda error: told.append(repr(error)))
            keeper.run(lambda: None, refuse)
            keeper.run(lambda: None, lambda error: told.append(repr(error)))
        await keeper.stop()
        return [*told, *map(repr, errors)]

    assert asyncio.run(run()) == ["OSError('no disk')", "None", "ValueError('refused')"]


def test_a_stop_gives_way_after_a_few_logs(tmp_path: Path) -> None:
    """Not time is measured, but how many file calls the loop makes before others have a turn."""
    loop_thread = threading.current_thread()
    calls = 0

    def counting(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            nonlocal calls
            calls += threading.current_thread() is loop_thread
            return real(*arguments)

        return call

    fs = FileSystem(**{
        each.name: counting(getattr(REAL, each.name)) for each in fields(FileSystem)
    })  # fmt: skip

    async def run() -> None:
        nonlocal calls
        keeper = LogKeeper(ManualClock(NOW_MS), asyncio.get_running_loop(), lambda error: None)
        disks = keeper.manager = LogManager([str(tmp_path)], fs=fs, worker=keeper.run)
        disks.open(lambda topic: LogConfig(), NOW_MS)
        for index in range(LOGS):
            log = disks.create(TopicPartition("t", index), LogConfig(), NOW_MS)
            log.append_as_leader(make_batch(b"x", producer=Producer(7), sequence=0), 0, NOW_MS)
        calls, turns = 0, asyncio.create_task(others())
        await keeper.complete()
        await keeper.close()
        turns.cancel()

    most, total = 0, 0

    async def others() -> None:
        nonlocal calls, most, total
        while True:
            most, total, calls = max(most, calls), total + calls, 0
            await asyncio.sleep(0)

    asyncio.run(run())
    assert total > 5 * LOGS and most < LOGS
    assert (tmp_path / clean_marker.NAME).exists()


def test_processes_and_compactions_are_as_many_as_the_settings_say() -> None:
    settings = {"num.recovery.threads.per.data.dir": "3", "log.cleaner.threads": "4"}
    made = log_manager_config(load_config((), settings))
    assert (made.recovery_processes, made.cleaner_threads) == (3, 4)


@pytest.mark.parametrize("failure", [None, OSError("no"), ValueError("a bug"), SystemExit()])
def test_work_in_a_thread_always_comes_back(failure: BaseException | None) -> None:
    async def run() -> None:
        def work() -> None:
            if failure is not None:
                raise failure

        errors: list[BaseException] = []
        keeper = LogKeeper(ManualClock(), asyncio.get_running_loop(), errors.append)
        outcome: asyncio.Future[BaseException | None] = asyncio.Future()
        keeper.run(work, outcome.set_result)
        assert await outcome is failure
        await keeper.stop()
        assert errors == []

    asyncio.run(run())
