"""Events are served until they succeed, and none waits for one that does not."""

import asyncio
import io
from collections.abc import Awaitable, Callable

import pytest

from barnabas.server.controller.retried_events import (
    FIRST_PAUSE_MS,
    LONGEST_PAUSE_MS,
    RetriedEvents,
)
from barnabas.server.core.clock import ManualClock
from barnabas.server.core.errors import ApiError
from barnabas.server.observing.logs import Logs
from barnabas.server.registry.errors import ControllerMoved
from barnabas.server.registry.znodes.store import StoreFailed
from barnabas.wire.error_codes import ErrorCode


class World:
    """A queue, its clock and what it logs; events that fail as often as wanted."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.logged = io.StringIO()
        self.moved: list[ControllerMoved] = []
        log = Logs("debug", self.logged).room("controller")
        self.events = RetriedEvents(self.clock, log, self.moved.append)
        self.served: list[str] = []

    def event(self, name: str, *failures: Exception) -> Callable[[], Awaitable[None]]:
        left = list(failures)

        async def serve() -> None:
            self.served.append(name)
            if left:
                raise left.pop(0)

        return serve

    async def turn(self) -> None:
        """Let the queue do all it can without time going by."""
        for _ in range(10):
            await asyncio.sleep(0)


def run(scene: Callable[[World], Awaitable[None]]) -> None:
    async def play() -> None:
        world = World()
        world.events.start()
        await scene(world)
        await world.events.stop()

    asyncio.run(play())


@pytest.mark.parametrize("failure", [StoreFailed("/x"), OSError("no"), ValueError("a bug")])
def test_an_event_that_fails_is_said_once_and_served_again(failure: Exception) -> None:
    async def scene(world: World) -> None:
        world.events.put("count sheep", world.event("sheep", failure, failure))
        world.events.put("next", world.event("next"))
        await world.turn()
        assert world.served == ["sheep", "next"]
        world.clock.advance(FIRST_PAUSE_MS)
        await world.turn()
        world.clock.advance(2 * FIRST_PAUSE_MS)
        await world.turn()
        assert world.served == ["sheep", "next", "sheep", "sheep"]
        assert world.logged.getvalue().count("ERROR") == 1
        assert 'event="count sheep"' in world.logged.getvalue()
        assert ("Traceback" in world.logged.getvalue()) is isinstance(
            failure, (OSError, ValueError)
        )

    run(scene)


def test_what_another_controller_has_been_elected_for_is_no_error() -> None:
    """Brokers may know it first; the office is lost by what the registry says."""

    async def scene(world: World) -> None:
        stale = ApiError(ErrorCode.STALE_CONTROLLER_EPOCH)
        world.events.put("count sheep", world.event("sheep", stale))
        await world.turn()
        assert "WARN controller a broker obeys another controller" in world.logged.getvalue()
        world.clock.advance(FIRST_PAUSE_MS)
        await world.turn()
        assert (world.served, world.moved) == (["sheep", "sheep"], [])

    run(scene)


def test_pauses_grow_to_a_limit() -> None:
    async def scene(world: World) -> None:
        world.events.put("fail", world.event("fail", *[StoreFailed("/x")] * 12))
        await world.turn()
        for failures in range(12):
            pause_ms = min(FIRST_PAUSE_MS * 2**failures, LONGEST_PAUSE_MS)
            world.clock.advance(pause_ms - 1)
            await world.turn()
            assert len(world.served) == failures + 1
            world.clock.advance(1)
            await world.turn()
        assert len(world.served) == 13 and world.clock.timer_count() == 0

    run(scene)


def test_what_failed_is_served_at_once_when_its_reason_may_be_over() -> None:
    async def scene(world: World) -> None:
        failures = [StoreFailed("/x")] * 5
        world.events.put("one", world.event("one", *failures))
        world.events.put("two", world.event("two", *failures))
        for _ in range(3):
            await world.turn()
            world.events.hurry()
        await world.turn()
        assert world.served == ["one", "two"] * 4
        assert world.clock.timer_count() == 2  # the pauses go on where they were
        world.clock.advance(8 * FIRST_PAUSE_MS - 1)
        await world.turn()
        assert world.served == ["one", "two"] * 4

    run(scene)


def test_a_lost_office_is_told_and_not_retried() -> None:
    async def scene(world: World) -> None:
        world.events.put("write", world.event("write", ControllerMoved("x")))
        world.events.put("next", world.event("next"))
        await world.turn()
        assert len(world.moved) == 1 and world.served == ["write", "next"]
        assert world.clock.timer_count() == 0

    run(scene)


def test_what_is_cleared_or_stopped_comes_never_again() -> None:
    async def scene(world: World) -> None:
        world.events.put("fail", world.event("fail", StoreFailed("/x")))
        await world.turn()
        world.events.put("wait", world.event("wait"))
        world.events.clear()
        world.clock.advance("1 day")
        await world.turn()
        assert world.served == ["fail"]

    run(scene)


def test_what_is_asked_is_done_in_its_turn_and_once() -> None:
    async def scene(world: World) -> None:
        world.events.put("first", world.event("first"))

        async def count() -> int:
            return len(world.served)

        assert await world.events.ask("how many", count) == 1
        with pytest.raises(ValueError, match="a bug"):
            await world.events.ask("fail", world.event("asked", ValueError("a bug")))
        world.clock.advance(LONGEST_PAUSE_MS)
        await world.turn()
        assert world.served == ["first", "asked"]
        assert not world.logged.getvalue()

    run(scene)


def test_what_is_asked_of_a_controller_that_has_moved_says_so() -> None:
    async def scene(world: World) -> None:
        with pytest.raises(ControllerMoved, match="another"):
            await world.events.ask("write", world.event("w", ControllerMoved("another")))
        assert len(world.moved) == 1
        begun, goes_on = asyncio.Event(), asyncio.Event()

        async def wait() -> None:
            begun.set()
            await goes_on.wait()

        under_way = asyncio.ensure_future(world.events.ask("wait", wait))
        await begun.wait()
        waiting = asyncio.ensure_future(world.events.ask("never", world.event("never")))
        await world.turn()
        world.events.clear()
        with pytest.raises(ControllerMoved):
            await waiting
        await world.events.stop()
        with pytest.raises(ControllerMoved):
            await under_way
        assert world.served == ["w"]

    run(scene)
