"""What many ask at a time goes in one request."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from barnabas.server.core.errors import Unanswered
from barnabas.server.peers.batches import MOST_OF_A_BATCH, Batches

OTHER = 1


class Sent:
    """Requests that were sent; each is answered when the test says so."""

    def __init__(self) -> None:
        self.requests: list[tuple[int, list[int]]] = []
        self.gate = asyncio.Event()
        self.errors: list[Exception] = []

    async def send(self, broker_id: int, items: Sequence[int]) -> Sequence[int]:
        self.requests.append((broker_id, list(items)))
        await self.gate.wait()
        if self.errors:
            raise self.errors.pop(0)
        return [item * 10 for item in items]


def play(scene: Callable[[Sent, "Batches[int, int]"], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        sent = Sent()
        batches: Batches[int, int] = Batches(sent.send, lambda item: item % 1000)
        await scene(sent, batches)
        batches.stop()
        await asyncio.sleep(0)

    asyncio.run(run())


async def begin(
    batches: "Batches[int, int]", *items: int, broker_id: int = OTHER
) -> "list[asyncio.Task[int]]":
    tasks = [asyncio.create_task(batches.ask(broker_id, item)) for item in items]
    for _ in range(3):
        await asyncio.sleep(0)
    return tasks


def test_what_comes_meanwhile_is_the_next_request() -> None:
    async def scene(sent: Sent, batches: "Batches[int, int]") -> None:
        tasks = await begin(batches, 1)
        tasks += await begin(batches, 2, 3)
        tasks += await begin(batches, 4)
        assert sent.requests == [(OTHER, [1])]
        sent.gate.set()
        assert await asyncio.gather(*tasks) == [10, 20, 30, 40]
        assert sent.requests == [(OTHER, [1]), (OTHER, [2, 3, 4])]
        assert await asyncio.gather(*await begin(batches, 5)) == [50]

    play(scene)


def test_brokers_do_not_wait_for_each_other() -> None:
    async def scene(sent: Sent, batches: "Batches[int, int]") -> None:
        tasks = await begin(batches, 1)
        tasks += await begin(batches, 2, broker_id=2)
        assert sent.requests == [(OTHER, [1]), (2, [2])]
        sent.gate.set()
        assert await asyncio.gather(*tasks) == [10, 20]

    play(scene)


def test_what_an_answer_cannot_tell_apart_goes_in_two_requests() -> None:
    async def scene(sent: Sent, batches: "Batches[int, int]") -> None:
        tasks = await begin(batches, 1, 5, 1005, 6)
        sent.gate.set()
        assert await asyncio.gather(*tasks) == [10, 50, 10050, 60]
        assert [items for _, items in sent.requests] == [[1, 5, 6], [1005]]

    play(scene)


def test_a_request_is_bounded() -> None:
    async def scene(sent: Sent, batches: "Batches[int, int]") -> None:
        sent.gate.set()
        tasks = await begin(batches, *range(MOST_OF_A_BATCH + 7))
        await asyncio.gather(*tasks)
        assert max(len(items) for _, items in sent.requests) <= MOST_OF_A_BATCH

    play(scene)


@pytest.mark.parametrize("error", [Unanswered("lost"), RuntimeError("a bug")])
def test_an_error_is_that_of_its_request_alone(error: Exception) -> None:
    async def scene(sent: Sent, batches: "Batches[int, int]") -> None:
        sent.errors.append(error)
        first = await begin(batches, 1, 2)
        second = await begin(batches, 3)
        sent.gate.set()
        assert await asyncio.gather(*first, return_exceptions=True) == [error, error]
        assert await asyncio.gather(*second) == [30]

    play(scene)


def test_who_gives_up_is_not_asked_for() -> None:
    async def scene(sent: Sent, batches: "Batches[int, int]") -> None:
        first = await begin(batches, 1)
        gone, stays = await begin(batches, 2, 3)
        gone.cancel()
        sent.gate.set()
        assert await asyncio.gather(*first, stays) == [10, 30]
        assert [items for _, items in sent.requests] == [[1], [3]]

    play(scene)


def test_the_end_is_told_to_all_who_wait() -> None:
    async def scene(sent: Sent, batches: "Batches[int, int]") -> None:
        tasks = await begin(batches, 1) + await begin(batches, 2)
        batches.stop()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(each, Unanswered) for each in ends)

    play(scene)


def test_the_end_is_told_to_who_waits_for_what_has_not_begun() -> None:
    async def scene(sent: Sent, batches: "Batches[int, int]") -> None:
        task = asyncio.create_task(batches.ask(OTHER, 1))
        await asyncio.sleep(0)  # it has asked, and nothing has run since
        batches.stop()
        done, _ = await asyncio.wait([task], timeout=10)
        assert done and isinstance(task.exception(), Unanswered)
        assert sent.requests == []

    play(scene)
