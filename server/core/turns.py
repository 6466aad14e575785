"""Work that is long is done in turns: between two of them everybody else is served.

Decoding a request of 100,000 partitions, answering it and encoding the answer takes a second of
the only thread there is. Each is written as steps, a generator that yields wherever it may be
interrupted, every few microseconds' or at most a millisecond's work:

    steps ── first turn at once ──> done                       what is short never waits
                  │
                  └─ not done: a task ── one turn ── ... ──> done      one turn per pass of the loop

A step that is one long call of a library, which lets go of the interpreter (a codec's, see
`storage/batch/steps.py`), is made in a thread.

Meanwhile the garbage collector leaves its oldest generation alone: a full collection looks at every
object there is, those of the large request first, and each takes longer than a turn may.

Of all that is long together, one turn is taken per pass of the event loop, in the order of asking:
a hundred clients with large requests hold up a small one no longer than a single client does.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, Final, Generic, TypeVar

from barnabas.server.core.collector import COLLECTOR
from barnabas.storage.batch.steps import Elsewhere, Steps

__all__ = ["Pauses", "Sliced", "Steps", "Turns", "Waiting", "each", "together"]

TURN_NS: Final = 4_000_000
TOGETHER: Final = 32
THREADS: Final = 2

A = TypeVar("A")
T = TypeVar("T")
Waiting = Generator[Any, None, T]
"""Steps that may have to wait: until it is done they yield, again and again, what they wait for: a
future, or a call that is made in a thread (`Elsewhere`)."""


class Sliced(Generic[T]):
    """What a handler returns whose answer is made in steps; they return the answer."""

    __slots__ = ("steps",)

    def __init__(self, steps: Waiting[T]) -> None:
        self.steps = steps


def each(items: Iterable[A], make: Callable[[A], T]) -> Steps[list[T]]:
    """`make` of every item: a list, made in steps."""
    made = []
    for item in items:
        made.append(make(item))
        yield
    yield  # no items are a step, too: there may be many lists of none
    return made


async def together(pauses: "Pauses", works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """What the coroutines return, in order; a few at a time are under way."""
    results: list[T] = []
    waiting = iter(works)
    while some := tuple(islice(waiting, TOGETHER)):
        results += await asyncio.gather(*some)
        await pauses.pause()
    return results


class Turns:
    """Whose turn it is; one per broker."""

    def __init__(self, turn_ns: int = TURN_NS) -> None:
        # How often work was interrupted so far.
        self.interruptions = 0
        # How many steps were made in a thread so far.
        self.made_elsewhere = 0
        self._threads: ThreadPoolExecutor | None = None
        self._turn_ns = turn_ns
        # What this pass of the loop has spent; somebody asks for the next pass once that is all.
        self._spent_ns = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_granting = False

    def begin(self, steps: Waiting[object]) -> bool:
        """Take the steps that fit into this pass of the loop; whether those were all."""
        if self._spent_ns >= self._turn_ns:
            return False
        begun_ns = now_ns = time.perf_counter_ns()
        end_ns = begun_ns + self._turn_ns - self._spent_ns
        try:
            for awaited in steps:
                now_ns = time.perf_counter_ns()
                if now_ns >= end_ns or awaited is not None:
                    self.interruptions += 1
                    return False
            now_ns = time.perf_counter_ns()
            return True
        finally:
            self._spend(now_ns - begun_ns)

    async def run(self, steps: Waiting[T]) -> T:
        """Take all the steps, turn by turn; what they return."""
        with COLLECTOR.no_full_collections():
            return await self._run(steps)

    async def _run(self, steps: Waiting[T]) -> T:
        while True:
            if self._spent_ns >= self._turn_ns or self._waiting:
                await self._granted()
            begun_ns = time.perf_counter_ns()
            end_ns = begun_ns + self._turn_ns
            try:
                awaited = next(steps)
                while awaited is None and time.perf_counter_ns() < end_ns:
                    awaited = next(steps)
            except StopIteration as stop:
                result: T = stop.value
                return result
            finally:
                self._spend(time.perf_counter_ns() - begun_ns)
            self.interruptions += 1
            if isinstance(awaited, Elsewhere):
                await self._make_elsewhere(awaited)
            elif awaited is not None:
                await awaited

    async def _make_elsewhere(self, call: Elsewhere[Any]) -> None:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(THREADS, "barnabas-codec")
        self.made_elsewhere += 1
        await asyncio.get_running_loop().run_in_executor(self._threads, call.make)

    def stop(self) -> None:
        """Begin nothing more elsewhere; what has begun ends first."""
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
            self._threads = None

    def pauses(self) -> "Pauses":
        """For a coroutine that may go on for long without waiting for anything."""
        return Pauses(self)

    def _spend(self, spent_ns: int) -> None:
        had_time = self._spent_ns < self._turn_ns
        self._spent_ns += spent_ns
        if had_time and self._spent_ns >= self._turn_ns:
            asyncio.get_running_loop().call_soon(self._next_pass)

    def _next_pass(self) -> None:
        self._spent_ns = 0

    async def _granted(self) -> None:
        """Wait for a pass of the loop in which nobody else has a turn."""
        loop = asyncio.get_running_loop()
        mine: asyncio.Future[None] = loop.create_future()
        self._waiting.append(mine)
        if not self._is_granting:
            self._is_granting = True
            loop.call_soon(self._grant)
        await mine

    def _grant(self) -> None:
        while self._waiting:
            first = self._waiting.popleft()
            if not first.done():  # else its task was cancelled
                first.set_result(None)
                break
        self._is_granting = bool(self._waiting)
        if self._is_granting:
            asyncio.get_running_loop().call_soon(self._grant)


class Pauses:
    """Where a coroutine that works for long lets others have their turn."""

    __slots__ = ("_end_ns", "_turns", "were_taken")

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        # Whether others have had a turn.
        self.were_taken = False
        self._end_ns = time.perf_counter_ns() + TURN_NS

    async def pause(self) -> None:
        """To be awaited every few items: returns at once until a turn is over."""
        if time.perf_counter_ns() >= self._end_ns:
            self._turns.interruptions += 1
            self.were_taken = True
            await self._turns._granted()
            self._end_ns = time.perf_counter_ns() + TURN_NS
