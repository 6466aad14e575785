"""Waiting in a coroutine: for an answer, for a time of the broker's clock, for either."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from barnabas.server.core.awaiting import Backoff, given, pause, within
from barnabas.server.core.clock import ManualClock
from barnabas.server.core.delayed import Deferred


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def play(scene: Callable[[ManualClock], Awaitable[None]]) -> None:
    async def run() -> None:
        clock = ManualClock()
        await scene(clock)
        assert clock.timer_count() == 0

    asyncio.run(run())


def begun(work: Awaitable[Any]) -> "asyncio.Future[Any]":
    return asyncio.ensure_future(work)


def test_an_answer_that_is_there_or_comes() -> None:
    async def scene(clock: ManualClock) -> None:
        deferred: Deferred[int] = Deferred()
        waiting = begun(given(deferred))
        await turns()
        assert not waiting.done()
        deferred.give(5)
        assert await waiting == await given(deferred) == 5

    play(scene)


def test_a_pause_is_as_long_as_the_clock_says() -> None:
    async def scene(clock: ManualClock) -> None:
        waiting = begun(pause(clock, 100))
        await turns()
        clock.advance(99)
        await turns()
        assert not waiting.done()
        clock.advance(1)
        await waiting

    play(scene)


def test_one_that_is_given_up_leaves_no_timer() -> None:
    async def scene(clock: ManualClock) -> None:
        waiting = begun(pause(clock, 100))
        await turns()
        waiting.cancel()
        await turns()

    play(scene)


def test_pauses_grow_up_to_the_longest() -> None:
    async def scene(clock: ManualClock) -> None:
        backoff = Backoff(clock, 10, 50)
        for delay_ms in (10, 20, 40, 50, 50):
            waiting = begun(backoff.wait())
            await turns()
            clock.advance(delay_ms - 1)
            await turns()
            assert not waiting.done()
            clock.advance(1)
            await waiting
        assert backoff.failures == 5

    play(scene)


def test_work_that_is_done_within_its_time() -> None:
    async def scene(clock: ManualClock) -> None:
        waiting = begun(within(clock, 100, pause(clock, 50)))
        await turns()
        clock.advance(50)
        await waiting

    play(scene)


def test_work_that_takes_longer_is_given_up() -> None:
    async def scene(clock: ManualClock) -> None:
        waiting = begun(within(clock, 100, pause(clock, 500)))
        await turns()
        clock.advance(100)
        with pytest.raises(TimeoutError):
            await waiting

    play(scene)


def test_who_gives_up_the_waiting_gives_up_the_work() -> None:
    async def scene(clock: ManualClock) -> None:
        waiting = begun(within(clock, 100, pause(clock, 500)))
        await turns()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    play(scene)


def test_the_error_of_the_work_is_its_own() -> None:
    async def fails() -> None:
        raise ValueError("wrong")

    async def scene(clock: ManualClock) -> None:
        with pytest.raises(ValueError, match="wrong"):
            await within(clock, 100, fails())

    play(scene)
