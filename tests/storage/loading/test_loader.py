from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.storage.disk.fs import REAL
from barnabas.storage.log.log import Log
from barnabas.storage.log_config import LogConfig

from ..logs import (
    NOW_MS,
    a_batch,
    append,
    end_transaction,
    file_name,
    fill,
    names,
    offsets,
    open_log,
)

SIZE = len(a_batch(2))


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """Ten batches of two records in segments of three batches."""
    log = open_log(tmp_path, segment_bytes=3 * SIZE)
    fill(log, 10, 2)
    return log


def path_of(tmp_path: Path, base_offset: int, extension: str = "log") -> Path:
    return tmp_path / "t-0" / file_name(base_offset, extension)


def test_a_clean_stop_leaves_nothing_to_mend(log: Log, tmp_path: Path) -> None:
    wanted = offsets(log)
    log.close()
    log = open_log(tmp_path)
    assert offsets(log) == wanted
    assert (log.load_report.recovered_segments, log.load_report.notes) == ([], [])
    assert log.recovery_point == log.log_end_offset == 20


def test_a_small_last_segment_is_read_once_when_its_log_is_opened(tmp_path: Path) -> None:
    log = open_log(tmp_path, index_interval_bytes=4096, segment_bytes=1 << 20)
    fill(log, 10, 2)
    log.close()
    opened: dict[int, str] = {}
    read: list[str] = []

    def noting_open(path: str, flags: int, mode: int) -> int:
        fd = REAL.open(path, flags, mode)
        opened[fd] = path
        return fd

    def pread(fd: int, size: int, position: int) -> bytes:
        read.append(opened[fd].rpartition("/")[2])
        return REAL.pread(fd, size, position)

    fs = replace(REAL, open=noting_open, pread=pread)
    log = Log.open(str(tmp_path / "t-0"), "t-0", LogConfig(), NOW_MS, fs=fs)
    assert log.log_end_offset == 20
    assert read.count(file_name(0, "log")) == 1


def test_only_what_lies_above_the_recovery_point_is_looked_at(log: Log, tmp_path: Path) -> None:
    log.flush()
    fill(log, 4, 2)
    log.close_files()
    for base_offset in (0, 6, 12):
        path_of(tmp_path, base_offset).chmod(0)
    log = open_log(tmp_path, clean=False, recovery_point=20)
    assert log.load_report.recovered_segments == [18, 24]
    assert (log.log_end_offset, log.recovery_point) == (28, 20)


@pytest.mark.parametrize("cut", [1, 10, SIZE - 1])
def test_a_torn_tail_is_cut_at_the_last_good_batch(log: Log, tmp_path: Path, cut: int) -> None:
    log.close_files()
    path = path_of(tmp_path, 18)
    path.write_bytes(path.read_bytes()[:-cut])
    log = open_log(tmp_path, clean=False)
    assert log.log_end_offset == 18
    assert log.load_report.truncated_bytes == SIZE - cut
    assert path.stat().st_size == 0
    append(log, a_batch(2))
    assert offsets(log)[-1] == (18, 19)


@pytest.mark.parametrize("position", [8, 9, 11, *range(16, SIZE, 7)])
def test_a_flipped_bit_cuts_there_and_drops_what_follows(
    log: Log, tmp_path: Path, position: int
) -> None:
    log.close_files()
    path = path_of(tmp_path, 6)
    data = bytearray(path.read_bytes())
    data[SIZE + position] ^= 4
    path.write_bytes(data)
    log = open_log(tmp_path, clean=False)
    assert offsets(log) == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert log.load_report.dropped_segments == [12, 18]
    assert not path_of(tmp_path, 12).exists()
    assert log.load_report.notes != []


@pytest.mark.parametrize("policy", ["delete", "compact"])
def test_a_gap_between_segments_is_left_as_kafka_leaves_it(
    log: Log, tmp_path: Path, policy: str
) -> None:
    log.close_files()
    path = path_of(tmp_path, 6)
    path.write_bytes(path.read_bytes()[: 2 * SIZE])
    log = open_log(tmp_path, clean=False, cleanup_policy=(policy,))
    assert [first for first, _ in offsets(log)] == [0, 2, 4, 6, 8, 12, 14, 16, 18]
    assert log.load_report.notes == []


def test_what_a_power_cut_brings_back_does_not_double_the_offsets_of_the_next_segment(
    log: Log, tmp_path: Path
) -> None:
    """A truncation had cut a segment where the next one begins; the cut was not durable."""
    log.close_files()
    first, second = path_of(tmp_path, 0), path_of(tmp_path, 6)
    back = bytearray(second.read_bytes()[: 2 * SIZE])
    first.write_bytes(first.read_bytes() + back)
    log = open_log(tmp_path, clean=False)
    assert [start for start, _ in offsets(log)] == [0, 2, 4, 6, 8, 10, 12, 14, 16, 18]
    assert first.stat().st_size == 3 * SIZE
    assert log.load_report.dropped_segments == []


def test_a_torn_tail_is_cut_even_if_the_stop_claims_to_be_clean(log: Log, tmp_path: Path) -> None:
    log.close()
    path = path_of(tmp_path, 18)
    path.write_bytes(path.read_bytes()[:-5])
    log = open_log(tmp_path)
    assert log.load_report.truncated_bytes == SIZE - 5
    append(log, a_batch(2))
    assert offsets(log)[-2:] == [(16, 17), (18, 19)]
    assert log.segments.base_offsets == [0, 6, 12, 18]


@pytest.mark.parametrize("extension", ["index", "timeindex"])
def test_missing_and_stray_indexes(log: Log, tmp_path: Path, extension: str) -> None:
    wanted = offsets(log)
    log.close()
    content = path_of(tmp_path, 6, extension).read_bytes()
    path_of(tmp_path, 6, extension).rename(path_of(tmp_path, 9, extension))
    log = open_log(tmp_path)
    assert offsets(log) == wanted
    assert path_of(tmp_path, 6, extension).read_bytes() == content
    assert not path_of(tmp_path, 9, extension).exists()
    assert log.load_report.recovered_segments == [6]
    assert len(log.load_report.notes) == 2


def test_a_damaged_transaction_index_is_made_anew(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, a_batch(2, producer_id=7, sequence=0, transactional=True))
    end_transaction(log, 7, commit=False)
    log.close()
    path = path_of(tmp_path, 0, "txnindex")
    good = path.read_bytes()
    path.write_bytes(b"\7" + good[1:])
    log = open_log(tmp_path)
    assert path.read_bytes() == good
    assert len(log.active_segment.transaction_index.entries()) == 1
    assert "version" in log.load_report.notes[0]


def test_damaged_leader_epochs_are_found_in_the_batches(tmp_path: Path) -> None:
    log = open_log(tmp_path, segment_bytes=3 * SIZE)
    for number in range(6):
        append(log, a_batch(2), leader_epoch=number // 2)
    wanted = log.epochs.entries()
    log.close()
    (tmp_path / "t-0" / "leader-epoch-checkpoint").write_bytes(b"")
    log = open_log(tmp_path)
    assert log.epochs.entries() == wanted == [(0, 0), (1, 4), (2, 8)]


@pytest.mark.parametrize("count", [0, 1])
@pytest.mark.parametrize("cut", [False, True])
def test_damaged_leader_epochs_are_spoken_of_once(tmp_path: Path, count: int, cut: bool) -> None:
    """Also where there is no epoch to write: a power cut may leave an empty file and no record."""
    log = open_log(tmp_path)
    fill(log, count)
    if cut:
        log.truncate_to(0, NOW_MS)
    log.close()
    (tmp_path / "t-0" / "leader-epoch-checkpoint").write_bytes(b"")
    log = open_log(tmp_path)
    assert "leader-epoch-checkpoint" in log.load_report.notes[0]
    log.close()
    assert open_log(tmp_path).load_report.notes == []


def test_a_log_below_its_start_starts_anew(log: Log, tmp_path: Path) -> None:
    log.close()
    log = open_log(tmp_path, log_start_offset=30)
    assert (log.log_start_offset, log.log_end_offset) == (30, 30)
    assert log.segments.base_offsets == [30]
    append(log, a_batch(2))
    log.close()
    assert offsets(open_log(tmp_path)) == [(30, 31)]


def test_a_start_inside_of_the_log(log: Log, tmp_path: Path) -> None:
    log.close()
    log = open_log(tmp_path, log_start_offset=7)
    assert log.log_start_offset == 7
    assert log.epochs.entries() == [(0, 7)]


def test_producers_come_back_from_the_batches(tmp_path: Path) -> None:
    log = open_log(tmp_path, segment_bytes=3 * SIZE)
    for number in range(7):
        append(log, a_batch(2, producer_id=number % 2, sequence=number // 2 * 2))
    append(log, a_batch(2, producer_id=5, sequence=0, transactional=True))
    wanted = {
        entry.producer_id: (entry.last_sequence, entry.current_transaction_first_offset)
        for entry in log.producer_entries()
    }
    log.close_files()
    for name in names(tmp_path):
        if name.endswith(".snapshot"):
            (tmp_path / "t-0" / name).write_bytes(b"damaged")
    log = open_log(tmp_path, clean=False)
    found = {
        entry.producer_id: (entry.last_sequence, entry.current_transaction_first_offset)
        for entry in log.producer_entries()
    }
    assert found == wanted
    assert log.last_stable_offset == 14
    info = append(log, a_batch(2, producer_id=0, sequence=6))
    assert info.is_duplicate


def test_index_files_of_a_killed_kafka_are_full_of_zeros(log: Log, tmp_path: Path) -> None:
    log.close()
    wanted = {}
    for extension in ("index", "timeindex"):
        path = path_of(tmp_path, 18, extension)
        wanted[path] = path.read_bytes()
        path.write_bytes(wanted[path] + bytes(65532))
    log = open_log(tmp_path)
    append(log, a_batch(2))
    log.close()
    assert path_of(tmp_path, 18, "index").stat().st_size < 100
    assert (
        path_of(tmp_path, 18, "timeindex")
        .read_bytes()
        .startswith(wanted[path_of(tmp_path, 18, "timeindex")])
    )


def test_a_partition_that_was_never_written_costs_one_listing(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / "partition.metadata").write_text("version: 0\ntopic_id: x\n")
    log = open_log(tmp_path, clean=False)
    assert (log.log_end_offset, log.load_report.notes) == (0, [])
    log.close()
    assert names(tmp_path) == ["partition.metadata"]


def test_what_is_opened_twice_is_the_same(log: Log, tmp_path: Path) -> None:
    log.close_files()
    first = open_log(tmp_path, clean=False)
    state = [offsets(first), first.epochs.entries(), names(tmp_path)]
    first.close_files()
    second = open_log(tmp_path, clean=False, now_ms=NOW_MS + 5)
    assert state == [offsets(second), second.epochs.entries(), names(tmp_path)]
