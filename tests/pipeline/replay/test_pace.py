"""A rate is kept, and nothing is made up for."""

import pytest

from barnabas.pipeline.replay.pace import Pace, parse_rate
from barnabas.pipeline.spark.failures import PipelineError


class Clock:
    """Time passes by sleeping only."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize(
    ("text", "rate"), [("500/s", 500), ("500", 500), ("0.5/s", 0.5), ("30/m", 0.5), ("36/h", 0.01)]
)
def test_rates(text: str, rate: float) -> None:
    assert parse_rate(text) == pytest.approx(rate)


@pytest.mark.parametrize("text", ["", "0", "0/s", "-1/s", "5/d", "fast", "5 /s", "1e3"])
def test_other_rates_are_refused(text: str) -> None:
    with pytest.raises(PipelineError, match="--rate"):
        parse_rate(text)


def test_so_many_a_second_go_through() -> None:
    clock = Clock()
    pace = Pace(50.0, clock, clock.sleep)
    assert pace.at_once == 50
    for _ in range(10):
        pace.wait(50)
    assert clock.now == pytest.approx(109.0)  # the first fifty at once


def test_a_record_a_minute_is_one_at_a_time() -> None:
    clock = Clock()
    pace = Pace(1 / 60, clock, clock.sleep)
    assert pace.at_once == 1
    for _ in range(3):
        pace.wait(1)
    assert clock.now == pytest.approx(220.0)


def test_time_in_which_there_was_nothing_to_write_is_not_made_up_for() -> None:
    clock = Clock()
    pace = Pace(10.0, clock, clock.sleep)
    pace.wait(10)
    clock.now += 3600
    for _ in range(3):
        pace.wait(10)
    assert clock.now == pytest.approx(3702.0)


def test_nothing_costs_no_time_nor_does_no_rate() -> None:
    clock = Clock()
    slow = Pace(0.1, clock, clock.sleep)
    slow.wait(1)
    slow.wait(0)
    unlimited = Pace(None, clock, clock.sleep)
    unlimited.wait(10**9)
    assert (clock.now, unlimited.at_once) == (100.0, None)
