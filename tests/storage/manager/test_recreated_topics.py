"""A topic that is made again under the name of one that was deleted begins from nothing."""

from pathlib import Path

import pytest

from barnabas.storage.directory import checkpoints
from barnabas.storage.disk.fs import REAL
from barnabas.storage.log_config import LogConfig, LogManagerConfig

from ..managers import NOW_MS, ORDERS, append, opened, pass_time, values_of

SETTINGS = LogManagerConfig(
    initial_task_delay_ms=0,
    recovery_point_interval_ms=1_000,
    log_start_interval_ms=1_000,
    high_watermark_interval_ms=1_000,
)
OLD, NEW = b"o" * 16, b"n" * 16
CONFIG = LogConfig(file_delete_delay_ms=0)


def live_and_delete(folder: Path, *, restarted: bool) -> None:
    """A topic of nine records, the first six deleted, whose checkpoints say so, goes."""
    manager = opened(folder, settings=SETTINGS)
    log = manager.create(ORDERS[0], CONFIG, NOW_MS, topic_id=OLD)
    append(log, *[b"old"] * 9)
    log.maybe_increment_log_start_offset(6)
    manager.flush(log)
    pass_time(manager, NOW_MS + 1_000)
    assert checkpoint(folder, checkpoints.LOG_START) == {ORDERS[0]: 6}
    assert checkpoint(folder, checkpoints.RECOVERY_POINT) == {ORDERS[0]: 9}
    if restarted:
        manager.close()
        manager = opened(folder, settings=SETTINGS)
    manager.delete(ORDERS[0])
    manager.create(ORDERS[0], CONFIG, NOW_MS + 1_000, topic_id=NEW)
    log = manager.get(ORDERS[0])
    assert log is not None
    append(log, b"1", b"2")
    manager.abandon()


def checkpoint(folder: Path, name: str) -> checkpoints.Offsets:
    return checkpoints.read_offsets(REAL, str(folder / name))


@pytest.mark.parametrize("restarted", [False, True])
def test_a_crash_finds_its_records_whatever_the_old_one_had_noted(
    tmp_path: Path, restarted: bool
) -> None:
    live_and_delete(tmp_path, restarted=restarted)
    manager = opened(tmp_path)
    log = manager.get(ORDERS[0])
    assert log is not None
    assert (log.log_start_offset, log.log_end_offset) == (0, 2)
    assert values_of(log) == [b"1", b"2"]
    manager.close()


def test_no_checkpoint_names_it_before_it_has_said_something_itself(tmp_path: Path) -> None:
    live_and_delete(tmp_path, restarted=False)
    for name in checkpoints.ALL:
        assert checkpoint(tmp_path, name).get(ORDERS[0], 0) == 0


def test_a_new_topic_writes_no_checkpoint(tmp_path: Path) -> None:
    manager = opened(tmp_path, settings=SETTINGS)
    manager.create(ORDERS[0], CONFIG, NOW_MS, topic_id=NEW)
    assert not [name for name in checkpoints.ALL if (tmp_path / name).exists()]
    manager.close()
