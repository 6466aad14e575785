"""Long work in slices, one in each pass of the loop."""

import asyncio
from collections.abc import Iterator
from itertools import pairwise

import pytest

from barnabas.server.core import slices
from barnabas.server.core.slices import Slices, Turnstile


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every part is a slice."""
    monkeypatch.setattr(slices, "SLICE_MS", -1.0)


def parts(done: list[int], count: int) -> Iterator[None]:
    for number in range(count):
        done.append(number)
        yield


def test_what_is_short_is_done_at_once() -> None:
    done: list[int] = []
    work = Slices()
    work.begin(parts(done, 3))
    assert done == [0, 1, 2] and not work.is_busy


@pytest.mark.usefixtures("short")
def test_others_have_their_turn_between_two_slices() -> None:
    async def others() -> list[list[int]]:
        done: list[int] = []
        work, seen = Slices(), []
        work.begin(parts(done, 3))
        while work.is_busy:
            seen.append(done.copy())
            await asyncio.sleep(0)
        return [*seen, done]

    assert asyncio.run(others()) == [[0], [0, 1], [0, 1, 2], [0, 1, 2]]


@pytest.mark.usefixtures("short")
def test_what_is_stopped_is_not_gone_on_with() -> None:
    async def stopped() -> list[int]:
        done: list[int] = []
        work = Slices()
        work.begin(parts(done, 3))
        work.stop()
        await asyncio.sleep(0)
        assert not work.is_busy
        return done

    assert asyncio.run(stopped()) == [0]


def test_thousands_go_on_a_few_in_each_pass() -> None:
    async def passes() -> list[int]:
        gate, through = Turnstile(3), []

        async def go(number: int) -> None:
            await gate.turn()
            through.append(number)

        tasks = [asyncio.create_task(go(number)) for number in range(10)]
        tasks[4].cancel()
        seen = []
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0)
            seen.append(len(through))
        await go(10)  # and nobody is held up by those before
        assert through == [0, 1, 2, 3, 5, 6, 7, 8, 9, 10]
        return seen

    seen = asyncio.run(passes())
    assert max(after - before for before, after in pairwise([0, *seen])) <= 3
