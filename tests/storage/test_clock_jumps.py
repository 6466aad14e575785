"""The date is set back or forward by a day: what is due is done as if nothing had happened."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas.storage.directory import checkpoints
from barnabas.storage.disk.fs import REAL
from barnabas.storage.log_config import LogConfig, LogManagerConfig
from barnabas.storage.manager.log_manager import LogManager
from barnabas.storage.manager.managed_log import ManagedLog

from .managers import NOW_MS, ORDERS, append, base_offsets, opened, pass_time, values_of

DAY_MS = 86_400_000
HOUR_MS = 3_600_000
SMALL = {"segment_bytes": 200, "index_interval_bytes": 100}
SETTINGS = LogManagerConfig(flush_interval_ms=1_000)


class JumpedManager:
    """A manager that has run for a minute when the date jumps; a minute passes at a time."""

    def __init__(self, path: Path, jump_ms: int) -> None:
        self.path = path
        self.manager: LogManager = opened(path, settings=SETTINGS)
        self.monotonic_ms = NOW_MS
        self.jumped_ms = 0
        self.pass_minutes(1)
        self.jumped_ms = jump_ms

    @property
    def now_ms(self) -> int:
        return self.monotonic_ms + self.jumped_ms

    def pass_minutes(self, count: int) -> None:
        for _ in range(count):
            self.monotonic_ms += 60_000
            pass_time(self.manager, self.now_ms, self.monotonic_ms)

    def log(self, number: int = 0, **config: Any) -> ManagedLog:
        made = LogConfig(**{**SMALL, **config})
        return self.manager.create(ORDERS[number], made, self.now_ms)

    def fill(self, log: ManagedLog, count: int = 6) -> None:
        for _ in range(count):
            append(log, b"x" * 100, timestamp=self.now_ms)


@pytest.fixture(params=[-DAY_MS, DAY_MS], ids=["back", "forward"])
def jumped(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[JumpedManager]:
    made = JumpedManager(tmp_path, request.param)
    yield made
    made.manager.close()


def test_retention_goes_on_by_size_and_by_age(jumped: JumpedManager) -> None:
    by_size = jumped.log(0, retention_bytes=300)
    by_age = jumped.log(1, retention_ms=HOUR_MS)
    jumped.fill(by_size)
    jumped.fill(by_age)
    jumped.pass_minutes(6)
    assert len(base_offsets(by_size)) == 2 and len(base_offsets(by_age)) == 6
    jumped.pass_minutes(60)
    assert base_offsets(by_age) == [6]


def test_set_aside_files_and_directories_are_unlinked_in_their_time(jumped: JumpedManager) -> None:
    log = jumped.log(0, retention_bytes=0, file_delete_delay_ms=10 * 60_000)
    jumped.fill(log)
    while not (deleted := list(jumped.path.glob("*/*.deleted"))):
        jumped.pass_minutes(1)
    jumped.manager.delete(jumped.log(1, file_delete_delay_ms=10 * 60_000).partition)
    jumped.pass_minutes(9)
    assert all(path.exists() for path in deleted)
    assert len(list(jumped.path.glob("*-delete"))) == 1
    jumped.pass_minutes(2)
    assert not list(jumped.path.glob("*/*.deleted")) and not list(jumped.path.glob("*-delete"))


def test_flush_ms_flushes(jumped: JumpedManager) -> None:
    log = jumped.log(flush_ms=60_000)
    append(log, b"x", timestamp=jumped.now_ms)
    assert log.recovery_point == 0
    jumped.pass_minutes(2)
    assert log.recovery_point == 1


def test_checkpoints_are_written(jumped: JumpedManager) -> None:
    append(jumped.log(), b"x", timestamp=jumped.now_ms)
    jumped.pass_minutes(1)
    path = f"{jumped.path}/{checkpoints.REPLICATION}"
    assert checkpoints.read_offsets(REAL, path) == {ORDERS[0]: 1}


def test_dirty_logs_are_compacted(jumped: JumpedManager) -> None:
    log = jumped.log(cleanup_policy=("compact",))
    jumped.fill(log)
    jumped.pass_minutes(2)
    assert len(values_of(log)) < 6


def test_idle_producers_are_forgotten(jumped: JumpedManager) -> None:
    log = jumped.log()
    log.expire_producers_after(HOUR_MS)
    append(log, b"x", timestamp=jumped.now_ms, sequence=0)
    jumped.pass_minutes(30)
    assert log.producer_entries()
    jumped.pass_minutes(60)
    assert not log.producer_entries()


@pytest.mark.parametrize("jump_ms", [-DAY_MS, DAY_MS], ids=["back", "forward"])
@pytest.mark.parametrize("is_undone", [False, True])
def test_producers_are_not_forgotten_before_their_time(
    tmp_path: Path, jump_ms: int, is_undone: bool
) -> None:
    """What they were last heard of at is a date from before the jump."""
    made = JumpedManager(tmp_path, 0)
    log = made.log()
    log.expire_producers_after(HOUR_MS)
    append(log, b"x", timestamp=made.now_ms, sequence=0)
    made.jumped_ms = jump_ms
    made.pass_minutes(25)
    made.jumped_ms = 0 if is_undone else jump_ms
    made.pass_minutes(25)
    assert log.producer_entries()
    made.pass_minutes(60 + DAY_MS // 60_000)
    assert not log.producer_entries()
    made.manager.close()
