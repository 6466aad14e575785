"""Lines between brokers that are cut: nobody is told, and what has waited arrives when healed."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from barnabas.server.core.clock import ManualClock
from barnabas.server.core.errors import Unanswered
from barnabas.server.network.reactor import new_event_loop
from barnabas.server.peers.peer import LONGEST_PAUSE_MS
from barnabas.server.peers.peers import Peers
from barnabas.server.testing.cuts import Cuts, Direction, Line
from barnabas.wire.connection import Request
from barnabas.wire.messages.write_txn_markers import (
    WritableTxnMarkerResult,
    WriteTxnMarkersResponse,
)
from tests.server.peers.other_broker import Answer, OtherBroker
from tests.server.transactions.open_transactions import marker, request_of
from tests.server.waiting import eventually

OTHER_ID = 1
TIMEOUT_MS = 30_000


class Scene:
    """A broker that asks another one over a line."""

    def __init__(self) -> None:
        self.clock, self.cuts = ManualClock(), Cuts()
        self.other = OtherBroker(self._answer)
        self.asked: list[int] = []
        self.peers = Peers(
            lambda _: self.other.address, "broker-0-test", self.clock, lambda: TIMEOUT_MS,
            self.cuts.dial,
        )  # fmt: skip

    @property
    def line(self) -> Line:
        return self.cuts.lines[OTHER_ID]

    def ask(self, number: int) -> "asyncio.Task[Any]":
        """Ask; the other broker answers the number."""
        request = request_of(marker([("t", 0)], number))
        return asyncio.ensure_future(self.peers.send(OTHER_ID, request, (0, 1)))

    async def asks(self, number: int) -> int:
        return answered(await self.ask(number))

    def _answer(self, request: Request) -> Answer:
        asked: Any = request.message()
        numbers = [each.producer_id for each in asked.markers]
        self.asked += numbers
        results = [WritableTxnMarkerResult(producer_id=number) for number in numbers]
        return WriteTxnMarkersResponse(markers=results)


def answered(response: Any) -> int:
    return int(response.markers[0].producer_id)


@contextlib.asynccontextmanager
async def scene() -> AsyncIterator[Scene]:
    made = Scene()
    await made.other.start()
    try:
        yield made
    finally:
        made.line.heal("both")
        made.peers.close()
        await made.other.stop()


def play(work: Callable[[Scene], Awaitable[None]]) -> None:
    async def run() -> None:
        async with scene() as made:
            await work(made)

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(run())


async def some_turns() -> None:
    """What can happen by itself has happened: a round trip through the other's sockets."""
    async with scene() as elsewhere:
        for number in range(3):
            await elsewhere.asks(number)


@pytest.mark.parametrize("direction", ["to", "both"])
def test_what_is_sent_arrives_in_order_when_the_line_is_healed(direction: Direction) -> None:
    async def work(scene: Scene) -> None:
        assert await scene.asks(1) == 1
        scene.line.cut(direction)
        waiting = [scene.ask(number) for number in (2, 3)]
        await some_turns()
        assert scene.asked == [1] and not any(each.done() for each in waiting)
        scene.line.heal("both")
        assert [answered(each) for each in await asyncio.gather(*waiting)] == [2, 3]
        assert scene.asked == [1, 2, 3] and scene.other.connections == 1

    play(work)


def test_an_answer_does_not_arrive_over_a_line_that_is_cut_the_other_way() -> None:
    async def work(scene: Scene) -> None:
        assert await scene.asks(1) == 1
        scene.line.cut("from")
        waiting = scene.ask(2)
        await eventually(lambda: scene.asked == [1, 2])
        await some_turns()
        assert not waiting.done(), "it was carried out, and nobody here knows"
        scene.line.heal("to")
        await some_turns()
        assert not waiting.done(), "that direction was not cut"
        scene.line.heal("from")
        assert answered(await waiting) == 2

    play(work)


def test_an_answer_that_is_on_its_way_is_stopped_too() -> None:
    async def work(scene: Scene) -> None:
        assert await scene.asks(1) == 1
        answer = scene.other.answer

        def as_the_line_is_cut(request: Request) -> Answer:
            scene.line.cut("both")
            return answer(request)

        scene.other.answer = as_the_line_is_cut
        waiting = scene.ask(2)
        await eventually(lambda: scene.asked == [1, 2])
        await some_turns()
        assert not waiting.done()
        scene.line.heal("both")
        assert answered(await waiting) == 2

    play(work)


def test_who_gives_up_is_not_heard_any_more() -> None:
    async def work(scene: Scene) -> None:
        assert await scene.asks(1) == 1
        scene.line.cut("to")
        waiting = scene.ask(2)
        await some_turns()
        scene.clock.advance(TIMEOUT_MS)
        with pytest.raises(Unanswered, match="no answer for 30000 ms"):
            await waiting
        scene.line.heal("to")
        await some_turns()
        assert scene.asked == [1]
        assert await scene.asks(3) == 3

    play(work)


@pytest.mark.parametrize("direction", ["to", "from", "both"])
def test_a_connection_takes_both_directions(direction: Direction) -> None:
    async def work(scene: Scene) -> None:
        scene.line.cut(direction)
        waiting = scene.ask(1)
        await some_turns()
        assert scene.other.connections == 0
        scene.line.heal(direction)
        assert answered(await waiting) == 1

    play(work)


def test_a_connection_that_waits_for_its_line_is_given_up_in_time() -> None:
    async def work(scene: Scene) -> None:
        scene.line.cut("both")
        waiting = scene.ask(1)
        await some_turns()
        scene.clock.advance(TIMEOUT_MS)
        with pytest.raises(Unanswered, match="cannot connect"):
            await waiting

    play(work)


def test_a_line_that_resets_tells_at_once() -> None:
    async def work(scene: Scene) -> None:
        assert await scene.asks(1) == 1
        scene.line.cut("from")
        waiting = scene.ask(2)
        await eventually(lambda: scene.asked == [1, 2])
        scene.line.cut("both", resets=True)
        with pytest.raises(Unanswered, match="the line is cut"):
            await waiting
        with pytest.raises(Unanswered, match="cannot connect"):
            await scene.ask(3)
        scene.line.heal("both")
        scene.clock.advance(LONGEST_PAUSE_MS)
        assert await scene.asks(4) == 4
        assert scene.asked == [1, 2, 4]

    play(work)


def test_the_other_brokers_end_is_not_heard_either() -> None:
    async def work(scene: Scene) -> None:
        assert await scene.asks(1) == 1
        scene.line.cut("from")
        waiting = scene.ask(2)
        await eventually(lambda: scene.asked == [1, 2])
        scene.other.hang_up()
        await some_turns()
        assert not waiting.done()
        scene.line.heal("from")
        assert answered(await waiting) == 2, "the answer was sent before"

    play(work)
