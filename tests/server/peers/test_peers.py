"""Other brokers are asked over one connection each; what cannot be had now is said at once."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from barnabas.server.core.clock import ManualClock
from barnabas.server.core.errors import Unanswered
from barnabas.server.network.reactor import new_event_loop
from barnabas.server.peers.dialing import dial
from barnabas.server.peers.link import (
    LARGE_BYTES,
    MOST_UNANSWERED,
    SMALL_READS,
    Unsupported,
)
from barnabas.server.peers.peer import FIRST_PAUSE_MS, LONGEST_PAUSE_MS, Address
from barnabas.server.peers.peers import Peers
from barnabas.wire.api import ApiKey
from barnabas.wire.connection import Request
from barnabas.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from barnabas.wire.messages.write_txn_markers import (
    WritableTxnMarkerResult,
    WriteTxnMarkersResponse,
)
from tests.server.peers.other_broker import Answer, OtherBroker
from tests.server.transactions.open_transactions import marker, request_of
from tests.server.waiting import eventually

OTHER_ID = 1
TIMEOUT_MS = 30_000
ANY = (0, 2)


def echo(request: Request) -> Answer:
    """Name the producers of the markers."""
    asked: Any = request.message()
    results = [WritableTxnMarkerResult(producer_id=each.producer_id) for each in asked.markers]
    return WriteTxnMarkersResponse(markers=results)


class Scene:
    """One broker that asks, one that is asked, and a clock that stands still."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.other = OtherBroker(echo)
        self.is_live = True
        self.peers = Peers(self._find, "broker-0-test", self.clock, lambda: TIMEOUT_MS, dial)

    def _find(self, broker_id: int) -> Address | None:
        return self.other.address if self.is_live and broker_id == OTHER_ID else None

    async def ask(self, producer_id: int = 7, versions: tuple[int, int] = ANY) -> int:
        """Ask; the producer of whose marker the answer tells."""
        request = request_of(marker([("t", 0)], producer_id))
        answer = await self.peers.send(OTHER_ID, request, versions)
        return int(answer.markers[0].producer_id)


@contextlib.asynccontextmanager
async def scene() -> AsyncIterator[Scene]:
    made = Scene()
    await made.other.start()
    try:
        yield made
    finally:
        made.peers.close()
        await made.other.stop()


def play(work: Callable[[Scene], Awaitable[None]]) -> None:
    """Run one scene, on the loop that brokers run on."""

    async def run() -> None:
        async with scene() as made:
            await work(made)

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(run())


def test_many_requests_share_a_connection_and_come_in_order() -> None:
    async def work(scene: Scene) -> None:
        kept: list[Any] = []

        def keep(request: Request) -> Answer:
            kept.append(request.message())
            return echo(request)

        scene.other.answer = keep
        answers = await asyncio.gather(*(scene.ask(number) for number in range(50)))
        assert answers == list(range(50))
        assert [each.markers[0].producer_id for each in kept] == list(range(50))
        assert scene.other.connections == 1
        assert scene.other.requests[0].header.client_id == "broker-0-test"
        assert scene.clock.timer_count() == 0

    play(work)


@pytest.mark.parametrize(
    ("wanted", "served", "version"),
    [((0, 2), (0, 1), 1), ((0, 2), (0, 9), 2), ((0, 2), (1, 2), 2), ((0, 0), (0, 1), 0)],
)
def test_the_latest_version_that_both_know(
    wanted: tuple[int, int], served: tuple[int, int], version: int
) -> None:
    async def work(scene: Scene) -> None:
        scene.other.served[ApiKey.WRITE_TXN_MARKERS] = served
        await scene.ask(versions=wanted)
        assert scene.other.requests[0].header.api_version == version

    play(work)


def test_a_broker_that_serves_no_such_version_is_told_apart() -> None:
    async def work(scene: Scene) -> None:
        scene.other.served[ApiKey.ADD_PARTITIONS_TO_TXN] = (0, 3)
        with pytest.raises(Unsupported):
            await scene.peers.send(OTHER_ID, AddPartitionsToTxnRequest(), (4, 5))
        assert await scene.ask() == 7, "the connection is as good as before"
        assert scene.other.connections == 1

    play(work)


def test_a_broker_that_is_not_live_is_not_asked() -> None:
    async def work(scene: Scene) -> None:
        await scene.ask()
        scene.is_live = False
        with pytest.raises(Unanswered, match="not live"):
            await scene.ask()
        scene.is_live = True
        await scene.ask()
        assert scene.other.connections == 2

    play(work)


def test_a_broker_with_another_address_is_asked_there() -> None:
    async def work(scene: Scene) -> None:
        await scene.ask()
        moved = OtherBroker(echo)
        await moved.start()
        old, scene.other = scene.other, moved
        await scene.ask()
        assert (old.connections, moved.connections) == (1, 1)
        await old.stop()

    play(work)


def test_an_answer_that_does_not_come_ends_the_connection_by_the_clock() -> None:
    async def work(scene: Scene) -> None:
        scene.other.answer = lambda request: None
        asked = [asyncio.ensure_future(scene.ask(number)) for number in range(3)]
        await eventually(lambda: len(scene.other.requests) == 3)
        scene.clock.advance(TIMEOUT_MS - 1)
        assert not any(each.done() for each in asked)
        scene.clock.advance(1)
        lost = await asyncio.gather(*asked, return_exceptions=True)
        assert all(isinstance(each, Unanswered) for each in lost)
        assert scene.clock.timer_count() == 0

    play(work)


def test_a_broker_that_does_not_say_its_versions_is_given_up_by_the_clock() -> None:
    async def work(scene: Scene) -> None:
        scene.other.says_versions = False
        asked = asyncio.ensure_future(scene.ask())
        await eventually(lambda: scene.other.connections == 1)
        await eventually(lambda: scene.clock.timer_count() > 0)
        while not asked.done():
            scene.clock.advance(TIMEOUT_MS)
            await asyncio.sleep(0)
        with pytest.raises(Unanswered):
            await asked

    play(work)


@pytest.mark.parametrize(
    "data", [b"", b"\x00\x00\x00\x02xx", b"\xff\xff\xff\xff", b"\x00\x00\x00\x04\x00\x00\x7f\x7f"]
)
def test_a_connection_that_breaks_loses_what_is_under_way(data: bytes) -> None:
    """Ended, or with bytes that nobody can read."""

    async def work(scene: Scene) -> None:
        scene.other.answer = lambda request: None
        asked = asyncio.ensure_future(scene.ask())
        await eventually(lambda: bool(scene.other.requests))
        scene.other.send(data) if data else scene.other.hang_up()
        with pytest.raises(Unanswered):
            await asked
        scene.other.answer = echo
        scene.clock.advance(LONGEST_PAUSE_MS)
        assert await scene.ask() == 7

    play(work)


def test_a_broker_that_refuses_connections_is_tried_with_growing_pauses() -> None:
    async def work(scene: Scene) -> None:
        await scene.other.stop()
        pause_ms = FIRST_PAUSE_MS
        for _ in range(8):
            with pytest.raises(Unanswered, match="cannot connect"):
                await scene.ask()
            scene.clock.advance(pause_ms - 1)
            with pytest.raises(Unanswered, match="just now"):
                await scene.ask()
            scene.clock.advance(1)
            pause_ms = min(pause_ms * 2, LONGEST_PAUSE_MS)
        await scene.other.start()
        assert await scene.ask() == 7

    play(work)


def test_a_connection_that_was_of_use_is_opened_again_at_once() -> None:
    """As after `connections.max.idle.ms`."""

    async def work(scene: Scene) -> None:
        for connections in (1, 2, 3):
            assert await scene.ask() == 7
            assert scene.other.connections == connections
            link = scene.peers._peers[OTHER_ID]._link
            assert link is not None
            scene.other.hang_up()
            await eventually(lambda link=link: not link.is_open)  # type: ignore[misc]

    play(work)


def test_what_one_broker_leaves_unanswered_is_bounded() -> None:
    async def work(scene: Scene) -> None:
        scene.other.answer = lambda request: None
        asked = [asyncio.ensure_future(scene.ask()) for _ in range(3 * MOST_UNANSWERED)]
        await eventually(lambda: len(scene.other.requests) == MOST_UNANSWERED)
        await eventually(lambda: sum(each.done() for each in asked) == 2 * MOST_UNANSWERED)
        scene.peers.close()
        lost = await asyncio.gather(*asked, return_exceptions=True)
        assert all(isinstance(each, Unanswered) for each in lost)

    play(work)


def test_who_gives_up_does_not_disturb_the_others() -> None:
    async def work(scene: Scene) -> None:
        await scene.ask()
        first, second = (asyncio.ensure_future(scene.ask(number)) for number in (1, 2))
        await asyncio.sleep(0)
        first.cancel()
        assert await second == 2
        assert scene.other.connections == 1

    play(work)


def test_who_gives_up_while_connecting_leaves_that_to_the_next() -> None:
    async def work(scene: Scene) -> None:
        first, second = (asyncio.ensure_future(scene.ask(number)) for number in (1, 2))
        await asyncio.sleep(0)
        first.cancel()
        assert await second == 2

    play(work)


def test_what_is_said_unasked_ends_the_connection_and_touches_no_answer() -> None:
    async def work(scene: Scene) -> None:
        assert await scene.ask() == 7
        link = scene.peers._peers[OTHER_ID]._link
        assert link is not None
        answer = bytes(link._frames._view)
        scene.other.send(b"\0\0\0\4more")
        await eventually(lambda: not link.is_open)
        assert bytes(link._frames._view) == answer

    play(work)


def test_a_large_answer_does_not_keep_its_memory_when_small_ones_follow() -> None:
    async def work(scene: Scene) -> None:
        results = [WritableTxnMarkerResult(producer_id=7) for _ in range(200_000)]
        large = WriteTxnMarkersResponse(markers=results)
        scene.other.answer = lambda _: large
        await scene.ask()
        link = scene.peers._peers[OTHER_ID]._link
        assert link is not None and link._frames.capacity_bytes > LARGE_BYTES
        scene.other.answer = echo
        for _ in range(SMALL_READS + 1):
            await scene.ask()
        assert link._frames.capacity_bytes < LARGE_BYTES
        assert scene.other.connections == 1

    play(work)
