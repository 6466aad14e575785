"""Logs that are filled in another directory, and take the place of those they are copied from."""

import errno
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.storage.compaction.process import InlineCompactor
from barnabas.storage.directory.partition_metadata import read_topic_id
from barnabas.storage.directory_names import FUTURE, TopicPartition
from barnabas.storage.disk.fs import REAL, FileSystem
from barnabas.storage.errors import InconsistentLogDirectory, LogDirectoryFailed
from barnabas.storage.log.results import ReadBound
from barnabas.storage.log_config import LogConfig, LogManagerConfig
from barnabas.storage.manager.log_manager import LogManager
from barnabas.storage.manager.managed_log import ManagedLog
from barnabas.storage.manager.unfinished_moves import REPLACING
from tests.storage.faulty_disk import FaultyDisk
from tests.storage.managers import NOW_MS, LaterWorker, append, base_offsets, opened, pass_time

PARTITION = TopicPartition("orders", 0)
TOPIC_ID = bytes(range(16))
CONFIG = LogConfig(segment_bytes=300, file_delete_delay_ms=1_000)


def made(tmp_path: Path, **how: object) -> tuple[LogManager, ManagedLog]:
    """Two directories, a log in the first of them with eight batches."""
    manager = opened(tmp_path / "one", tmp_path / "two", config=CONFIG, **how)  # type: ignore[arg-type]
    log = manager.create(PARTITION, CONFIG, NOW_MS, topic_id=TOPIC_ID, path=str(tmp_path / "one"))
    for number in range(8):
        append(log, b"%d" % number * 20, sequence=number)
    return manager, log


def begun(manager: LogManager, source: ManagedLog) -> ManagedLog:
    return manager.futures.create(source, manager.directories[1], NOW_MS)


def copy(source: ManagedLog, future: ManagedLog) -> None:
    while future.log_end_offset < source.log_end_offset:
        found = source.read(future.log_end_offset, 10_000, bound=ReadBound.LOG_END).records
        assert found is not None
        future.append_as_follower(found.read(), NOW_MS)


def moved(manager: LogManager, source: ManagedLog) -> ManagedLog:
    future = begun(manager, source)
    copy(source, future)
    ready: list[bool] = []
    manager.futures.prepare(future, lambda: ready.append(True))
    assert ready == [True]
    assert manager.futures.replace(source, future)
    manager.futures.retire(source, future)
    return future


def contents(path: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in path.iterdir() if each.suffix == ".log"}


def names(path: Path) -> list[str]:
    return sorted(each.name for each in path.glob("orders*"))


def test_a_log_takes_the_place_of_another(tmp_path: Path) -> None:
    manager, source = made(tmp_path)
    source.assign_epoch(5, source.log_end_offset)
    before = contents(tmp_path / "one" / "orders-0")
    new = moved(manager, source)
    assert manager.get(PARTITION) is new and new.is_in_use and not source.is_in_use
    assert list(manager) == [new] and list(manager.futures) == []
    assert contents(tmp_path / "two" / "orders-0") == before
    assert read_topic_id(REAL, str(tmp_path / "two" / "orders-0")) == TOPIC_ID
    assert not (tmp_path / "two" / "orders-0" / REPLACING).exists()
    assert new.epochs.latest_epoch == 5 and new.high_watermark == 8
    assert [each.startswith("orders-0.") for each in names(tmp_path / "one")] == [True]
    append(new, b"more" * 20, sequence=8)
    manager.truncate_to({PARTITION: 5}, NOW_MS)
    append(new, b"again" * 20, sequence=5)
    assert new.log_end_offset == 6
    pass_time(manager, NOW_MS + 2_000)
    assert names(tmp_path / "one") == []
    manager.close()
    again = opened(tmp_path / "one", tmp_path / "two", config=CONFIG)
    log = again.get(PARTITION)
    assert log is not None and log.log_end_offset == 6 and log.directory.endswith("two/orders-0")
    assert log.load_report.notes == []
    again.close()


def test_the_last_batches_of_producers_are_known(tmp_path: Path) -> None:
    """Those whose records are gone, too."""
    manager, source = made(tmp_path)
    source.maybe_increment_log_start_offset(8)
    future = begun(manager, source)
    future.truncate_fully_and_start_at(8, NOW_MS)
    assert manager.futures.replace(source, future)
    manager.futures.retire(source, future)
    assert [entry.producer_id for entry in future.producer_entries()] == [7]
    append(future, b"8", sequence=7)
    assert future.log_end_offset == 8, "a duplicate"
    manager.close()


def test_nothing_is_exchanged_while_files_are_synced(tmp_path: Path) -> None:
    worker = LaterWorker()
    manager, source = made(tmp_path, worker=worker)
    worker.do_all()
    future = begun(manager, source)
    copy(source, future)
    manager.flush(future)
    assert not manager.futures.replace(source, future)
    worker.do_all()
    assert manager.futures.replace(source, future)
    manager.futures.retire(source, future)
    worker.do_all()
    manager.close()


def test_nothing_is_exchanged_while_files_are_about_to_be_unlinked(tmp_path: Path) -> None:
    """The worker is given the paths of one log, and before those of the next others have a turn."""
    manager, source = made(tmp_path, settings=LogManagerConfig(slice_calls=1))
    future = begun(manager, source)
    copy(source, future)
    future.truncate_to(2, NOW_MS)
    copy(source, future)
    assert set_aside(future)
    now_ms = NOW_MS + 10_000
    while set_aside(future) and not manager.maintenance.may_be_at_work_on(future):
        manager.background(now_ms)
    assert set_aside(future) and not manager.futures.replace(source, future)
    while set_aside(future):
        now_ms += 1_000
        manager.background(now_ms)
    pass_time(manager, now_ms)
    assert manager.futures.replace(source, future)
    manager.futures.retire(source, future)
    manager.close()


def set_aside(log: ManagedLog) -> list[Path]:
    return list(Path(log.directory).glob("*.deleted"))


def test_the_mark_goes_when_both_names_are_durable(tmp_path: Path) -> None:
    """Were it gone before the new log's name is durable, a power cut might leave none."""
    tmp_path = tmp_path / "data"
    tmp_path.mkdir()
    disk = FaultyDisk(tmp_path)
    manager, source = made(tmp_path, fs=disk.fs)
    future = begun(manager, source)
    copy(source, future)
    manager.futures.prepare(future, lambda: None)
    del disk.trace[:]
    assert manager.futures.replace(source, future)
    manager.futures.retire(source, future)
    changes = [line.partition(" ")[2] for line in disk.trace]
    assert [
        line for line in changes if line.split()[1] in ("/one", "/two") or REPLACING in line
    ] == ["fsync /two", "fsync /one", f"unlink /two/orders-0/{REPLACING}"]
    manager.close()


def test_it_is_not_compacted_meanwhile_and_counts_as_clean_as_before(tmp_path: Path) -> None:
    config = LogConfig(
        segment_bytes=300, cleanup_policy=frozenset({"compact"}), min_cleanable_dirty_ratio=0.0
    )
    manager = opened(tmp_path / "one", tmp_path / "two", config=config, compactor=InlineCompactor())
    log = manager.create(PARTITION, config, NOW_MS, path=str(tmp_path / "one"))
    for number in range(12):
        append(log, b"%d" % number * 20)
    pass_time(manager, NOW_MS + 60_000)
    clean = manager.directories[0].clean_offsets[PARTITION]
    assert clean > 0
    for number in range(12):
        append(log, b"%d" % number * 20)
    future = begun(manager, log)
    assert manager.scheduler.candidates(NOW_MS) == []
    copy(log, future)
    assert manager.futures.replace(log, future)
    manager.futures.retire(log, future)
    assert manager.directories[1].clean_offsets == {PARTITION: clean}
    assert manager.directories[0].clean_offsets == {}
    assert [each.topic_partition for each in manager.scheduler.candidates(NOW_MS)] == [PARTITION]
    manager.close()


def test_a_log_that_is_made_anew_where_its_copy_lies_takes_its_place(tmp_path: Path) -> None:
    """A move is under way when the disk of the source is replaced by an empty one."""
    manager, source = made(tmp_path)
    copy(source, begun(manager, source))
    manager.close()
    shutil.rmtree(tmp_path / "one")
    manager = opened(tmp_path / "one", tmp_path / "two", config=CONFIG)
    assert manager.get(PARTITION) is None and PARTITION in manager.futures
    log = manager.create(PARTITION, CONFIG, NOW_MS, path=str(tmp_path / "two"), is_new=False)
    assert (log.log_end_offset, list(manager.futures)) == (0, [])
    append(log, b"new", sequence=0)
    pass_time(manager, NOW_MS + 2_000)
    assert names(tmp_path / "two") == ["orders-0"]
    manager.close()


def test_a_log_is_not_replaced_by_one_beside_it(tmp_path: Path) -> None:
    manager, source = made(tmp_path)
    beside = manager.directories[0].create_log(PARTITION, CONFIG, NOW_MS, TOPIC_ID, is_future=True)
    copy(source, beside)
    with pytest.raises(ValueError, match="both logs lie in"):
        manager.futures.replace(source, beside)
    assert manager.directories[0].is_online and manager.get(PARTITION) is source
    manager.close()


@pytest.mark.broker_says("planted; its partitions are offline")
def test_none_is_begun_while_a_directory_is_missing(tmp_path: Path) -> None:
    manager, source = made(tmp_path)
    manager.directories[1].fail(OSError("planted"))
    with pytest.raises(LogDirectoryFailed, match="half filled"):
        begun(manager, source)
    manager.close()


def test_what_its_source_has_let_go_of_goes_from_the_copy_and_nothing_else(
    tmp_path: Path,
) -> None:
    """A slow copy would fill the other disk with what nobody can read any more."""
    manager, source = made(tmp_path)
    future = begun(manager, source)
    copy(source, future)
    future.update_high_watermark(8)
    manager.update_config("orders", replace(CONFIG, retention_bytes=100))
    pass_time(manager, NOW_MS + 400_000)
    assert source.log_start_offset == 6 and base_offsets(future) == [0, 3, 6]
    future.maybe_increment_log_start_offset(4)
    pass_time(manager, NOW_MS + 800_000)
    pass_time(manager, NOW_MS + 802_000)
    assert base_offsets(future) == [3, 6] and future.log_start_offset == 4
    assert len(list(Path(future.directory).glob("*.log*"))) == 2
    manager.close()


def test_a_deleted_partition_takes_both_along(tmp_path: Path) -> None:
    manager, source = made(tmp_path)
    begun(manager, source)
    manager.delete(PARTITION)
    assert all(
        name.endswith("-delete") for each in ("one", "two") for name in names(tmp_path / each)
    )
    pass_time(manager, NOW_MS + 2_000)
    assert names(tmp_path / "one") == names(tmp_path / "two") == []
    manager.close()


# --- after a crash ------------------------------------------------------------------------


def reopened(tmp_path: Path) -> tuple[ManagedLog | None, ManagedLog | None]:
    """The partition's log and its future one, after a crash."""
    manager = opened(tmp_path / "one", tmp_path / "two", config=CONFIG)
    found = manager.get(PARTITION), manager.futures.find(PARTITION)
    manager.abandon()
    return found


def test_half_filled(tmp_path: Path) -> None:
    manager, source = made(tmp_path)
    future = begun(manager, source)
    copy(source, future)
    manager.futures.prepare(future, lambda: None)
    manager.abandon()
    current, left = reopened(tmp_path)
    assert current is not None and current.directory.endswith("one/orders-0")
    assert left is not None and left.log_end_offset == 8
    assert not Path(left.directory, REPLACING).exists()


def crashed(tmp_path: Path) -> Path:
    """As after a crash between the two renames; the future log's directory as it was."""
    manager, source = made(tmp_path)
    future = begun(manager, source)
    copy(source, future)
    manager.futures.prepare(future, lambda: None)
    path = Path(future.directory)
    assert manager.futures.replace(source, future)
    manager.abandon()
    return path


def test_between_the_renames(tmp_path: Path) -> None:
    crashed(tmp_path)
    assert names(tmp_path / "one") == names(tmp_path / "two") == ["orders-0"]
    current, left = reopened(tmp_path)
    assert current is not None and current.directory.endswith("two/orders-0") and left is None
    assert current.log_end_offset == 8
    assert names(tmp_path / "one")[0].endswith("-delete")
    assert not (tmp_path / "two" / "orders-0" / REPLACING).exists()


def test_the_first_name_is_lost_and_the_second_is_not(tmp_path: Path) -> None:
    """As a power cut may leave it."""
    future = crashed(tmp_path)
    (tmp_path / "two" / "orders-0").rename(future)
    (tmp_path / "one" / "orders-0").rename(tmp_path / "one" / f"orders-0.{'0' * 32}-delete")
    current, left = reopened(tmp_path)
    assert current is not None and current.directory.endswith("two/orders-0") and left is None
    assert current.log_end_offset == 8


@pytest.mark.broker_says("its partitions are offline")
def test_the_mark_outlives_a_start_without_the_other_directory(tmp_path: Path) -> None:
    """Of the renames a power cut has kept the second only, and the first disk comes up late."""
    future = crashed(tmp_path)
    (tmp_path / "two" / "orders-0").rename(future)
    (tmp_path / "one" / "orders-0").rename(tmp_path / "one" / f"orders-0.{'0' * 32}-delete")
    (tmp_path / "one").rename(tmp_path / "unplugged")
    (tmp_path / "one").write_text("not mounted")
    current, left = reopened(tmp_path)
    assert current is None and left is not None and (future / REPLACING).exists()
    (tmp_path / "one").unlink()
    (tmp_path / "unplugged").rename(tmp_path / "one")
    current, left = reopened(tmp_path)
    assert current is not None and current.log_end_offset == 8 and left is None


@pytest.mark.broker_says("planted; its partitions are offline")
def test_a_directory_that_comes_back_with_what_was_replaced(tmp_path: Path) -> None:
    """It failed before its log could be set aside; the one in the other was written to since."""
    manager, source = made(tmp_path)
    future = begun(manager, source)
    copy(source, future)
    manager.futures.prepare(future, lambda: None)
    assert manager.futures.replace(source, future)
    manager.directories[0].fail(OSError("planted"))
    manager.futures.retire(source, future)
    append(future, b"newer", sequence=8)
    manager.abandon()
    current, _ = reopened(tmp_path)
    assert current is not None and current.log_end_offset == 9
    assert names(tmp_path / "one")[0].endswith("-delete")


def failing(call: str, path: Path) -> FileSystem:
    """File calls of which one fails below a path."""

    def fail(first: str, *others: object) -> object:
        if first.startswith(str(path)):
            raise OSError(errno.EIO, "planted", first)
        return getattr(REAL, call)(first, *others)

    return replace(REAL, **{call: fail})


@pytest.mark.broker_says("its partitions are offline")
@pytest.mark.parametrize("order", [("one", "two"), ("two", "one")])
def test_the_directory_is_blamed_in_which_a_log_cannot_be_set_aside(
    tmp_path: Path, order: tuple[str, str]
) -> None:
    crashed(tmp_path)
    paths = [tmp_path / name for name in order]
    manager = opened(*paths, config=CONFIG, fs=failing("rename", tmp_path / "one" / "orders-0"))
    log = manager.get(PARTITION)
    assert log is not None and log.directory == str(tmp_path / "two" / "orders-0")
    assert [each.path for each in manager.directories if not each.is_online] == [
        str(tmp_path / "one")
    ]
    append(log, b"newer", sequence=8)
    manager.abandon()
    current, _ = reopened(tmp_path)
    assert current is not None and current.log_end_offset == 9


@pytest.mark.broker_says("its partitions are offline")
def test_what_was_replaced_is_not_served_where_the_other_cannot_be(tmp_path: Path) -> None:
    crashed(tmp_path)
    broken = failing("unlink", tmp_path / "two" / "orders-0" / REPLACING)
    manager = opened(tmp_path / "one", tmp_path / "two", config=CONFIG, fs=broken)
    assert manager.get(PARTITION) is None
    with pytest.raises(LogDirectoryFailed):
        manager.create(PARTITION, CONFIG, NOW_MS, is_new=False)
    manager.abandon()


@pytest.mark.broker_says("its partitions are offline")
def test_nobody_knows_which_is_true_where_a_mark_cannot_be_read(tmp_path: Path) -> None:
    crashed(tmp_path)
    broken = failing("stat", tmp_path / "two" / "orders-0" / REPLACING)
    with pytest.raises(InconsistentLogDirectory, match="it cannot be read which is true"):
        opened(tmp_path / "one", tmp_path / "two", config=CONFIG, fs=broken)
    current, _ = reopened(tmp_path)
    assert current is not None and current.directory.endswith("two/orders-0")


def test_two_logs_of_which_nobody_knows_which_is_true(tmp_path: Path) -> None:
    crashed(tmp_path)
    (tmp_path / "two" / "orders-0" / REPLACING).unlink()
    with pytest.raises(InconsistentLogDirectory):
        opened(tmp_path / "one", tmp_path / "two", config=CONFIG)
    assert names(tmp_path / "one") == names(tmp_path / "two") == ["orders-0"]


def test_one_of_two_that_are_half_filled_is_kept(tmp_path: Path) -> None:
    manager, source = made(tmp_path)
    begun(manager, source)
    manager.directories[0].create_log(
        TopicPartition("orders", 1), CONFIG, NOW_MS, TOPIC_ID, is_future=True
    )
    manager.abandon()
    for where, name in (("two", "1"), ("one", "2")):
        (tmp_path / where / f"orders-0.{name * 32}{FUTURE}").mkdir()
    current, left = reopened(tmp_path)
    assert current is not None and left is not None
    assert sum(name.endswith(FUTURE) for name in names(tmp_path / "two")) == 1
    assert not any("2222" in name for name in names(tmp_path / "one")), "it has another name"


def test_nobodys_log_is_set_aside_half_filled_or_not(tmp_path: Path) -> None:
    manager, source = made(tmp_path)
    begun(manager, source)
    manager.abandon()
    again = LogManager([str(tmp_path / "one"), str(tmp_path / "two")])
    for each in again.directories:
        each.is_signed = True
    again.open(lambda topic: CONFIG, NOW_MS, replicas_of=lambda partition, topic_id: 0)
    assert list(again) == list(again.futures) == []
    for where in ("one", "two"):
        assert [name.endswith("-stray") for name in names(tmp_path / where)] == [True]
    again.abandon()
