"""Quantiles are near enough, and of now."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.server.observing.histogram import QUANTILES, Histogram


@given(st.lists(st.integers(0, 2**40 - 1), min_size=1, max_size=50))
def test_quantiles_are_found_to_within_a_fifth(values: list[int]) -> None:
    histogram = Histogram()
    for value in values:
        histogram.record(value)
    ordered = sorted(values)
    for quantile, found in zip(QUANTILES, histogram.recent_quantiles(0.0), strict=True):
        exact = next(v for n, v in enumerate(ordered, 1) if n >= quantile * len(ordered))
        assert found == pytest.approx(exact, rel=0.2)
    assert histogram.count == len(values)
    assert histogram.total == sum(values)


def test_quantiles_follow_the_present() -> None:
    histogram = Histogram()
    for _ in range(1_000):
        histogram.record(1)
    assert histogram.recent_quantiles(now_s=100.0)[0] == 1
    for _ in range(10):
        histogram.record(1_000)
    assert histogram.recent_quantiles(now_s=110.0)[0] == pytest.approx(1_000, rel=0.2)
    assert histogram.recent_quantiles(now_s=170.0)[0] == pytest.approx(1_000, rel=0.2)
    assert all(math.isnan(each) for each in histogram.recent_quantiles(now_s=171.0))
    assert histogram.count == 1_010
