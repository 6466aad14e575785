"""Which log is compacted next, and how far."""

from dataclasses import replace

import pytest

from barnabas.storage.compaction.plan import (
    Candidate,
    DirtySegment,
    due_in_order,
    first_dirty_offset,
    first_uncleanable_offset,
    is_overdue,
)
from barnabas.storage.directory_names import TopicPartition

LOG = Candidate(TopicPartition("t", 0), 0, 10, 100, 100, 0.5)


@pytest.mark.parametrize(
    ("checkpoint", "expected"), [(None, 5), (4, 5), (5, 5), (20, 20), (50, 50), (51, 5)]
)
def test_where_the_dirty_part_begins(checkpoint: int | None, expected: int) -> None:
    assert first_dirty_offset(checkpoint, log_start_offset=5, log_end_offset=50) == expected


@pytest.mark.parametrize(
    ("last_stable", "active", "min_lag_ms", "expected"),
    [
        (100, 80, 0, 80),
        (70, 80, 0, 70),
        (100, 80, 1, 80),
        (100, 80, 10, 60),
        (100, 80, 30, 40),
        (30, 80, 30, 40),
    ],
)
def test_where_compaction_must_stop(
    last_stable: int, active: int, min_lag_ms: int, expected: int
) -> None:
    dirty = [DirtySegment(40, 0, 980), DirtySegment(60, 0, 995)]
    stop = first_uncleanable_offset(dirty, 40, last_stable, active, min_lag_ms, now_ms=1000)
    assert stop == expected


def test_overdue_goes_by_the_oldest_first_record_that_has_a_timestamp() -> None:
    dirty = [DirtySegment(0, -1, 0), DirtySegment(1, 900, 950), DirtySegment(2, 800, 999)]
    assert is_overdue(dirty, max_lag_ms=199, now_ms=1000)
    assert not is_overdue(dirty, max_lag_ms=200, now_ms=1000)
    assert not is_overdue(dirty[:1], max_lag_ms=1, now_ms=1000)
    assert not is_overdue([], max_lag_ms=1, now_ms=1000)


def test_the_dirtiest_due_log_goes_first() -> None:
    half = LOG
    most = replace(LOG, topic_partition=TopicPartition("t", 1), cleanable_bytes=900)
    strict = replace(most, topic_partition=TopicPartition("t", 2), min_dirty_ratio=0.95)
    assert not half.is_due and most.is_due and not strict.is_due
    more = replace(LOG, topic_partition=TopicPartition("t", 3), cleanable_bytes=800)
    assert due_in_order([half, more, most, strict]) == [most, more]
    assert due_in_order([half, strict]) == []


def test_an_overdue_log_goes_whatever_its_share_if_it_has_anything() -> None:
    assert replace(LOG, is_overdue=True).is_due
    assert not replace(LOG, is_overdue=True, cleanable_bytes=0).is_due
    assert not replace(LOG, clean_bytes=0, cleanable_bytes=0, min_dirty_ratio=0).is_due
