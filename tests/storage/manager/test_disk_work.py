"""Work in the background comes back whatever happened, and is said once."""

import logging
from pathlib import Path

import pytest

from barnabas.storage.disk.fs import REAL
from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.manager.data_directory import DataDirectory
from barnabas.storage.manager.disk_work import DiskWork, work_inline


@pytest.fixture
def directory(tmp_path: Path) -> DataDirectory:
    return DataDirectory(
        str(tmp_path),
        FileCache(REAL),
        producer_id_expiration_ms=1,
        on_failure=lambda _: None,
    )


@pytest.mark.broker_says("ValueError: a bug")
def test_a_fault_of_the_program_is_said_once_and_the_work_tried_again(
    directory: DataDirectory, caplog: pytest.LogCaptureFixture
) -> None:
    failures, done = [ValueError("a bug")] * 2, []

    def work() -> None:
        if failures:
            raise failures.pop()

    disk_work = DiskWork(work_inline)
    disk_work.submit(directory, work, lambda: done.append(True))
    assert disk_work.is_idle and directory.is_online and not done
    disk_work.retry()
    assert not done
    disk_work.retry()
    assert done == [True] and disk_work.is_idle
    assert [r.levelno for r in caplog.records].count(logging.ERROR) == 1


@pytest.mark.broker_says("the disk is gone")
def test_a_failure_of_the_disk_takes_the_directory_offline(directory: DataDirectory) -> None:
    def work() -> None:
        raise OSError("the disk is gone")

    done: list[bool] = []
    disk_work = DiskWork(work_inline)
    disk_work.submit(directory, work, lambda: done.append(True))
    disk_work.retry()
    assert not directory.is_online and not done and disk_work.is_idle
