"""All logs of a broker: opening, creating, deleting, closing, and a directory that fails."""

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.storage.directory import checkpoints, clean_marker
from barnabas.storage.directory.meta_properties import MetaProperties, read_meta_properties
from barnabas.storage.directory_names import TopicPartition, parse_name
from barnabas.storage.disk.fs import REAL
from barnabas.storage.errors import (
    InconsistentLogDirectory,
    LogDirectoryFailed,
    LogDirectoryLocked,
)
from barnabas.storage.log_config import LogConfig
from barnabas.storage.manager.log_manager import LogManager
from barnabas.storage.manager.managed_log import ManagedLog

from ..golden import manifest, unpack
from ..managers import NOW_MS, ORDERS, append, default_config, opened, pass_time, values_of

TOPIC_ID = bytes(range(16))


def test_what_was_written_is_there_after_a_restart(tmp_path: Path) -> None:
    manager = opened(tmp_path / "new" / "data")
    log = manager.create(ORDERS[0], LogConfig(), NOW_MS, topic_id=TOPIC_ID)
    append(log, b"one")
    append(log, b"two")
    manager.close()
    manager = opened(tmp_path / "new" / "data")
    log_again = manager.get(ORDERS[0])
    assert log_again is not None
    assert values_of(log_again) == [b"one", b"two"]
    assert log_again.high_watermark == 2
    assert log_again.load_report.notes == []
    assert manager.topic_id(ORDERS[0]) == TOPIC_ID
    assert manager.get(ORDERS[1]) is None
    manager.close()


def test_a_crash_is_told_from_a_clean_stop(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    append(manager.create(ORDERS[0], LogConfig(), NOW_MS), b"one")
    manager.abandon()
    manager = opened(tmp_path)
    log = manager.get(ORDERS[0])
    assert log is not None and values_of(log) == [b"one"]
    assert not manager.directories[0].was_clean
    assert set(log.load_report.recovered_segments) == {0}
    manager.close()
    assert clean_marker.take(REAL, str(tmp_path)) == -1


def test_new_logs_go_where_the_fewest_are(tmp_path: Path) -> None:
    manager = opened(tmp_path / "a", tmp_path / "b")
    homes = [manager.create(each, LogConfig(), NOW_MS).data_directory.path for each in ORDERS]
    assert [Path(home).name for home in homes] == ["a", "b", "a", "b"]
    there = manager.create(
        TopicPartition("orders", 9), LogConfig(), NOW_MS, path=str(tmp_path / "b")
    )
    assert there.data_directory.path == str(tmp_path / "b")
    assert manager.create(ORDERS[0], LogConfig(), NOW_MS) is manager.get(ORDERS[0])
    manager.close()


def test_a_directory_is_used_by_one_broker_at_a_time(tmp_path: Path) -> None:
    manager = opened(tmp_path / "a")
    with pytest.raises(LogDirectoryLocked, match="a is in use by another broker"):
        opened(tmp_path / "b", tmp_path / "a")
    manager.close()
    opened(tmp_path / "b", tmp_path / "a").close()


def test_a_new_directory_is_signed_and_a_strangers_refused(tmp_path: Path) -> None:
    manager = LogManager([str(tmp_path)])
    manager.open(default_config, NOW_MS, broker_id=3, cluster_id="ours")
    manager.close()
    assert read_meta_properties(REAL, str(tmp_path)) == MetaProperties(0, 3, "ours")
    for broker_id, cluster_id in ((4, "ours"), (3, "theirs")):
        with pytest.raises(InconsistentLogDirectory, match=r"meta\.properties says"):
            LogManager([str(tmp_path)]).open(
                default_config, NOW_MS, broker_id=broker_id, cluster_id=cluster_id
            )
    opened(tmp_path).close()


def test_a_partition_in_two_directories_is_refused(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "orders-0").mkdir(parents=True)
    with pytest.raises(InconsistentLogDirectory, match="orders-0 lies both in"):
        opened(tmp_path / "a", tmp_path / "b")


def test_a_topic_id_is_noted_once_and_guarded(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    manager.create(ORDERS[0], LogConfig(), NOW_MS)
    assert manager.topic_id(ORDERS[0]) is None
    manager.create(ORDERS[0], LogConfig(), NOW_MS, topic_id=TOPIC_ID)
    assert manager.topic_id(ORDERS[0]) == TOPIC_ID
    with pytest.raises(InconsistentLogDirectory, match="belongs to topic id"):
        manager.create(ORDERS[0], LogConfig(), NOW_MS, topic_id=bytes(16))
    manager.close()


def test_deleting_renames_at_once_and_removes_later(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    append(manager.create(ORDERS[0], default_config("orders"), NOW_MS), b"one")
    manager.delete(ORDERS[0])
    assert manager.get(ORDERS[0]) is None
    assert not (tmp_path / "orders-0").exists()
    (left,) = tmp_path.glob("orders-0.*")
    parsed = parse_name(left.name)
    assert parsed is not None and parsed.suffix == "-delete"
    append(manager.create(ORDERS[0], LogConfig(), NOW_MS), b"new life")
    pass_time(manager, NOW_MS + 59_999)
    assert left.exists()
    pass_time(manager, NOW_MS + 62_000)
    assert not left.exists()
    assert (tmp_path / "orders-0").exists()
    manager.close()


def test_what_a_crash_left_to_be_removed_is_removed(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    manager.create(ORDERS[0], LogConfig(), NOW_MS)
    manager.delete(ORDERS[0])
    manager.abandon()
    manager = opened(tmp_path)
    assert list(tmp_path.glob("orders-0.*"))
    pass_time(manager, NOW_MS + 60_000)
    assert not list(tmp_path.glob("orders-0.*"))
    manager.close()


def opened_without(strays: set[TopicPartition], *paths: Path) -> LogManager:
    """A manager of a cluster, in which these partitions are none of its broker's."""
    manager = LogManager([str(path) for path in paths])
    manager.open(
        default_config,
        NOW_MS,
        broker_id=1,
        cluster_id="c",
        replicas_of=lambda p, _: int(p not in strays),
    )
    return manager


def test_a_stray_is_set_aside_unopened_and_goes_after_the_delay(tmp_path: Path) -> None:
    manager = opened_without(set(), tmp_path)
    append(manager.create(ORDERS[0], LogConfig(), NOW_MS), b"one")
    manager.create(ORDERS[1], LogConfig(), NOW_MS)
    manager.abandon()
    for _ in range(2):  # set aside, and found set aside
        manager = opened_without({ORDERS[0]}, tmp_path)
        assert manager.get(ORDERS[0]) is None and manager.get(ORDERS[1]) is not None
        (stray,) = tmp_path.glob("orders-0.*-stray")
        assert (stray / f"{0:020}.log").stat().st_size > 0
        manager.abandon()
    manager = opened_without(set(), tmp_path)
    assert manager.create(ORDERS[0], LogConfig(), NOW_MS).log_end_offset == 0
    pass_time(manager, NOW_MS + 60_000)
    assert not list(tmp_path.glob("*-stray"))
    manager.close()


def test_strays_are_told_by_the_topic_id_noted_beside_them(tmp_path: Path) -> None:
    manager = opened_without(set(), tmp_path)
    manager.create(ORDERS[0], LogConfig(), NOW_MS, topic_id=b"A" * 16)
    manager.create(ORDERS[1], LogConfig(), NOW_MS)
    manager.close()
    asked = []

    def nowhere(partition: TopicPartition, topic_id: bytes | None) -> int:
        asked.append((partition, topic_id))
        return 0

    manager = LogManager([str(tmp_path)])
    manager.open(default_config, NOW_MS, cluster_id="c", replicas_of=nowhere)
    assert asked == [(ORDERS[0], b"A" * 16), (ORDERS[1], None)]
    manager.close()


def test_nothing_is_stray_in_a_directory_that_nobody_has_signed(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    append(manager.create(ORDERS[0], LogConfig(), NOW_MS), b"one")
    manager.close()
    manager = opened_without({ORDERS[0]}, tmp_path)
    assert manager.get(ORDERS[0]) is not None
    manager.close()


def test_a_file_with_a_partitions_name_is_no_stray(tmp_path: Path) -> None:
    opened_without(set(), tmp_path).close()
    (tmp_path / "orders-0").write_text("a file")
    opened_without({ORDERS[0]}, tmp_path).close()
    assert (tmp_path / "orders-0").read_text() == "a file"


@pytest.mark.broker_says("the disk is gone")
def test_a_topic_deleted_while_its_disk_was_gone_may_be_made_anew_elsewhere(
    tmp_path: Path,
) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    manager = opened_without(set(), *paths)
    lost = manager.create(ORDERS[0], LogConfig(), NOW_MS).data_directory
    lost.fail(OSError("the disk is gone"))
    manager.delete(ORDERS[0])
    anew = manager.create(ORDERS[0], LogConfig(), NOW_MS, topic_id=b"B" * 16)
    assert anew.data_directory is not lost
    manager.close()
    manager = LogManager([str(path) for path in paths])
    manager.open(
        default_config, NOW_MS, cluster_id="c", replicas_of=lambda _, found: int(found is not None)
    )
    found = manager.get(ORDERS[0])
    assert found is not None and manager.topic_id(ORDERS[0]) == b"B" * 16
    assert list(Path(lost.path).glob("orders-0.*-stray"))
    manager.close()


def test_other_files_and_directories_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "lost+found").mkdir()
    (tmp_path / "notes-1").write_text("a file with a partition's name")
    manager = opened(tmp_path)
    assert list(manager) == []
    manager.close()
    assert (tmp_path / "lost+found").exists() and (tmp_path / "notes-1").exists()


def test_checkpoints_are_written_as_time_goes_by(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    log = manager.create(ORDERS[0], LogConfig(), NOW_MS)
    append(log, b"one")
    append(log, b"two")
    manager.flush(log)
    log.maybe_increment_log_start_offset(1)
    for seconds in range(0, 120, 5):
        pass_time(manager, NOW_MS + 1000 * seconds)
    read = {
        name: checkpoints.read_offsets(REAL, str(tmp_path / name)).get(ORDERS[0])
        for name in (checkpoints.RECOVERY_POINT, checkpoints.REPLICATION, checkpoints.LOG_START)
    }
    assert list(read.values()) == [2, 2, 1]
    manager.abandon()
    manager = opened(tmp_path)
    again = manager.get(ORDERS[0])
    assert again is not None
    assert (again.log_start_offset, again.high_watermark, again.log_end_offset) == (1, 2, 2)
    manager.close()


def test_a_checkpoint_that_makes_no_sense_costs_only_time(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    append(manager.create(ORDERS[0], LogConfig(), NOW_MS), b"one")
    manager.close()
    for name in (checkpoints.RECOVERY_POINT, checkpoints.REPLICATION, checkpoints.LOG_START):
        (tmp_path / name).write_bytes(b"\xff garbage")
    manager = opened(tmp_path)
    log = manager.get(ORDERS[0])
    assert log is not None and values_of(log) == [b"one"]
    manager.close()


# --- failures --------------------------------------------------------------------------


class BadDisk:
    """A file system whose writes below one path fail once told to."""

    def __init__(self) -> None:
        self.below: str | None = None
        self.fs = replace(
            REAL,
            pwrite=self.pwrite,
            fsync=self.fsync,
            open=self.open,
            make_directory=self.make_directory,
        )

    def _check(self, path: str) -> None:
        if self.below is not None and path.startswith(self.below):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    def _path_of(self, fd: int) -> str:
        return str(Path(f"/proc/self/fd/{fd}").readlink())

    def pwrite(self, fd: int, data: bytes | bytearray | memoryview, position: int) -> int:
        self._check(self._path_of(fd))
        return os.pwrite(fd, data, position)

    def fsync(self, fd: int) -> None:
        self._check(self._path_of(fd))
        os.fsync(fd)

    def open(self, path: str, flags: int, mode: int) -> int:
        self._check(path)
        return os.open(path, flags, mode)

    def make_directory(self, path: str) -> None:
        self._check(path)
        Path(path).mkdir()


@pytest.fixture
def disk() -> BadDisk:
    return BadDisk()


def two_disks(tmp_path: Path, disk: BadDisk) -> tuple[LogManager, ManagedLog, ManagedLog]:
    manager = LogManager([str(tmp_path / "a"), str(tmp_path / "b")], fs=disk.fs)
    manager.open(default_config, NOW_MS)
    one, two = (manager.create(each, default_config("orders"), NOW_MS) for each in ORDERS[:2])
    append(one, b"one")
    append(two, b"two")
    return manager, one, two


@pytest.mark.broker_says("its partitions are offline")
def test_a_directory_that_fails_goes_offline_alone(tmp_path: Path, disk: BadDisk) -> None:
    manager, one, two = two_disks(tmp_path, disk)
    told = []
    manager.on_directory_failed = told.append
    disk.below = str(tmp_path / "a")
    with pytest.raises(LogDirectoryFailed) as failure:
        append(one, b"lost")
    assert failure.value.topic_partition == "orders-0"
    assert told == [manager.directories[0]]
    with pytest.raises(LogDirectoryFailed, match=r"orders-0: .*a: .*Input/output error"):
        manager.get(ORDERS[0])
    append(two, b"goes on")
    assert list(manager) == [two]
    assert manager.create(ORDERS[2], LogConfig(), NOW_MS).data_directory is two.data_directory
    with pytest.raises(LogDirectoryFailed, match="may lie in a data directory that has failed"):
        manager.create(ORDERS[3], LogConfig(), NOW_MS, is_new=False)
    for seconds in range(0, 120, 5):
        pass_time(manager, NOW_MS + 1000 * seconds)
    manager.close()
    assert not (tmp_path / "a" / ".kafka_cleanshutdown").exists()
    assert (tmp_path / "b" / ".kafka_cleanshutdown").exists()


@pytest.mark.broker_says("its partitions are offline")
def test_a_failed_fsync_takes_the_directory_offline(tmp_path: Path, disk: BadDisk) -> None:
    manager, one, _ = two_disks(tmp_path, disk)
    disk.below = str(tmp_path / "a")
    done = []
    manager.flush(one, lambda: done.append(True))
    assert not done and not manager.directories[0].is_online
    assert one.recovery_point == 0
    manager.close()


@pytest.mark.broker_says("its partitions are offline")
def test_a_log_held_past_a_failed_fsync_does_not_append(tmp_path: Path, disk: BadDisk) -> None:
    manager, one, two = two_disks(tmp_path, disk)
    disk.below = str(tmp_path / "a")
    manager.flush(one)
    disk.below = None
    for _ in range(2):
        with pytest.raises(LogDirectoryFailed):
            append(one, b"lost")
    assert one.log_end_offset == 1
    append(two, b"goes on")
    manager.close()


def test_a_log_held_past_its_deletion_hurts_nobody(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    log = manager.create(ORDERS[0], LogConfig(), NOW_MS)
    append(log, b"one")
    manager.delete(ORDERS[0])
    other = manager.create(ORDERS[0], LogConfig(), NOW_MS)
    with pytest.raises(LogDirectoryFailed):
        append(log, b"two")
    append(other, b"new")
    assert values_of(other) == [b"new"]
    manager.close()


@pytest.mark.broker_says("its partitions are offline")
def test_creating_on_a_bad_disk_goes_to_the_next(tmp_path: Path, disk: BadDisk) -> None:
    manager, _, two = two_disks(tmp_path, disk)
    disk.below = str(tmp_path / "a")
    assert manager.create(ORDERS[2], LogConfig(), NOW_MS).data_directory is two.data_directory
    assert not manager.directories[0].is_online
    disk.below = str(tmp_path)
    with pytest.raises(LogDirectoryFailed, match="orders-3: no data directory works"):
        manager.create(ORDERS[3], LogConfig(), NOW_MS)
    manager.close()


@pytest.mark.broker_says("its partitions are offline")
def test_a_directory_bad_at_the_start_is_offline_from_the_start(
    tmp_path: Path, disk: BadDisk
) -> None:
    disk.below = str(tmp_path / "a")
    manager = LogManager([str(tmp_path / "a"), str(tmp_path / "b")], fs=disk.fs)
    manager.open(default_config, NOW_MS)
    assert [directory.is_online for directory in manager.directories] == [False, True]
    manager.close()


@pytest.mark.broker_says("its partitions are offline")
def test_without_a_single_good_directory_there_is_no_opening(tmp_path: Path, disk: BadDisk) -> None:
    disk.below = str(tmp_path)
    with pytest.raises(LogDirectoryFailed, match=r"no data directory works: .*Input/output error"):
        LogManager([str(tmp_path / "a")], fs=disk.fs).open(default_config, NOW_MS)


# --- what Kafka wrote ------------------------------------------------------------------


@pytest.mark.parametrize("version", ["3.9.1", "4.3.1"])
def test_kafkas_directory_opens_and_its_checkpoints_count(version: str, tmp_path: Path) -> None:
    directory = unpack(version, "logstart", tmp_path)
    manager = opened(directory)
    starts = checkpoints.parse_offsets(
        "", manifest(version, "logstart")["files"]["log-start-offset-checkpoint"]["text"]
    )
    assert starts
    for partition, start in starts.items():
        log = manager.get(partition)
        assert log is not None and log.log_start_offset == start
    manager.close()
