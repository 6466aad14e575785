"""Long work in turns: never two in one pass of the loop, and nothing of it is lost."""

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest

from barnabas.server.core.turns import Turns, each
from barnabas.storage.batch.steps import Steps, elsewhere

SHORTEST_NS = 1  # then every step is a turn


class Passes:
    """In which pass of the event loop we are."""

    def __init__(self) -> None:
        self.number = 0
        self._count()

    def _count(self) -> None:
        self.number += 1
        asyncio.get_running_loop().call_soon(self._count)


def on_a_loop(test: Callable[[], Awaitable[None]]) -> None:
    async def work() -> None:
        await test()

    asyncio.run(work())


def numbering(passes: Passes, seen: list[int], count: int) -> Steps[str]:
    for _ in range(count):
        seen.append(passes.number)
        yield
    return "done"


def test_what_is_short_is_done_at_once() -> None:
    async def test() -> None:
        turns, seen = Turns(), list[int]()
        assert turns.begin(numbering(Passes(), seen, 3))
        assert (len(seen), turns.interruptions) == (3, 0)

    on_a_loop(test)


def test_what_is_long_is_interrupted_and_goes_on() -> None:
    async def test() -> None:
        turns, seen = Turns(SHORTEST_NS), list[int]()
        work = numbering(Passes(), seen, 50)
        assert not turns.begin(work)
        assert await turns.run(work) == "done"
        assert len(seen) == 50
        assert turns.interruptions >= 49

    on_a_loop(test)


def test_one_long_call_is_made_in_a_thread_while_the_loop_goes_on() -> None:
    """It ends only after the loop has done something else."""

    async def test() -> None:
        turns, others = Turns(), threading.Event()

        def call() -> str:
            assert others.wait(30)
            return threading.current_thread().name

        def work() -> Steps[str]:
            yield
            return (yield from elsewhere(call))

        steps = work()
        assert not turns.begin(steps)
        task = asyncio.create_task(turns.run(steps))
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_soon(others.set)
        assert (await task).startswith("barnabas-codec")
        assert turns.made_elsewhere == 1
        turns.stop()

    on_a_loop(test)


def test_one_turn_is_taken_in_one_pass_of_the_loop_whoever_wants_it() -> None:
    async def test() -> None:
        turns, passes, seen = Turns(SHORTEST_NS), Passes(), list[int]()
        works = [turns.run(numbering(passes, seen, 20)) for _ in range(5)]
        assert await asyncio.gather(*works) == ["done"] * 5
        assert len(set(seen)) == len(seen) == 100
        # Each gets as much as the others: nobody waits for another's end.
        late = Turns(SHORTEST_NS)
        first, second = list[int](), list[int]()
        await asyncio.gather(
            late.run(numbering(passes, first, 10)), late.run(numbering(passes, second, 10))
        )
        assert abs(first[-1] - second[-1]) <= 5

    on_a_loop(test)


def test_a_pass_whose_turn_is_taken_begins_nothing_more() -> None:
    async def test() -> None:
        turns, passes, seen = Turns(SHORTEST_NS), Passes(), list[int]()
        assert not turns.begin(numbering(passes, seen, 2))
        assert not turns.begin(numbering(passes, seen, 2))
        assert len(seen) == 1
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not turns.begin(numbering(passes, seen, 2))
        assert len(seen) == 2

    on_a_loop(test)


def test_what_fails_does_so_to_who_asked_and_the_others_go_on() -> None:
    def failing() -> Steps[str]:
        yield
        yield
        raise LookupError("gone")

    async def test() -> None:
        turns, seen = Turns(SHORTEST_NS), list[int]()
        results = await asyncio.gather(
            turns.run(failing()),
            turns.run(numbering(Passes(), seen, 9)),
            return_exceptions=True,
        )
        assert isinstance(results[0], LookupError)
        assert results[1] == "done"
        with pytest.raises(LookupError):
            Turns().begin(failing())

    on_a_loop(test)


def test_a_cancelled_task_gives_its_turn_to_the_next() -> None:
    async def test() -> None:
        turns, passes, seen = Turns(SHORTEST_NS), Passes(), list[int]()
        tasks = [asyncio.create_task(turns.run(numbering(passes, seen, 30))) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        assert await tasks[0] == await tasks[2] == "done"
        assert tasks[1].cancelled()

    on_a_loop(test)


def test_a_coroutine_pauses_only_when_its_turn_is_over() -> None:
    async def test() -> None:
        turns, passes = Turns(), Passes()
        pauses = turns.pauses()
        begun = passes.number
        await pauses.pause()
        assert (passes.number, turns.interruptions) == (begun, 0)
        pauses._end_ns = 0
        await pauses.pause()
        assert passes.number > begun and turns.interruptions == 1

    on_a_loop(test)


def test_a_list_made_in_steps() -> None:
    steps = each([1, 2, 3], str)
    assert sum(1 for _ in steps) == 4

    async def test() -> None:
        assert await Turns().run(each([1, 2, 3], str)) == ["1", "2", "3"]
        assert await Turns().run(each([], str)) == []

    on_a_loop(test)
