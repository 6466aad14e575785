"""What waits for the disk happens in threads; before a stop it happens in many at once."""

import asyncio
import os
import threading
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from barnabas.server.core.clock import ManualClock
from barnabas.server.disks.log_keeper import STOPPING_THREADS, LogKeeper, log_manager_config
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
        for index in range(LOGS):
            log = disks.create(TopicPartition("t", index), LogConfig(), NOW_MS)
            batch = make_batch(b"x", producer=Producer(7), sequence=0)
            log.append_as_leader(batch, 0, NOW_MS)
        await keeper.complete()
        assert all(log.recovery_point == 1 for log in disks)
        assert len(syncing) == STOPPING_THREADS
        disks.close()

    asyncio.run(run())
    assert len(list(tmp_path.glob(f"t-*/{1:020d}.snapshot"))) == LOGS
    again = LogManager([str(tmp_path)])
    again.open(lambda topic: LogConfig(), NOW_MS)
    assert [log.log_end_offset for log in again] == [1] * LOGS
    assert not any(log.load_report.notes for log in again if log.load_report)
    again.close()


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
