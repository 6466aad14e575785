"""Everything at once, as some seeds decide: `scripts/crash --concurrent` lives thousands."""

import pytest

from .workload import live

SEEDS = 35


@pytest.mark.parametrize("first", range(0, 8_000, 1_000))
def test_nothing_promised_is_lost_whatever_happens_between_two_steps(first: int) -> None:
    for seed in range(first, first + SEEDS):
        live(seed)


def test_a_seed_is_the_same_history_each_time() -> None:
    stories = [live(4).told for _ in range(2)]
    assert stories[0] == stories[1]
