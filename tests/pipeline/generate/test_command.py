"""The stream that the options of `generate` ask for."""

from __future__ import annotations

from barnabas.pipeline.generate.command import Asked, plan_of
from barnabas.pipeline.generate.events import events_of
from barnabas.pipeline.generate.plan import DEFAULT_SPAN_MS, HOUR_MS

NOW_MS = 1_790_000_000_000
MINUTE_MS = 60_000


def asked(*, duration: int | None = None, span: int | None = None) -> Asked:
    """--rate 200/s, and --duration and --span if given."""
    return Asked(
        events=None,
        duration=duration,
        per_second=200.0,
        seed=1,
        users=1000,
        start=NOW_MS,
        span=span,
    )


def test_events_of_a_duration_are_of_the_time_at_which_they_are_written() -> None:
    """A broker takes no record of more than an hour from now (message.timestamp.after.max.ms)."""
    plan = plan_of(asked(duration=10 * MINUTE_MS))
    assert (plan.events, plan.span_ms) == (120_000, 10 * MINUTE_MS)
    made = [events_of(plan, block) for block in plan.blocks]
    assert sum(len(each) for each in made) == plan.events
    for each in made:
        written_ms = NOW_MS + each.position * 5
        assert (each.event_ms - written_ms).max() < 10 * MINUTE_MS


def test_a_span_of_its_own_wins_over_the_duration_and_a_day_is_what_there_is_without_both() -> None:
    assert plan_of(asked(duration=10 * MINUTE_MS, span=HOUR_MS)).span_ms == HOUR_MS
    assert plan_of(asked()).span_ms == DEFAULT_SPAN_MS
