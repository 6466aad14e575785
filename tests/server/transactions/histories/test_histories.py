"""Histories of transactional ids, some seeds; `scripts/crash --transactions` lives thousands."""

import pytest

from .workload import live

STEPS = 80


@pytest.mark.parametrize("seed", range(40))
def test_a_history_keeps_every_promise(seed: int) -> None:
    live(seed, STEPS)


def test_histories_have_all_that_can_happen() -> None:
    said = "\n".join(line for seed in range(12) for line in live(seed, STEPS).said)
    for event in (
        "crash", "the coordinator moves", "markers: they do not arrive",
        "markers: they are written, the answer is lost", "markers: nobody leads",
        "PRODUCER_FENCED", "CONCURRENT_TRANSACTIONS", "INVALID_TXN_STATE",
        "INVALID_PRODUCER_ID_MAPPING", "transaction.version 0", "691200000 ms pass",
    ):  # fmt: skip
        assert event in said
