"""Random numbers as functions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.pipeline.generate.numbers import (
    below,
    chosen,
    hashes,
    is_one_of,
    key_of,
    mix,
    zipf_ranks,
)

MASK = (1 << 64) - 1
counters = st.integers(0, (1 << 50) - 1)


def drawn(count: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return hashes(key_of(1, "test"), np.arange(count))


@given(st.integers(0, MASK), st.lists(counters, min_size=1, max_size=5))
def test_hashes_are_splitmix_of_key_and_counter(key: int, numbers: list[int]) -> None:
    expected = [mix((number * 0x9E3779B97F4A7C15 + key) & MASK) for number in numbers]
    assert hashes(key, np.array(numbers)).tolist() == expected


def test_a_key_is_of_its_seed_and_its_purpose() -> None:
    keys = {key_of(seed, purpose) for seed in range(100) for purpose in ("page", "egap", "q", "")}
    assert len(keys) == 400


@pytest.mark.parametrize("limit", [1, 2, 7, 1_000_000, 1 << 31])
def test_numbers_below_a_limit_are_spread_evenly(limit: int) -> None:
    found = below(drawn(20_000), limit)
    assert 0 <= found.min() <= found.max() < limit
    assert abs(found.mean() / limit - (0.5 if limit > 2 else (limit - 1) / limit / 2)) < 0.1


def test_a_choice_follows_its_weights() -> None:
    counts = np.bincount(chosen(drawn(100_000), (70, 20, 0, 10)), minlength=4) / 1000
    assert np.allclose(counts, (70, 20, 0, 10), atol=1)


def test_so_many_of_a_million() -> None:
    assert abs(is_one_of(drawn(200_000), 5_000).sum() - 1_000) < 150


@pytest.mark.parametrize("count", [1, 2, 3, 1_000, 9_999_999])
def test_zipf_ranks_are_in_range_and_the_first_comes_most_often(count: int) -> None:
    ranks = zipf_ranks(drawn(50_000), count)
    assert 0 <= ranks.min() <= ranks.max() < count
    numbers, how_often = np.unique(ranks, return_counts=True)
    assert numbers[how_often.argmax()] == 0
    extreme = np.array([0, MASK], dtype=np.uint64)
    assert zipf_ranks(extreme, count).tolist() == [0, count - 1]
