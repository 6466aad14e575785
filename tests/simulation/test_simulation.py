"""Histories of a cluster that must keep what it promises; and faults that they have to find."""

import re

import pytest

from barnabas.wire import varint

from .planted import PLANTS, Plant
from .simulated import simulate
from .virtual_loop import Stuck, VirtualLoop

SPREAD = range(30)
PLANTED_SPREAD = range(100, 140)
COMPILED = not str(varint.__file__).endswith(".py")

pytestmark = pytest.mark.skipif(COMPILED, reason="a simulated channel is no compiled one")


@pytest.mark.parametrize("seed", SPREAD)
def test_a_history_ends_well(seed: int) -> None:
    outcome = simulate(seed)
    assert not outcome.faults, f"seed {seed}: {outcome.faults[0]}"


def test_a_seed_gives_the_same_history_each_time() -> None:
    outcome, again, another = simulate(1), simulate(1), simulate(2)
    assert outcome == again
    assert len(outcome.log) > 10
    assert another.digest != outcome.digest


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_a_planted_fault_is_found(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    faults = (fault for seed in PLANTED_SPREAD for fault in simulate(seed).faults)
    assert any(re.search(PLANTS[plant], fault) for fault in faults)


def test_what_goes_on_endlessly_is_a_fault() -> None:
    loop = VirtualLoop()

    def again() -> None:
        loop.call_soon(again)

    again()
    loop.bound(1_000)
    with pytest.raises(Stuck, match="endless"):
        loop.run_forever()
    loop.close()
