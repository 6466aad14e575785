from pathlib import Path

from barnabas.storage import checkpoints
from barnabas.storage.checkpoints import Offsets
from barnabas.storage.fs import REAL
from barnabas.storage.log_config import LogConfig

from .managers import NOW_MS, ORDERS, LaterWorker, append, opened


def recovery_points(path: Path) -> Offsets:
    return checkpoints.read_offsets(REAL, str(path / checkpoints.RECOVERY_POINT))


def clean_offsets(path: Path) -> Offsets:
    return checkpoints.read_offsets(REAL, str(path / checkpoints.CLEANER))


def test_a_truncation_takes_the_checkpoints_back_at_once(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    log = manager.create(ORDERS[0], LogConfig(), NOW_MS)
    append(log, b"one", b"two")
    append(log, b"three", b"four")
    manager.flush(log)
    log.data_directory.clean_offsets[ORDERS[0]] = 3
    assert log.recovery_point == 4
    log.truncate_to(2, NOW_MS)
    assert recovery_points(tmp_path) == {ORDERS[0]: 2}
    assert clean_offsets(tmp_path) == {ORDERS[0]: 0}
    log.truncate_fully_and_start_at(1, NOW_MS)
    assert recovery_points(tmp_path) == {ORDERS[0]: 1}
    assert clean_offsets(tmp_path) == {}
    manager.close()


def test_what_is_not_truncated_writes_nothing(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    log = manager.create(ORDERS[0], LogConfig(), NOW_MS)
    append(log, b"one")
    assert not log.truncate_to(1, NOW_MS)
    assert recovery_points(tmp_path) == {}
    manager.close()


def test_many_truncations_cost_two_writes_of_each_file(tmp_path: Path) -> None:
    worker = LaterWorker()
    manager = opened(tmp_path, worker=worker)
    logs = [manager.create(partition, LogConfig(), NOW_MS) for partition in ORDERS]
    for log in logs:
        append(log, b"one")
        append(log, b"two")
        log.flush()
    for log in logs:
        log.truncate_to(1, NOW_MS)
    assert len(worker.waiting) == 2
    logs[0].truncate_to(0, NOW_MS)
    worker.do_all()
    assert worker.done == 3  # the cleaner's checkpoint has nothing new to say
    assert recovery_points(tmp_path) == dict.fromkeys(ORDERS, 1) | {ORDERS[0]: 0}
    manager.close()
