"""What a broker holds durable is, however its process ended before the power went."""

from pathlib import Path

from barnabas.storage.directory import checkpoints
from barnabas.storage.disk.fs import REAL
from barnabas.storage.log_config import LogConfig
from barnabas.storage.manager.log_manager import LogManager

from ..faulty_disk import FaultyDisk
from ..managers import NOW_MS, ORDERS, append, opened, pass_time, values_of


def cut_power(disk: FaultyDisk, manager: LogManager) -> None:
    """The machine dies; the descriptors of its process are given back."""
    for directory in manager.directories:
        directory.close_files()
    disk.cut_power()


def test_a_clean_stop_leaves_producers_known_though_all_was_flushed_before(
    tmp_path: Path,
) -> None:
    disk = FaultyDisk(tmp_path / "data")
    manager = opened(disk.root, fs=disk.fs)
    log = manager.create(ORDERS[0], LogConfig(), NOW_MS)
    append(log, b"one", b"two", sequence=0)
    manager.flush(log)
    assert log.recovery_point == log.log_end_offset
    manager.close()
    cut_power(disk, manager)
    manager = opened(disk.root)
    again = manager.get(ORDERS[0])
    assert again is not None and again.load_report.notes == []
    assert [each.last_sequence for each in again.producer_entries()] == [1]
    manager.close()


def test_a_clean_stop_that_has_nothing_new_to_say_syncs_no_log(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    append(manager.create(ORDERS[0], LogConfig(), NOW_MS), b"one")
    manager.close()
    disk = FaultyDisk(tmp_path)
    manager = opened(tmp_path, fs=disk.fs)
    manager.close()
    assert not [line for line in disk.trace if "fsync" in line and "orders-0" in line]


def test_deleting_records_does_not_make_those_before_them_durable(tmp_path: Path) -> None:
    """The new start may be lost with the power; recovery then has to look at all there is."""
    disk = FaultyDisk(tmp_path / "data")
    manager = opened(disk.root, fs=disk.fs)
    log = manager.create(ORDERS[0], LogConfig(segment_bytes=200), NOW_MS)
    for number in range(6):
        append(log, b"%d" % number + b"." * 50)
    log.maybe_increment_log_start_offset(5)
    manager.flush(log)
    cut_power(disk, manager)
    manager = opened(disk.root)
    again = manager.get(ORDERS[0])
    assert again is not None
    assert [value[:1] for value in values_of(again) if value] == [b"%d" % n for n in range(6)]
    manager.close()


def test_a_truncation_is_durable_with_what_was_flushed_behind_it_in_another_segment(
    tmp_path: Path,
) -> None:
    disk = FaultyDisk(tmp_path / "data")
    manager = opened(disk.root, fs=disk.fs)
    log = manager.create(ORDERS[0], LogConfig(), NOW_MS)
    for number in range(4):
        append(log, b"%d" % number)
    manager.flush(log)
    log.truncate_to(2, NOW_MS)
    log.roll(NOW_MS)
    append(log, b"new")
    manager.flush(log)
    cut_power(disk, manager)
    manager = opened(disk.root)
    again = manager.get(ORDERS[0])
    assert again is not None and values_of(again) == [b"0", b"1", b"new"]
    manager.close()


def test_a_truncation_that_leaves_nothing_is_durable_after_a_clean_stop(tmp_path: Path) -> None:
    disk = FaultyDisk(tmp_path / "data")
    manager = opened(disk.root, fs=disk.fs)
    log = manager.create(ORDERS[0], LogConfig(), NOW_MS)
    append(log, b"one", sequence=0)
    manager.flush(log)
    log.truncate_to(0, NOW_MS)
    manager.close()
    cut_power(disk, manager)
    manager = opened(disk.root)
    again = manager.get(ORDERS[0])
    assert again is not None and values_of(again) == [] and again.producer_entries() == []
    manager.close()


def test_segments_that_retention_took_do_not_come_back_after_a_flush(tmp_path: Path) -> None:
    disk = FaultyDisk(tmp_path / "data")
    manager = opened(disk.root, fs=disk.fs)
    log = manager.create(ORDERS[0], LogConfig(segment_bytes=400), NOW_MS)
    for number in range(7):
        append(log, b"%d" % number + b"." * 50)
    log.flush()
    start = log.active_segment.base_offset
    log.delete_old_segments(len(log.segments) - 1, NOW_MS)
    append(log, b"7")
    manager.flush(log)
    cut_power(disk, manager)
    manager = opened(disk.root)
    again = manager.get(ORDERS[0])
    assert again is not None
    wanted = [b"%d" % number for number in range(start, 8)]
    assert [value[:1] for value in values_of(again) if value] == wanted
    manager.close()


def test_what_a_killed_process_named_is_durable_once_its_successor_has_flushed(
    tmp_path: Path,
) -> None:
    disk = FaultyDisk(tmp_path / "data")
    manager = opened(disk.root, fs=disk.fs)
    append(manager.create(ORDERS[0], LogConfig(), NOW_MS), b"one")
    for directory in manager.directories:
        directory.close_files()  # killed
    manager = opened(disk.root, fs=disk.fs)
    log = manager.get(ORDERS[0])
    assert log is not None
    append(log, b"two")
    manager.flush(log)
    cut_power(disk, manager)
    manager = opened(disk.root)
    again = manager.get(ORDERS[0])
    assert again is not None and values_of(again) == [b"one", b"two"]
    manager.close()


def test_offsets_of_a_log_that_starts_anew_are_never_given_twice(tmp_path: Path) -> None:
    """Flow: all records are deleted, and a power cut takes those that were not durable; the log
    starts anew behind them. A minute later, before anything is appended, the power goes again."""
    disk = FaultyDisk(tmp_path / "data")
    manager = opened(disk.root, fs=disk.fs)
    log = manager.create(ORDERS[0], LogConfig(), NOW_MS)
    append(log, b"durable")
    manager.flush(log)
    append(log, b"lost", b"lost")
    log.maybe_increment_log_start_offset(3)
    now_ms = NOW_MS
    for _ in range(3):
        now_ms += 61_000
        pass_time(manager, now_ms)
        cut_power(disk, manager)
        disk = FaultyDisk(disk.root)
        manager = opened(disk.root, fs=disk.fs, now_ms=now_ms)
        again = manager.get(ORDERS[0])
        assert again is not None
        assert again.log_start_offset == again.log_end_offset == 3
    append(again, b"new")
    manager.flush(again)
    pass_time(manager, now_ms + 61_000)
    cut_power(disk, manager)
    manager = opened(disk.root)
    assert [values_of(each) for each in manager] == [[b"new"]]
    starts = checkpoints.read_offsets(REAL, str(disk.root / checkpoints.LOG_START))
    assert starts == {}  # the segment's own name tells it now
    manager.close()
