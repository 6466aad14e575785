"""Long work in slices, one in each pass of the loop."""

import asyncio
from collections.abc import Iterator

import pytest

from barnabas.server.core import slices
from barnabas.server.core.slices import Slices


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
