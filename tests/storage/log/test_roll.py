from pathlib import Path
from typing import Any

import pytest

from barnabas.storage.log.log import Log

from ..logs import NOW_MS, a_batch, append, file_name, fill, names, open_log

SIZE = len(a_batch(1))


def rolled(folder: Path, batches: list[bytearray], **settings: Any) -> list[int]:
    log = open_log(folder, **settings)
    for number, batch in enumerate(batches):
        append(log, batch, now_ms=NOW_MS + 100 * number)
    return log.segments.base_offsets


def test_by_size(tmp_path: Path) -> None:
    batches = [a_batch() for _ in range(5)]
    assert rolled(tmp_path, batches, segment_bytes=2 * SIZE) == [0, 2, 4]


def test_by_the_age_of_the_first_record_in_the_records_own_time(tmp_path: Path) -> None:
    batches = [a_batch(timestamp=time) for time in (1000, 1500, 2000, 2001, 3001, 3002)]
    assert rolled(tmp_path, batches, segment_ms=1000) == [0, 3, 5]


def test_by_the_clock_where_records_have_no_time(tmp_path: Path) -> None:
    batches = [a_batch(timestamp=-1) for _ in range(5)]
    assert rolled(tmp_path, batches, segment_ms=250) == [0, 3]


def test_a_reopened_segment_has_its_age(tmp_path: Path) -> None:
    log = open_log(tmp_path, segment_ms=1000)
    append(log, a_batch(timestamp=1000))
    log.close()
    log = open_log(tmp_path, segment_ms=1000)
    append(log, a_batch(timestamp=2000))
    append(log, a_batch(timestamp=2001))
    assert log.segments.base_offsets == [0, 2]


@pytest.mark.parametrize(
    ("index_bytes", "step_ms", "bases"),
    [(24, 1, [0, 2, 4, 6]), (36, 0, [0, 5]), (36, 1, [0, 3, 6])],
)
def test_by_a_full_index(tmp_path: Path, index_bytes: int, step_ms: int, bases: list[int]) -> None:
    batches = [a_batch(timestamp=NOW_MS + step_ms * number) for number in range(7)]
    settings = {"index_interval_bytes": 0, "segment_bytes": 10_000}
    assert rolled(tmp_path, batches, segment_index_bytes=index_bytes, **settings) == bases


def test_by_an_offset_out_of_an_index_entrys_reach(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, a_batch())
    far = a_batch()
    far[:8] = (1 << 31).to_bytes(8)
    log.append_as_follower(bytes(far), NOW_MS)
    assert log.segments.base_offsets == [0, 1 << 31]


def test_jitter_makes_segments_younger(tmp_path: Path) -> None:
    log = open_log(tmp_path, segment_ms=1000, segment_jitter_ms=400)
    jitters = {log.store.new_segment(0, 0).roll_jitter_ms for _ in range(50)}
    assert len(jitters) > 5
    assert all(0 <= jitter < 400 for jitter in jitters)
    log.active_segment.roll_jitter_ms = 300
    append(log, a_batch(timestamp=1000))
    append(log, a_batch(timestamp=1701))
    assert log.segments.base_offsets == [0, 1]


@pytest.fixture
def log(tmp_path: Path) -> Log:
    log = open_log(tmp_path, segment_bytes=10_000)
    fill(log, 4)
    return log


def test_what_a_roll_leaves(log: Log, tmp_path: Path) -> None:
    log.roll(NOW_MS)
    assert names(tmp_path) == [
        file_name(0, "index"),
        file_name(0, "log"),
        file_name(0, "timeindex"),
        file_name(4, "index"),
        file_name(4, "log"),
        file_name(4, "snapshot"),
        file_name(4, "timeindex"),
        "leader-epoch-checkpoint",
    ]
    assert log.segments.first.time_index.entries()[-1] == (NOW_MS + 3000, 3)
    assert (log.log_end_offset, log.recovery_point) == (4, 0)


def test_an_empty_segment_is_not_rolled(log: Log, tmp_path: Path) -> None:
    log.roll(NOW_MS)
    before = names(tmp_path)
    assert log.roll(NOW_MS) is log.active_segment
    assert (names(tmp_path), log.segments.base_offsets) == (before, [0, 4])


def test_leftovers_under_the_new_name_are_removed(log: Log, tmp_path: Path) -> None:
    (tmp_path / "t-0" / file_name(4, "log")).write_bytes(b"leftover")
    (tmp_path / "t-0" / file_name(4, "txnindex")).write_bytes(b"leftover")
    log.roll(NOW_MS)
    append(log, a_batch())
    assert log.active_segment.size_bytes == SIZE
    assert file_name(4, "txnindex") not in names(tmp_path)


def test_an_empty_log_has_no_files(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    log.assign_epoch(3, 0)
    assert log.read(0, 100).records is None
    log.flush()
    log.close()
    assert names(tmp_path) == []
