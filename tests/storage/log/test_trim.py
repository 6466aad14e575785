from pathlib import Path

import pytest

from barnabas.storage.errors import OffsetOutOfRange
from barnabas.storage.log.log import Log

from ..logs import (
    NOW_MS,
    a_batch,
    append,
    delete_due_files,
    end_transaction,
    file_name,
    fill,
    names,
    offsets,
    open_log,
    read_all,
)

SIZE = len(a_batch(2))


def filled(folder: Path) -> Log:
    """Ten batches of two records in segments of three batches, each in an epoch of its own."""
    log = open_log(folder, segment_bytes=3 * SIZE, file_delete_delay_ms=50)
    for number in range(10):
        append(log, a_batch(2, timestamp=NOW_MS + number), leader_epoch=number)
    return log


@pytest.mark.parametrize("offset", range(20))
def test_everything_from_an_offset_on_goes(tmp_path: Path, offset: int) -> None:
    log = filled(tmp_path)
    log.flush()
    assert log.truncate_to(offset, NOW_MS)
    batches = [(first, first + 1) for first in range(0, offset - offset % 2, 2)]
    assert offsets(log) == batches
    assert log.log_end_offset == log.high_watermark == offset
    assert log.recovery_point == log.active_segment.base_offset  # the cut is to be synced
    assert log.segments.base_offsets == [base for base in (0, 6, 12, 18) if base <= offset]
    assert [start for _, start in log.epochs.entries()] == list(range(0, offset, 2))
    info = append(log, a_batch(2), leader_epoch=20)
    assert (info.first_offset, offsets(log)) == (offset, [*batches, (offset, offset + 1)])
    log.close()
    again = open_log(tmp_path)
    assert offsets(again) == [*batches, (offset, offset + 1)]
    assert again.load_report.notes == []


def test_a_log_that_ends_before_is_left_alone(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.assign_epoch(11, 20)
    assert not log.truncate_to(20, NOW_MS)
    assert not log.truncate_to(99, NOW_MS)
    assert log.log_end_offset == 20
    assert log.epochs.latest_epoch == 9
    with pytest.raises(ValueError, match="offset -1"):
        log.truncate_to(-1, NOW_MS)


def test_below_the_first_segment_all_goes(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.delete_old_segments(2, NOW_MS)
    log.truncate_to(5, NOW_MS)
    assert (log.log_start_offset, log.log_end_offset, log.segments.base_offsets) == (5, 5, [5])


def test_producers_go_back_too(tmp_path: Path) -> None:
    log = open_log(tmp_path, segment_bytes=3 * SIZE)
    for sequence in range(0, 8, 2):
        append(log, a_batch(2, producer_id=7, sequence=sequence, transactional=True))
    end_transaction(log, 7, commit=True)
    assert log.last_stable_offset == 9
    log.truncate_to(8, NOW_MS)
    assert log.last_stable_offset == 0
    log.truncate_to(4, NOW_MS)
    (entry,) = log.producer_entries()
    assert (entry.last_sequence, entry.current_transaction_first_offset) == (3, 0)
    append(log, a_batch(2, producer_id=7, sequence=4, transactional=True))
    assert log.log_end_offset == 6


def test_timestamps_go_back_too(tmp_path: Path) -> None:
    log = open_log(tmp_path, segment_bytes=100_000)
    for timestamp in (100, 500, 300, 900):
        append(log, a_batch(2, timestamp=timestamp))
    log.truncate_to(6, NOW_MS)
    found = log.lookup.of_max_timestamp()
    assert found is not None and (found.offset, found.timestamp) == (3, 501)
    assert log.active_segment.largest_timestamp() == (501, 3)


def test_starting_anew_somewhere_else(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.truncate_fully_and_start_at(500, NOW_MS)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (500, 500, 500)
    assert log.epochs.entries() == []
    log.close()
    log = open_log(tmp_path)
    assert log.log_end_offset == 500
    append(log, a_batch(2))
    assert offsets(log) == [(500, 501)]
    log.truncate_fully_and_start_at(600, NOW_MS, log_start_offset=550)
    assert (log.log_start_offset, log.log_end_offset) == (550, 600)


def test_what_is_cut_off_is_unlinked_when_its_delay_is_over(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.truncate_to(7, NOW_MS)
    gone = {file_name(base, "log") for base in (12, 18)}
    assert {f"{name}.deleted" for name in gone} <= set(names(tmp_path))
    assert not gone & set(names(tmp_path))
    assert delete_due_files(log, NOW_MS + 49) == NOW_MS + 50
    assert delete_due_files(log, NOW_MS + 50) is None
    assert not [name for name in names(tmp_path) if name.endswith(".deleted")]


def test_deleting_records(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.offsets.high_watermark = 15
    with pytest.raises(OffsetOutOfRange):
        log.maybe_increment_log_start_offset(16)
    assert log.maybe_increment_log_start_offset(7)
    assert not log.maybe_increment_log_start_offset(5)
    assert (log.log_start_offset, log.recovery_point) == (7, 0)  # what is there is not durable
    assert offsets(log)[0] == (6, 7)
    assert log.epochs.entries()[0] == (3, 7)
    assert len(log.segments) == 4
    log.close()
    log = open_log(tmp_path, log_start_offset=7)
    assert (log.log_start_offset, next(read_all(log))[0].base_offset) == (7, 6)


def test_a_flush_of_what_was_truncated_meanwhile_counts_for_nothing(tmp_path: Path) -> None:
    log = filled(tmp_path)
    flush = log.flusher.begin()
    assert flush is not None and flush.offset == 20
    flush.sync()
    log.truncate_to(4, NOW_MS)
    fill(log, 10, 2)
    log.flusher.end(flush)
    assert log.recovery_point == 0
