"""What a log manager does as time goes by: deleting, flushing, forgetting; compaction apart."""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from barnabas.storage.directory import checkpoints, partition_metadata
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.disk.fs import REAL, FileSystem
from barnabas.storage.log_config import LogConfig, LogManagerConfig
from barnabas.storage.manager.checkpoint_writer import CheckpointWriter
from barnabas.storage.manager.log_manager import LogManager
from barnabas.storage.manager.managed_log import ManagedLog

from ..managers import (
    NOW_MS,
    ORDERS,
    LaterWorker,
    append,
    base_offsets,
    opened,
    pass_time,
    values_of,
)

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
SLICE_CALLS = LogManagerConfig().slice_calls
SMALL = {"segment_bytes": 200, "index_interval_bytes": 100}


def test_old_segments_go_even_the_active_one(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    config = LogConfig(retention_ms=HOUR_MS, **SMALL)
    log = manager.create(ORDERS[0], config, NOW_MS)
    for number in range(6):
        append(log, b"x" * 100, timestamp=NOW_MS + number * HOUR_MS // 2)
    assert len(base_offsets(log)) == 6
    pass_time(manager, NOW_MS + 3 * HOUR_MS)
    assert base_offsets(log) == [4, 5] and log.log_start_offset == 4
    assert len(list((tmp_path / "orders-0").glob("*.log.deleted"))) == 4
    pass_time(manager, NOW_MS + 3 * HOUR_MS + 61_000)
    assert not list((tmp_path / "orders-0").glob("*.deleted"))
    pass_time(manager, NOW_MS + 9 * HOUR_MS)
    assert base_offsets(log) == [6] and log.log_end_offset == 6
    manager.close()


def test_a_log_is_kept_to_its_size(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    log = manager.create(ORDERS[0], LogConfig(retention_bytes=500, **SMALL), NOW_MS)
    for _ in range(10):
        append(log, b"x" * 100)
    before = log.size_bytes
    pass_time(manager, NOW_MS + HOUR_MS)
    one = before // 10
    assert 500 <= log.size_bytes < 500 + one
    manager.close()


def test_nothing_goes_that_is_not_replicated(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    log = manager.create(ORDERS[0], LogConfig(retention_ms=1, **SMALL), NOW_MS)
    for _ in range(4):
        append(log, b"x" * 100)
    log.update_high_watermark(2)
    pass_time(manager, NOW_MS + HOUR_MS)
    assert base_offsets(log) == [2, 3]
    manager.close()


@pytest.mark.parametrize("policy", [("compact",), ()])
def test_without_delete_only_what_is_below_the_log_start_goes(
    policy: tuple[str, ...], tmp_path: Path
) -> None:
    manager = opened(tmp_path, settings=LogManagerConfig(cleaner_enable=False))
    config = LogConfig(cleanup_policy=policy, retention_ms=1, retention_bytes=1, **SMALL)
    log = manager.create(ORDERS[0], config, NOW_MS)
    for _ in range(4):
        append(log, b"x" * 100)
    log.maybe_increment_log_start_offset(2)
    pass_time(manager, NOW_MS + HOUR_MS)
    assert base_offsets(log) == [2, 3]
    manager.close()


def test_a_closed_segment_is_flushed_soon_and_not_looked_at_again(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    log = manager.create(ORDERS[0], LogConfig(**SMALL), NOW_MS)
    for _ in range(3):
        append(log, b"x" * 100)
    assert log.recovery_point == 0
    pass_time(manager, NOW_MS + 1000)
    assert log.recovery_point == 2
    pass_time(manager, NOW_MS + 61_000)
    manager.abandon()
    manager = opened(tmp_path)
    again = manager.get(ORDERS[0])
    assert again is not None
    assert set(again.load_report.recovered_segments) == {2}
    assert len(values_of(again)) == 3
    manager.close()


def test_flush_ms_makes_the_active_segment_durable(tmp_path: Path) -> None:
    manager = opened(tmp_path, settings=LogManagerConfig(flush_interval_ms=3_000))
    eager = manager.create(ORDERS[0], LogConfig(flush_ms=5_000), NOW_MS)
    lazy = manager.create(ORDERS[1], LogConfig(), NOW_MS)
    append(eager, b"one")
    append(lazy, b"one")
    pass_time(manager, NOW_MS + 3_000)
    assert eager.recovery_point == 0
    pass_time(manager, NOW_MS + 6_000)
    assert (eager.recovery_point, lazy.recovery_point) == (1, 0)
    manager.close()


def test_a_flush_is_reported_when_it_is_done_and_not_before(tmp_path: Path) -> None:
    worker = LaterWorker()
    manager = opened(tmp_path, worker=worker)
    log = manager.create(ORDERS[0], LogConfig(), NOW_MS)
    append(log, b"one")
    done: list[int] = []
    manager.flush(log, lambda: done.append(log.recovery_point))
    append(log, b"two")
    assert not done and not manager.is_idle
    worker.do_all()
    assert done == [1] and manager.is_idle
    manager.close()


def test_a_flush_of_a_log_that_was_deleted_meanwhile_does_no_harm(tmp_path: Path) -> None:
    worker = LaterWorker()
    manager = opened(tmp_path, worker=worker)
    log = manager.create(ORDERS[0], LogConfig(), NOW_MS)
    append(log, b"one")
    done: list[bool] = []
    manager.flush(log, lambda: done.append(True))
    manager.delete(ORDERS[0])
    worker.do_all()
    assert not done and manager.directories[0].is_online
    manager.close()


def test_a_checkpoint_is_not_written_twice_at_once_nor_again_unchanged(tmp_path: Path) -> None:
    worker = LaterWorker()
    manager = opened(tmp_path, worker=worker)
    log = manager.create(ORDERS[0], LogConfig(), NOW_MS)
    append(log, b"one")
    path = tmp_path / checkpoints.REPLICATION
    pass_time(manager, NOW_MS + 5_000)
    append(log, b"two")
    pass_time(manager, NOW_MS + 10_000)
    worker.do_all()
    assert checkpoints.read_offsets(REAL, str(path)) == {ORDERS[0]: 1}
    pass_time(manager, NOW_MS + 15_000)
    worker.do_all()
    assert checkpoints.read_offsets(REAL, str(path)) == {ORDERS[0]: 2}
    written = path.stat().st_ino
    pass_time(manager, NOW_MS + 20_000)
    worker.do_all()
    assert path.stat().st_ino == written
    manager.close()


def test_topic_ids_are_synced_soon_some_at_a_time(tmp_path: Path) -> None:
    synced: list[str] = []

    def fsync(fd: int) -> None:
        synced.append(Path(f"/proc/self/fd/{fd}").readlink().name)

    worker = LaterWorker()
    manager = opened(tmp_path, worker=worker, fs=FileSystem(fsync=fsync))
    count = SLICE_CALLS + 20
    for number in range(count):
        manager.create(TopicPartition("t", number), LogConfig(), NOW_MS, topic_id=b"i" * 16)
    assert partition_metadata.NAME not in synced
    pass_time(manager, NOW_MS + 1_000)
    pass_time(manager, NOW_MS + 2_000)  # while the first ones are still being synced
    worker.do_all()
    assert synced.count(partition_metadata.NAME) == SLICE_CALLS
    pass_time(manager, NOW_MS + 3_000)
    worker.do_all()
    assert synced.count(partition_metadata.NAME) == count
    manager.close()


def test_idle_producers_are_forgotten(tmp_path: Path) -> None:
    settings = LogManagerConfig(producer_id_expiration_ms=HOUR_MS)
    manager = opened(tmp_path, settings=settings)
    log = manager.create(ORDERS[0], LogConfig(), NOW_MS)
    append(log, b"one", sequence=0)
    pass_time(manager, NOW_MS + HOUR_MS - 1)
    assert log.producer_entries()
    pass_time(manager, NOW_MS + HOUR_MS + 600_000)
    assert not log.producer_entries()
    manager.close()


class Counting:
    """Counts the file calls of the loop in each slice of background work, and the worker's."""

    def __init__(self) -> None:
        self.calls = 0
        self.fs = FileSystem(**{
            each.name: self._counting(getattr(REAL, each.name)) for each in fields(FileSystem)
        })  # fmt: skip

    def _counting(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            self.calls += 1
            return real(*arguments)

        return call

    def slices(self, manager: LogManager, worker: LaterWorker, now_ms: int) -> list[int]:
        """Do all that is due, a slice and a piece of the worker's at a time; calls in each."""
        each = []
        due_ms = now_ms
        while due_ms <= now_ms or worker.waiting:
            self.calls = 0
            due_ms = manager.background(now_ms)
            each.append(self.calls)
            if worker.waiting:
                worker.do_one()
        return each


def test_a_slice_makes_few_file_calls_however_many_logs_there_are(tmp_path: Path) -> None:
    counting, worker = Counting(), LaterWorker()
    manager = opened(tmp_path, fs=counting.fs, worker=worker)
    config = LogConfig(retention_ms=1, file_delete_delay_ms=0, **SMALL)
    logs = [manager.create(TopicPartition("many", n), config, NOW_MS) for n in range(SLICE_CALLS)]
    for log in logs:
        for _ in range(3):
            append(log, b"x" * 100)
    slices = counting.slices(manager, worker, NOW_MS + HOUR_MS)
    assert [log.log_start_offset for log in logs] == [3] * SLICE_CALLS
    assert sum(slices) > 10 * SLICE_CALLS and max(slices) < 2 * SLICE_CALLS
    counting.slices(manager, worker, NOW_MS + HOUR_MS + 1_000)
    assert not list(tmp_path.glob("*/*.deleted"))
    manager.close()


def test_a_slice_makes_few_file_calls_however_many_segments_a_log_has(tmp_path: Path) -> None:
    counting, worker = Counting(), LaterWorker()
    config = LogConfig(retention_ms=1, file_delete_delay_ms=0, **SMALL)
    manager = opened(tmp_path, fs=counting.fs, worker=worker, config=config)
    log = manager.create(ORDERS[0], config, NOW_MS)
    for _ in range(SLICE_CALLS):
        append(log, b"x" * 100)
    worker.do_all()
    manager.close()  # a log that is opened knows nothing of its segments' ages
    manager = opened(tmp_path, fs=counting.fs, worker=worker, config=config)
    slices = counting.slices(manager, worker, NOW_MS + HOUR_MS)
    again = manager.get(ORDERS[0])
    assert again is not None and base_offsets(again) == [SLICE_CALLS]
    assert sum(slices) > 5 * SLICE_CALLS and max(slices) < 3 * SLICE_CALLS
    counting.slices(manager, worker, NOW_MS + HOUR_MS + 1_000)
    assert not list(tmp_path.glob("*/*.deleted"))
    manager.close()


def test_what_is_to_be_unlinked_is_with_the_worker_some_at_a_time(tmp_path: Path) -> None:
    """Thousands of orders at once would take seconds to give, and keep the syncs waiting."""
    worker = LaterWorker()
    manager = opened(tmp_path, worker=worker)
    config = LogConfig(retention_ms=1, file_delete_delay_ms=0)
    logs = [manager.create(TopicPartition("t", n), config, NOW_MS) for n in range(60)]
    for log in logs:
        append(log, b"x")
    for log in logs[:30]:
        manager.delete(log.partition)
    most = 0
    worker.do_all()
    for now_ms in (NOW_MS + HOUR_MS, NOW_MS + HOUR_MS + 1_000):  # what goes, and its files
        due_ms = now_ms
        while due_ms <= now_ms or worker.waiting:
            due_ms = manager.background(now_ms)
            names = [getattr(work, "func", work).__name__ for work, _ in worker.waiting]
            most = max(most, len([name for name in names if "remove" in name]))
            if worker.waiting:
                worker.do_one()
    assert most == 1
    assert len(list(tmp_path.glob("t-*"))) == 30 and not list(tmp_path.glob("*/*.deleted"))
    manager.close()


def test_a_date_set_back_amid_a_sweep_makes_nothing_older_that_is_written_since(
    tmp_path: Path,
) -> None:
    """A sweep takes many slices; by the date of its beginning new records would be a day old."""
    settings = LogManagerConfig(slice_calls=1, producer_id_expiration_ms=DAY_MS)
    manager = opened(tmp_path, settings=settings)
    config = LogConfig(retention_ms=HOUR_MS)
    logs = [manager.create(TopicPartition("t", n), config, NOW_MS) for n in range(20)]
    pass_time(manager, NOW_MS)
    due_ms = NOW_MS + HOUR_MS
    for _ in range(15):  # every sweep is begun, and none is over
        assert manager.background(due_ms) == due_ms
    append(logs[-1], b"one", timestamp=due_ms - DAY_MS, sequence=0)
    pass_time(manager, due_ms - DAY_MS, due_ms)
    assert values_of(logs[-1]) == [b"one"] and logs[-1].producer_entries()
    manager.close()


def test_it_says_when_to_be_called_again(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    now_ms = NOW_MS
    for _ in range(50):
        pass_time(manager, now_ms)
        due_ms = manager.background(now_ms)
        assert now_ms < due_ms <= now_ms + 1_000
        now_ms = due_ms
    manager.close()


def test_deleted_logs_keep_no_files_open(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    append(manager.create(ORDERS[0], LogConfig(), NOW_MS), b"x")
    assert len(manager.files) > 0
    manager.delete(ORDERS[0])
    assert len(manager.files) == 0
    manager.close()


@pytest.mark.broker_says("t-1: its retention failed")
def test_a_log_that_meets_a_bug_keeps_no_other_from_its_retention(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = opened(tmp_path)
    config = LogConfig(retention_ms=1, **SMALL)
    logs = [manager.create(TopicPartition("t", n), config, NOW_MS) for n in range(3)]
    delete, bad = manager.maintenance.delete_old_segments, [logs[1]]

    def maybe(log: ManagedLog, now_ms: int) -> int:
        if log in bad:
            raise ValueError("a bug")
        return delete(log, now_ms)

    monkeypatch.setattr(manager.maintenance, "delete_old_segments", maybe)
    for log in logs:
        append(log, b"x")
    pass_time(manager, NOW_MS + HOUR_MS)
    assert [log.log_start_offset for log in logs] == [1, 0, 1]
    bad.clear()
    pass_time(manager, NOW_MS + 2 * HOUR_MS)
    assert [log.log_start_offset for log in logs] == [1, 1, 1]
    manager.close()


@pytest.mark.broker_says("a sweep over the logs failed")
def test_a_sweep_that_fails_comes_again_and_keeps_no_other_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = opened(tmp_path)
    log = manager.create(ORDERS[0], LogConfig(retention_ms=1, **SMALL), NOW_MS)
    append(log, b"x")
    seen: list[str] = []

    def fails(directory: object, name: str) -> None:
        seen.append(name)
        raise ValueError("a bug")

    monkeypatch.setattr(CheckpointWriter, "refresh", lambda _, *what: fails(*what))
    pass_time(manager, NOW_MS + HOUR_MS)
    assert log.log_start_offset == 1 and set(seen) == set(checkpoints.PERIODIC)
    seen.clear()
    pass_time(manager, NOW_MS + 2 * HOUR_MS)
    assert set(seen) == set(checkpoints.PERIODIC)
    monkeypatch.undo()
    manager.close()


def test_the_flushes_of_many_rolled_logs_wait_for_one_another(tmp_path: Path) -> None:
    """Each holds its log's files open until it is done."""
    worker = LaterWorker()
    manager = opened(tmp_path, worker=worker, settings=LogManagerConfig(flushes_at_once=3))
    config = LogConfig(**SMALL)
    logs = [manager.create(TopicPartition("many", number), config, NOW_MS) for number in range(10)]
    for log in logs:
        append(log, b"x")
        log.roll(NOW_MS)
    most = 0
    while not all(log.recovery_point for log in logs):
        for _ in range(20):
            manager.background(NOW_MS + 2_000)
        most = max(most, len(manager.maintenance._flusher))
        worker.do_all()
    assert most == 3
    manager.close()
