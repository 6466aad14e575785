"""Retention decisions."""

from collections.abc import Iterator

import pytest

from barnabas.storage.manager.retention import count_above_size, count_below_start, count_expired


@pytest.mark.parametrize(
    ("start", "count"), [(0, 0), (9, 0), (10, 1), (19, 1), (20, 2), (30, 2), (99, 2)]
)
def test_segments_below_the_log_start(start: int, count: int) -> None:
    assert count_below_start([0, 10, 20], start) == count


@pytest.mark.parametrize(
    ("retention_bytes", "count"),
    [(-1, 0), (0, 3), (1, 2), (30, 2), (31, 1), (49, 1), (50, 1), (51, 0), (1000, 0)],
)
def test_segments_above_the_size_limit(retention_bytes: int, count: int) -> None:
    assert count_above_size([10, 20, 30], retention_bytes) == count


@pytest.mark.parametrize(
    ("retention_ms", "count"), [(-1, 0), (0, 3), (69, 2), (70, 1), (89, 1), (90, 0)]
)
def test_segments_past_the_time_limit(retention_ms: int, count: int) -> None:
    assert count_expired([10, 30, 99], retention_ms, now_ms=100) == count


def test_one_old_record_keeps_nothing_behind_a_young_segment() -> None:
    assert count_expired([10, 95, 10], 50, now_ms=100) == 1


def test_timestamps_are_not_asked_for_beyond_the_first_young_segment() -> None:
    asked = []

    def ages() -> Iterator[int]:
        for timestamp in (10, 95, 96):
            asked.append(timestamp)
            yield timestamp

    assert count_expired(ages(), 50, now_ms=100) == 1
    assert asked == [10, 95]
