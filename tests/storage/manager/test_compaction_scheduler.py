"""Compaction as a log manager runs it: when, on which log, and what if the log changes."""

import errno
import select
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.compression import codec_named
from barnabas.storage.batch.header import walk
from barnabas.storage.batch.records import Record
from barnabas.storage.compaction.job import (
    Blame,
    CompactedGroup,
    CompactionEvent,
    CompactionFailed,
    CompactionJob,
)
from barnabas.storage.compaction.process import CompactionProcess, InlineCompactor, run_job
from barnabas.storage.directory import checkpoints
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.disk.fs import REAL, FileSystem
from barnabas.storage.disk.open_files import FEWEST
from barnabas.storage.log.results import ReadBound
from barnabas.storage.log_config import LogConfig, LogManagerConfig
from barnabas.storage.manager.log_manager import LogManager
from barnabas.storage.manager.managed_log import ManagedLog

from ..faulty_disk import FaultyDisk
from ..full_table import PLENTY, FullTable
from ..logs import end_transaction
from ..managers import (
    NOW_MS,
    ORDERS,
    LaterWorker,
    append,
    base_offsets,
    opened,
    pass_time,
    records_of,
)

COMPACT = LogConfig(
    cleanup_policy=("compact",), segment_bytes=200, index_interval_bytes=100, file_delete_delay_ms=0
)
DEADLINE_SECONDS = 20
HOUR_MS = 3_600_000


class StoppedCompactor:
    """A compactor that answers only when told to."""

    def __init__(self) -> None:
        self.job: CompactionJob | None = None
        self.events: list[CompactionEvent] = []
        self.drops = 0
        self.others: list[StoppedCompactor] = []

    def submit(self, job: CompactionJob) -> None:
        self.job = job

    def work(self) -> None:
        assert self.job is not None
        self.events = list(run_job(REAL, self.job))

    def poll(self) -> list[CompactionEvent]:
        events, self.events = self.events, []
        return events

    def fileno(self) -> int | None:
        return None

    def another(self) -> "StoppedCompactor":
        self.others.append(StoppedCompactor())
        return self.others[-1]

    def close(self) -> None:
        self.drops += self.job is not None
        self.job = None
        self.events = []


def fill(log: ManagedLog, count: int = 8) -> None:
    """Two keys in turn, a segment for each record."""
    for number in range(count):
        append(log, b"%d" % number + b"x" * 120, key=b"ab"[number % 2 :][:1])
    log.flush()


def offsets_of(log: ManagedLog) -> list[int]:
    return [record.offset for record in records_of(log)]


def test_a_dirty_log_is_compacted_and_the_checkpoint_says_so(tmp_path: Path) -> None:
    manager = opened(tmp_path, config=COMPACT)
    log = manager.create(ORDERS[0], COMPACT, NOW_MS)
    fill(log)
    pass_time(manager, NOW_MS)
    assert offsets_of(log) == [5, 6, 7]
    assert base_offsets(log)[0] == 0 and base_offsets(log)[-1] == 7
    clean = checkpoints.read_offsets(REAL, str(tmp_path / checkpoints.CLEANER))
    assert clean == {ORDERS[0]: 7}
    pass_time(manager, NOW_MS + 1000)
    assert {path.suffix for path in (tmp_path / "orders-0").iterdir()} <= {
        ".log", ".index", ".timeindex", ".snapshot", "",
    }  # fmt: skip
    manager.close()
    manager = opened(tmp_path, config=COMPACT)
    again = manager.get(ORDERS[0])
    assert again is not None and offsets_of(again) == [5, 6, 7]
    assert again.load_report.notes == []
    assert not [each for each in manager.scheduler.candidates(NOW_MS) if each.is_due]
    manager.close()


def test_a_topic_that_was_compacted_once_loses_nothing_in_a_recovery(tmp_path: Path) -> None:
    manager = opened(tmp_path, config=COMPACT)
    log = manager.create(ORDERS[0], COMPACT, NOW_MS)
    fill(log)
    pass_time(manager, NOW_MS)
    assert offsets_of(log) == [5, 6, 7] and base_offsets(log)[0] == 0
    manager.abandon()
    (tmp_path / checkpoints.CLEANER).unlink()
    (tmp_path / checkpoints.RECOVERY_POINT).unlink(missing_ok=True)
    manager = opened(tmp_path, config=replace(COMPACT, cleanup_policy=("delete",)))
    again = manager.get(ORDERS[0])
    assert again is not None and offsets_of(again) == [5, 6, 7]
    assert len(again.load_report.recovered_segments) > 1
    assert again.load_report.dropped_segments == []
    manager.close()


def run_to_the_end(manager: LogManager) -> None:
    """Look after compactions in child processes until none is left."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    now_ms = NOW_MS
    while manager.scheduler.running:
        assert time.monotonic() < deadline
        fd = manager.scheduler.fileno()
        assert fd is not None
        select.select([fd], [], [], 0.1)  # the first one's: another may be ready before it
        now_ms += 1
        manager.scheduler.run(now_ms, now_ms)


def test_the_child_process_does_it_while_appends_go_on(tmp_path: Path) -> None:
    manager = opened(tmp_path, compactor=CompactionProcess(), config=COMPACT)
    log = manager.create(ORDERS[0], COMPACT, NOW_MS)
    fill(log)
    manager.background(NOW_MS)
    assert manager.scheduler.running
    fill(log, 2)
    run_to_the_end(manager)
    assert offsets_of(log) == [5, 6, 7, 8, 9]
    manager.close()
    assert manager.scheduler.fileno() is None


def test_nothing_goes_for_the_sake_of_a_record_that_a_power_cut_may_take(tmp_path: Path) -> None:
    disk = FaultyDisk(tmp_path)
    worker = LaterWorker()
    manager = opened(tmp_path, fs=disk.fs, compactor=InlineCompactor(disk.fs), worker=worker)
    log = manager.create(ORDERS[0], COMPACT, NOW_MS)
    fill(log)
    append(log, b"x" * 120, key=b"a")
    append(log, b"x" * 120, key=b"b")
    pass_time(manager, NOW_MS)
    assert {6, 7} <= set(offsets_of(log))  # the last that are durable
    for directory in manager.directories:
        directory.close_files()


def test_only_compacted_topics_are_and_only_when_dirty_enough(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    plain = manager.create(ORDERS[0], LogConfig(segment_bytes=200), NOW_MS)
    picky = LogConfig(cleanup_policy=("compact",), segment_bytes=200, min_cleanable_dirty_ratio=1.0)
    clean = manager.create(ORDERS[1], picky, NOW_MS)
    young = manager.create(
        ORDERS[2],
        LogConfig(cleanup_policy=("compact",), segment_bytes=200, min_compaction_lag_ms=60_000),
        NOW_MS,
    )
    for log in (plain, clean, young):
        fill(log)
    pass_time(manager, NOW_MS + 59_999)
    assert [offsets_of(log) for log in (plain, clean, young)] == [list(range(8))] * 3
    pass_time(manager, NOW_MS + 90_000)
    assert [offsets_of(log) for log in (plain, clean, young)] == [
        list(range(8)), list(range(8)), [5, 6, 7],
    ]  # fmt: skip
    manager.close()


def test_max_compaction_lag_overrules_the_dirty_ratio(tmp_path: Path) -> None:
    config = LogConfig(
        cleanup_policy=("compact",),
        segment_bytes=200,
        min_cleanable_dirty_ratio=1.0,
        max_compaction_lag_ms=100_000,
    )
    manager = opened(tmp_path)
    log = manager.create(ORDERS[0], config, NOW_MS)
    fill(log)
    pass_time(manager, NOW_MS + 90_000)
    assert len(offsets_of(log)) == 8
    pass_time(manager, NOW_MS + 120_000)
    assert offsets_of(log) == [5, 6, 7]
    manager.close()


def test_nothing_at_or_behind_an_open_transaction_is_touched(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    log = manager.create(ORDERS[0], COMPACT, NOW_MS)
    fill(log, 4)
    batch = build_batch(
        [Record(0, NOW_MS, b"a", b"x" * 120)],
        producer_id=9, producer_epoch=0, base_sequence=0, is_transactional=True,
    )  # fmt: skip
    log.append_as_leader(batch, 0, NOW_MS)
    fill(log, 4)
    assert log.last_stable_offset == 4
    pass_time(manager, NOW_MS)
    assert offsets_of(log) == [2, 3, 4, 5, 6, 7, 8]
    manager.close()


def running(tmp_path: Path) -> tuple[LogManager, StoppedCompactor, ManagedLog]:
    compactor = StoppedCompactor()
    manager = opened(tmp_path, compactor=compactor, config=COMPACT)
    log = manager.create(ORDERS[0], COMPACT, NOW_MS)
    fill(log)
    manager.background(NOW_MS)
    compactor.work()
    return manager, compactor, log


def swapping_in_a_damaged_index(
    tmp_path: Path, fs: FileSystem = REAL
) -> tuple[LogManager, StoppedCompactor, ManagedLog]:
    """An aborted transaction has been compacted, and its new index is damaged."""
    compactor = StoppedCompactor()
    manager = opened(tmp_path, compactor=compactor, config=COMPACT, fs=fs)
    log = manager.create(ORDERS[0], COMPACT, NOW_MS)
    batch = build_batch(
        [Record(0, NOW_MS, b"c", b"x" * 120)],
        producer_id=9, producer_epoch=0, base_sequence=0, is_transactional=True,
    )  # fmt: skip
    log.append_as_leader(batch, 0, NOW_MS)
    end_transaction(log, 9, commit=False)
    fill(log)
    manager.background(NOW_MS)
    compactor.work()
    (damaged,) = (tmp_path / "orders-0").glob("*.txnindex.cleaned")
    damaged.write_bytes(b"\7" + damaged.read_bytes()[1:])
    return manager, compactor, log


def test_a_damaged_transaction_index_of_a_new_segment_is_made_anew_once(tmp_path: Path) -> None:
    """Flow: an aborted transaction is compacted, its index is damaged as the new segment takes
    its place; the log is compacted again all the same, and who reads hears of no damage."""
    manager, compactor, log = swapping_in_a_damaged_index(tmp_path)
    pass_time(manager, NOW_MS)
    assert len([note for note in log.load_report.notes if "made anew" in note]) == 1
    compactor.job = None
    fill(log)
    pass_time(manager, NOW_MS + HOUR_MS)
    assert compactor.job is not None and manager.scheduler.uncleanable == {}
    compactor.work()
    pass_time(manager, NOW_MS + HOUR_MS)
    log.read(0, 1 << 20, bound=ReadBound.LAST_STABLE)
    assert len([note for note in log.load_report.notes if "made anew" in note]) == 1
    manager.close()
    again = opened(tmp_path, config=COMPACT).get(ORDERS[0])
    assert again is not None and again.load_report.notes == []
    again.data_directory.close_files()


def test_a_swap_that_lacks_descriptors_is_no_fault_and_the_log_is_asked_for_again(
    tmp_path: Path,
) -> None:
    table = FullTable()
    manager, compactor, log = swapping_in_a_damaged_index(tmp_path, table.fs)
    for segment in log.segments:
        segment.close()
    table.left = FEWEST
    manager.background(NOW_MS)
    table.left = PLENTY
    assert manager.directories[0].is_online
    pass_time(manager, NOW_MS + HOUR_MS)
    assert compactor.job is not None and compactor.job.generation == log.store.generation
    compactor.work()
    pass_time(manager, NOW_MS + HOUR_MS)
    assert manager.scheduler.running == [] and manager.scheduler.uncleanable == {}
    assert offsets_of(log)[-1] == log.log_end_offset - 1
    manager.close()


def test_a_log_truncated_meanwhile_keeps_what_it_is(tmp_path: Path) -> None:
    manager, compactor, log = running(tmp_path)
    log.truncate_to(3, NOW_MS)
    fill(log, 3)
    expected = records_of(log)
    manager.background(NOW_MS + 1000)
    assert not manager.scheduler.running and compactor.drops == 1
    assert records_of(log) == expected
    manager.close()


def test_segments_deleted_meanwhile_do_not_come_back(tmp_path: Path) -> None:
    manager, compactor, log = running(tmp_path)
    log.maybe_increment_log_start_offset(4)
    log.delete_old_segments(2, NOW_MS)
    manager.background(NOW_MS + 1000)
    assert compactor.drops == 1
    assert offsets_of(log) == [2, 3, 4, 5, 6, 7]
    manager.close()


def test_a_log_deleted_meanwhile_drops_its_compaction(tmp_path: Path) -> None:
    manager, compactor, _ = running(tmp_path)
    manager.delete(ORDERS[0])
    assert compactor.drops == 1 and not manager.scheduler.running
    pass_time(manager, NOW_MS + 1000)
    assert manager.directories[0].is_online
    manager.close()


def test_what_a_truncated_record_had_superseded_stays(tmp_path: Path) -> None:
    """The first group's own segments are untouched; the reason to drop records of it is not."""
    manager, compactor, log = running(tmp_path)
    log.truncate_to(5, NOW_MS)
    manager.background(NOW_MS + 1000)
    assert compactor.drops == 1
    assert offsets_of(log) == [0, 1, 2, 3, 4]
    manager.close()


def test_a_log_that_starts_anew_has_nothing_clean(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    log = manager.create(ORDERS[0], COMPACT, NOW_MS)
    fill(log)
    pass_time(manager, NOW_MS)
    log.truncate_fully_and_start_at(0, NOW_MS)
    assert manager.directories[0].clean_offsets == {}
    manager.close()


def test_truncation_makes_the_clean_part_shorter(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    log = manager.create(ORDERS[0], COMPACT, NOW_MS)
    fill(log)
    pass_time(manager, NOW_MS)
    assert manager.directories[0].clean_offsets == {ORDERS[0]: 7}
    log.truncate_to(6, NOW_MS)
    fill(log, 6)
    assert manager.directories[0].clean_offsets[ORDERS[0]] <= 6
    pass_time(manager, NOW_MS + 20_000)
    assert len({record.key for record in records_of(log)[:-1]}) == len(records_of(log)) - 1
    manager.close()


@pytest.mark.broker_says("orders-0: cannot be compacted: .*CRC is wrong")
def test_a_damaged_log_is_left_alone_and_the_others_go_on(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    logs = [manager.create(each, COMPACT, NOW_MS) for each in ORDERS[:2]]
    fill(logs[0], 12)
    fill(logs[1], 6)
    path = tmp_path / "orders-0" / f"{3:020}.log"
    data = bytearray(path.read_bytes())
    data[-2] ^= 1
    path.write_bytes(data)
    pass_time(manager, NOW_MS + 60_000)
    assert manager.scheduler.uncleanable == {
        ORDERS[0]: "orders-0 at offset 3: a batch's CRC is wrong"
    }
    assert offsets_of(logs[1]) == [3, 4, 5]
    assert manager.directories[0].is_online
    assert path.read_bytes() == data
    manager.close()


def failing(event: CompactionFailed, tmp_path: Path) -> tuple[LogManager, ManagedLog]:
    manager, compactor, log = running(tmp_path)
    compactor.events = [event]
    manager.background(NOW_MS + 1000)
    return manager, log


@pytest.mark.broker_says("its partitions are offline")
def test_a_disk_that_fails_under_compaction_is_offline(tmp_path: Path) -> None:
    manager, _ = failing(CompactionFailed("it cannot be read", Blame.DISK), tmp_path)
    assert not manager.directories[0].is_online
    assert not manager.scheduler.running
    manager.close()


def test_a_file_that_is_not_there_is_no_failed_disk(tmp_path: Path) -> None:
    manager, compactor, log = running(tmp_path)
    assert compactor.job is not None
    path = tmp_path / "orders-0" / f"{3:020}.log"
    path.rename(path.with_suffix(".hidden"))
    compactor.work()
    manager.background(NOW_MS + 1000)
    assert manager.directories[0].is_online
    assert manager.scheduler.uncleanable == {} and manager.scheduler.running == []
    path.with_suffix(".hidden").rename(path)
    asked_again = compactor.job = None
    manager.background(NOW_MS + 1000 + 14_999)
    assert compactor.job is asked_again
    manager.background(NOW_MS + 1000 + 30_000)
    compactor.work()
    pass_time(manager, NOW_MS + 40_000)
    assert offsets_of(log) == [5, 6, 7]
    manager.close()


def test_a_child_that_died_is_asked_again_and_each_time_later(tmp_path: Path) -> None:
    manager, compactor, _ = running(tmp_path)
    now_ms = NOW_MS
    waits = []
    for _ in range(7):
        failed_ms = now_ms
        compactor.events, compactor.job = [CompactionFailed("died", Blame.NOTHING)], None
        while compactor.job is None:
            manager.background(now_ms)
            now_ms += 1000
        waits.append((now_ms - failed_ms) // 15_000)
    assert waits == [1, 2, 4, 8, 16, 20, 20]
    assert manager.directories[0].is_online
    manager.close()


def test_a_process_that_cannot_be_started_is_no_failed_disk(tmp_path: Path) -> None:
    class Childless(StoppedCompactor):
        def submit(self, job: CompactionJob) -> None:
            raise OSError(errno.EAGAIN, "no more processes")

    manager = opened(tmp_path, compactor=Childless(), config=COMPACT)
    log = manager.create(ORDERS[0], COMPACT, NOW_MS)
    fill(log)
    pass_time(manager, NOW_MS)
    assert manager.scheduler.running == [] and manager.scheduler.uncleanable == {}
    assert manager.directories[0].is_online
    manager.close()


def truncate(manager: LogManager, log: ManagedLog) -> None:
    log.truncate_to(7, NOW_MS)


def truncate_the_active_segment_away(manager: LogManager, log: ManagedLog) -> None:
    log.truncate_to(3, NOW_MS)


def start_anew(manager: LogManager, log: ManagedLog) -> None:
    log.truncate_fully_and_start_at(20, NOW_MS)


def delete_the_oldest(manager: LogManager, log: ManagedLog) -> None:
    log.delete_old_segments(1, NOW_MS)


def delete_records(manager: LogManager, log: ManagedLog) -> None:
    log.maybe_increment_log_start_offset(5)
    manager.maintenance.delete_old_segments(log, NOW_MS)


def delete_the_topic(manager: LogManager, log: ManagedLog) -> None:
    manager.delete(log.partition)


def compact_no_more(manager: LogManager, log: ManagedLog) -> None:
    log.update_config(replace(COMPACT, cleanup_policy=("delete",)))


CHANGES = [
    truncate, truncate_the_active_segment_away, start_anew, delete_the_oldest, delete_records,
    delete_the_topic, compact_no_more,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: str(change.__name__))
@pytest.mark.parametrize("when", ["before the child works", "after", "between two groups"])
def test_whatever_happens_to_a_log_its_job_is_dropped_and_the_disk_is_well(
    when: str, change: Callable[[LogManager, ManagedLog], None], tmp_path: Path
) -> None:
    """Flow: a job of several groups; the log changes before, behind or between them; another log
    beside it must be as it was, and nothing of the job may be left in the directory."""
    compactor = StoppedCompactor()
    manager = opened(tmp_path, compactor=compactor, config=COMPACT)
    log = manager.create(ORDERS[0], COMPACT, NOW_MS)
    fill(log)
    manager.background(NOW_MS)
    if when == "before the child works":
        change(manager, log)
        compactor.job and compactor.work()
    else:
        compactor.work()
        if when == "between two groups":
            later = compactor.events[1:]
            del compactor.events[1:]
            manager.background(NOW_MS + 1)
            assert offsets_of(log) == [1, 2, 3, 4, 5, 6, 7]
            compactor.events = later
        change(manager, log)
    if log.is_in_use:
        expected = records_of(log)
        manager.background(NOW_MS + 2)
        assert records_of(log) == expected
        assert (manager.directories[0].clean_offsets, manager.scheduler.uncleanable) == ({}, {})
        pass_time(manager, NOW_MS + 2000)
        left = [each.name for each in (tmp_path / "orders-0").iterdir()]
        is_running_again = manager.scheduler.running != []
        assert is_running_again or not [each for each in left if "cleaned" in each]
    assert manager.directories[0].is_online
    manager.close()


def test_leavings_go_before_a_job_is_submitted_and_when_one_is_dropped(tmp_path: Path) -> None:
    manager, compactor, log = running(tmp_path)
    folder = tmp_path / "orders-0"
    assert list(folder.glob("*.cleaned"))
    log.delete_old_segments(1, NOW_MS)
    manager.background(NOW_MS + 1)
    assert not list(folder.glob("*.cleaned"))
    (folder / f"{77:020}.log.cleaned").write_bytes(b"of a child that was killed")
    (folder / "notes.cleaned").write_bytes(b"of somebody else")
    manager.background(NOW_MS + 15_000)
    assert compactor.job is not None
    assert [path.name for path in folder.glob("*.cleaned")] == ["notes.cleaned"]
    pass_time(manager, NOW_MS + 16_000)
    pass_time(manager, NOW_MS + 18_000)
    assert not list(folder.glob("*.deleted"))
    manager.close()


def test_a_clean_stop_leaves_nothing_of_a_compaction_in_progress(tmp_path: Path) -> None:
    manager, _, _ = running(tmp_path)
    manager.close()
    assert not list((tmp_path / "orders-0").glob("*.cleaned"))
    again = opened(tmp_path, config=COMPACT).get(ORDERS[0])
    assert again is not None and again.load_report.notes == []


def test_retention_spares_a_log_whose_compaction_it_has_undone_once(tmp_path: Path) -> None:
    """Flow: a segment expires at each sweep; the second job is let come to its end."""
    both = replace(COMPACT, cleanup_policy=("compact", "delete"), retention_ms=100_000)
    settings = LogManagerConfig(retention_check_interval_ms=1, initial_task_delay_ms=0)
    compactor = StoppedCompactor()
    manager = opened(tmp_path, compactor=compactor, config=both, settings=settings)
    log = manager.create(ORDERS[0], both, NOW_MS)
    for number in range(8):
        append(log, b"x" * 120, key=b"k%d" % number, timestamp=NOW_MS + 1000 * number)
    pass_time(manager, NOW_MS)
    pass_time(manager, NOW_MS + 100_001)
    assert base_offsets(log)[0] == 1
    assert compactor.job is not None and compactor.job.segments[0].base_offset == 1
    pass_time(manager, NOW_MS + 103_001)
    assert base_offsets(log)[0] == 1
    compactor.work()
    pass_time(manager, NOW_MS + 103_002)
    pass_time(manager, NOW_MS + 103_003)
    assert base_offsets(log)[0] > 1
    manager.close()


def test_the_checkpoint_waits_for_the_names_of_the_new_segments(tmp_path: Path) -> None:
    worker = LaterWorker()
    manager = opened(tmp_path, config=COMPACT, worker=worker)
    log = manager.create(ORDERS[0], COMPACT, NOW_MS)
    fill(log)
    manager.background(NOW_MS)
    manager.background(NOW_MS + 1)
    assert offsets_of(log) == [5, 6, 7]
    assert not (tmp_path / checkpoints.CLEANER).exists()
    assert [each for each in manager.scheduler.candidates(NOW_MS)] == []
    worker.do_all()
    clean = checkpoints.read_offsets(REAL, str(tmp_path / checkpoints.CLEANER))
    assert clean == {ORDERS[0]: 7}
    manager.abandon()


def test_the_dirtiest_of_several_logs_comes_first(tmp_path: Path) -> None:
    compactor = StoppedCompactor()
    manager = opened(tmp_path, compactor=compactor)
    for number, count in ((0, 4), (1, 12), (2, 6)):
        log = manager.create(TopicPartition("t", number), COMPACT, NOW_MS)
        fill(log, count)
        manager.directories[0].clean_offsets[log.partition] = 2
    manager.background(NOW_MS)
    assert compactor.job is not None and compactor.job.topic_partition == "t-1"
    manager.close()


def test_several_compactions_at_a_time_as_many_as_are_allowed_now(tmp_path: Path) -> None:
    compactor = StoppedCompactor()
    settings = LogManagerConfig(cleaner_threads=2, cleaner_dedupe_buffer_bytes=8 << 20)
    manager = opened(tmp_path, compactor=compactor, config=COMPACT, settings=settings)
    logs = [manager.create(each, COMPACT, NOW_MS) for each in ORDERS]
    for log in logs:
        fill(log)
    manager.background(NOW_MS)
    assert len(manager.scheduler.running) == 2
    both = [compactor, *compactor.others]
    assert len(both) == 2
    for each in both:
        assert each.job is not None and each.job.dedupe_buffer_bytes == 4 << 20
        each.work()
    manager.reconfigure(replace(settings, cleaner_threads=1))
    pass_time(manager, NOW_MS + 1)
    assert len(manager.scheduler.running) == 1
    manager.reconfigure(replace(settings, cleaner_threads=0))
    for each in both:
        if each.job is not None:
            each.work()
    pass_time(manager, NOW_MS + 2)
    assert manager.scheduler.running == []
    assert sorted(len(offsets_of(log)) for log in logs) == [3, 3, 3, 8]
    manager.reconfigure(replace(settings, cleaner_threads=3))
    manager.background(NOW_MS + 3)
    assert len(manager.scheduler.running) == 1
    manager.close()
    assert manager.scheduler.running == []


def test_two_children_compact_two_logs(tmp_path: Path) -> None:
    settings = LogManagerConfig(cleaner_threads=2)
    manager = opened(tmp_path, compactor=CompactionProcess(), config=COMPACT, settings=settings)
    logs = [manager.create(each, COMPACT, NOW_MS) for each in ORDERS[:2]]
    for log in logs:
        fill(log)
    manager.background(NOW_MS)
    assert len(manager.scheduler.running) == 2
    run_to_the_end(manager)
    assert [offsets_of(log) for log in logs] == [[5, 6, 7]] * 2
    manager.close()


@pytest.mark.parametrize("codec", ["gzip", "lz4", "snappy", "zstd"])
def test_rewritten_batches_keep_their_codec(codec: str, tmp_path: Path) -> None:
    manager = opened(tmp_path, compactor=InlineCompactor())
    log = manager.create(ORDERS[0], COMPACT, NOW_MS)
    records = [Record(n, NOW_MS + n, b"ab"[n % 2 :][:1], b"y" * 150) for n in range(3)]
    log.append_as_leader(build_batch(records, codec=codec_named(codec)), 0, NOW_MS)
    append(log, b"z" * 120, key=b"other")
    log.flush()
    pass_time(manager, NOW_MS)
    (header, *_) = walk(log.segments.first.slice(0, log.segments.first.size_bytes).read())
    assert (header.record_count, header.last_offset_delta) == (2, 2)
    assert header.codec == codec_named(codec)
    assert offsets_of(log) == [1, 2, 3]
    manager.close()


@pytest.mark.parametrize(
    "wrong", [{"size_bytes": 1}, {"last_offset": 1}], ids=["its size", "its last offset"]
)
@pytest.mark.broker_says("cannot be compacted: .* instead of")
def test_a_new_segment_that_is_not_as_reported_replaces_nothing(
    wrong: dict[str, int], tmp_path: Path
) -> None:
    manager, compactor, log = running(tmp_path)
    group = compactor.events[0]
    assert isinstance(group, CompactedGroup)
    compactor.events[0] = replace(
        group,
        size_bytes=group.size_bytes + wrong.get("size_bytes", 0),
        last_offset=group.last_offset + wrong.get("last_offset", 0),
    )
    manager.background(NOW_MS + 1000)
    assert offsets_of(log) == list(range(8))
    assert "instead of" in manager.scheduler.uncleanable[ORDERS[0]]
    assert manager.directories[0].is_online and not manager.scheduler.running
    manager.close()


def test_a_topic_of_many_segments_keeps_every_key(tmp_path: Path) -> None:
    """More of them than any cache of files holds, and more in them than one write takes."""
    config = replace(COMPACT, segment_bytes=50_000)
    manager = opened(tmp_path, config=config)
    log = manager.create(ORDERS[0], config, NOW_MS)
    for number in range(60):
        append(log, b"x" * 49_000, key=b"%d" % number)
    log.flush()
    log.update_config(replace(config, segment_bytes=1 << 30))
    pass_time(manager, NOW_MS)
    assert offsets_of(log) == list(range(60))
    assert len(log.segments) == 2
    manager.close()


def test_many_logs_are_looked_at_in_slices_and_once_for_all_that_are_due(tmp_path: Path) -> None:
    """Flow: three slices find what is due; then each job begins without another look."""
    settings = LogManagerConfig(slice_calls=4)
    compactor = StoppedCompactor()
    manager = opened(tmp_path, compactor=compactor, config=COMPACT, settings=settings)
    logs = [manager.create(TopicPartition("t", number), COMPACT, NOW_MS) for number in range(5)]
    for number, log in enumerate(logs):
        fill(log, 6 + number)
        manager.directories[0].clean_offsets[log.partition] = 2
    looks = 0
    while compactor.job is None:
        assert manager.background(NOW_MS) <= NOW_MS
        looks += 1
    assert looks == 3
    order = []
    for _ in logs:
        assert compactor.job is not None
        order.append(compactor.job.topic_partition)
        compactor.work()
        compactor.job = None
        manager.background(NOW_MS)
        manager.background(NOW_MS)
    assert order == ["t-4", "t-3", "t-2", "t-1", "t-0"]
    manager.close()
