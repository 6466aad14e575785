"""The division of a stream into blocks."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from barnabas.pipeline.generate.catalogue import HOURLY
from barnabas.pipeline.generate.plan import HOUR_MS, MOST_EVENTS_OF_A_BLOCK, Plan

plans = st.builds(
    Plan,
    events=st.integers(1, 3_000_000),
    start_ms=st.integers(0, 2_000_000_000_000),
    span_ms=st.integers(1, 10 * 24 * HOUR_MS),
)


@given(plans)
def test_blocks_cover_the_stream_without_gaps(plan: Plan) -> None:
    position, time_ms = 0, plan.start_ms
    for number, block in enumerate(plan.blocks):
        assert (block.number, block.first) == (number, position)
        assert time_ms <= block.start_ms <= block.end_ms
        assert 0 < block.count <= MOST_EVENTS_OF_A_BLOCK
        position, time_ms = position + block.count, block.end_ms
    assert position == plan.events
    assert time_ms <= plan.start_ms + plan.span_ms


def test_a_day_has_its_curve() -> None:
    counts = Counter[int]()
    for block in Plan(5_000_000).blocks:
        counts[block.start_ms // HOUR_MS % 24] += block.count
    expected = [5_000_000 * weight // sum(HOURLY) for weight in HOURLY]
    assert all(abs(counts[hour] - expected[hour]) <= 1 for hour in range(24))
