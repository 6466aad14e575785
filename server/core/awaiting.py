"""Waiting in a coroutine for what the rest of the broker tells by a call: an answer, a time."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from barnabas.server.core.clock import Clock
from barnabas.server.core.delayed import Deferred

T = TypeVar("T")


async def given(deferred: Deferred[T]) -> T:
    """The answer of a `Deferred`, once it is there. Raises what making the answer raises."""
    if not deferred.done:
        there = asyncio.Event()
        deferred.then(lambda _: there.set())
        await there.wait()
    return deferred.answer()


async def pause(clock: Clock, delay_ms: float) -> None:
    """Let so many milliseconds of the broker's clock pass."""
    over = asyncio.Event()
    timer = clock.call_later(delay_ms, over.set)
    try:
        await over.wait()
    finally:
        timer.cancel()


class Backoff:
    """Growing pauses between tries of the same thing, on the broker's clock."""

    __slots__ = ("_clock", "_longest_ms", "_next_ms", "failures")

    def __init__(self, clock: Clock, first_ms: float, longest_ms: float) -> None:
        self._clock = clock
        self._next_ms = first_ms
        self._longest_ms = longest_ms
        self.failures = 0
        """How often it has been waited."""

    async def wait(self) -> None:
        """Wait before the next try; twice as long each time, up to the longest."""
        self.failures += 1
        delay_ms, self._next_ms = self._next_ms, min(self._next_ms * 2, self._longest_ms)
        await pause(self._clock, delay_ms)


async def within(clock: Clock, limit_ms: float, work: Awaitable[T]) -> T:
    """What the work comes to, by the broker's clock no later than that. Raises TimeoutError."""
    task = asyncio.ensure_future(work)
    timer = clock.call_later(limit_ms, task.cancel)
    try:
        return await task
    except asyncio.CancelledError:
        current = asyncio.current_task()
        if timer.active or (current is not None and current.cancelling()):
            raise
        raise TimeoutError(f"not within {limit_ms:g} ms") from None
    finally:
        timer.cancel()
