"""What many ask of one broker at a time goes in one request.

While a request is under way those that come wait together and are the next one: the more is asked,
the larger the requests, with no pause for gathering.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Final, Generic, TypeVar

from barnabas.server.core.errors import Unanswered

I = TypeVar("I")  # noqa: E741  # an item
R = TypeVar("R")
MOST_OF_A_BATCH: Final = 1_000
MOST_WAITING: Final = 100_000
"""Items that wait for one broker; more are refused."""

Send = Callable[[int, Sequence[I]], Awaitable[Sequence[R]]]
"""Asks a broker for all of these; what it answers for each, in their order. Raises Unanswered."""
_Waiting = list[tuple[I, asyncio.Future[R]]]


class Batches(Generic[I, R]):
    """What waits for each broker."""

    def __init__(self, send: "Send[I, R]", key_of: Callable[[I], Hashable]) -> None:
        """No request has two items of the same `key_of`, by which the answer tells them apart."""
        self._send = send
        self._key_of = key_of
        self._waiting: dict[int, _Waiting[I, R]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def ask(self, broker_id: int, item: I) -> R:
        """What the broker answers for one item. Raises what sending raises."""
        waiting = self._waiting.get(broker_id)
        if waiting is not None and len(waiting) >= MOST_WAITING:
            raise Unanswered(f"{MOST_WAITING} wait for broker {broker_id}")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[R] = loop.create_future()
        if waiting is not None:
            waiting.append((item, answer))
        else:
            self._waiting[broker_id] = [(item, answer)]
            task = loop.create_task(self._send_all(broker_id))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return await answer

    def stop(self) -> None:
        """Send nothing more; whoever waits is told."""
        for task in tuple(self._tasks):
            task.cancel()
        # Not left to the tasks: one that has not begun yet never will.
        waiting, self._waiting = self._waiting, {}
        for left in waiting.values():
            _fail(left, Unanswered("nothing more is sent"))

    async def _send_all(self, broker_id: int) -> None:
        """Send until nothing waits."""
        while batch := self._take(broker_id):
            await self._send_batch(broker_id, batch)
        del self._waiting[broker_id]

    async def _send_batch(self, broker_id: int, batch: "_Waiting[I, R]") -> None:
        try:
            answers = await self._send(broker_id, [item for item, _ in batch])
            given = list(zip(batch, answers, strict=True))
        except asyncio.CancelledError:
            _fail(batch, Unanswered("nothing more is sent"))
            raise
        except Exception as error:
            _fail(batch, error)
            return
        for (_, answer), result in given:
            if not answer.done():  # else nobody waits for it any more
                answer.set_result(result)

    def _take(self, broker_id: int) -> "_Waiting[I, R]":
        """The next batch; what cannot be in it goes on waiting."""
        batch: _Waiting[I, R] = []
        left: _Waiting[I, R] = []
        keys: set[Hashable] = set()
        for item, answer in self._waiting[broker_id]:
            if answer.done():
                continue
            key = self._key_of(item)
            if key in keys or len(batch) == MOST_OF_A_BATCH:
                left.append((item, answer))
            else:
                keys.add(key)
                batch.append((item, answer))
        self._waiting[broker_id] = left
        return batch


def _fail(batch: "_Waiting[I, R]", error: Exception) -> None:
    for _, answer in batch:
        if not answer.done():
            answer.set_exception(error)
