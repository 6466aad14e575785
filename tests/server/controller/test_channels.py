"""Brokers are told in order, again until they answer, and nothing of their former lives."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from barnabas.server.controller.channels import FIRST_PAUSE_MS, Channels, Telling
from barnabas.server.core.clock import ManualClock
from barnabas.server.core.errors import Unanswered
from barnabas.server.observing.logs import Logs
from barnabas.server.registry.broker_body import BrokerRegistration
from barnabas.server.registry.brokers import RegisteredBroker
from barnabas.wire.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from barnabas.wire.schema import Message
from tests.server.waiting import eventually

OWN, OTHER = 1, 2
VERSION = 8


def broker(broker_id: int, epoch: int = 5) -> RegisteredBroker:
    return RegisteredBroker(BrokerRegistration(broker_id, [], 0), epoch)


def request(number: int) -> UpdateMetadataRequest:
    return UpdateMetadataRequest(controller_id=OWN, controller_epoch=number)


class World:
    """Channels to this broker and another, whose answers can be kept back or lost."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.heard: list[tuple[int, int, int]] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.losses = 0
        log = Logs("error").room("controller")
        self.channels = Channels(OWN, self.answer, self.answer, self.clock, log)

    async def answer(self, to: RegisteredBroker, request: Message, version: int) -> Message:
        assert isinstance(request, UpdateMetadataRequest) and version == VERSION
        await self.may_answer.wait()
        if self.losses:
            self.losses -= 1
            raise Unanswered("lost")
        broker_id = to.registration.broker_id
        self.heard.append((broker_id, to.epoch, request.controller_epoch))
        return UpdateMetadataResponse()

    async def tell(
        self, to: RegisteredBroker, number: int, on_answer: Callable[[Message], None] | None = None
    ) -> None:
        await self.channels.tell(to, Telling(request(number), VERSION, on_answer))


def run(scene: Callable[[World], Coroutine[Any, Any, None]]) -> None:
    async def played() -> None:
        world = World()
        try:
            await scene(world)
        finally:
            world.channels.close()

    asyncio.run(played())


def test_the_own_broker_has_done_it_when_the_call_returns_and_others_are_not_waited_for() -> None:
    async def scene(world: World) -> None:
        own, other = broker(OWN), broker(OTHER)
        world.channels.follow({OWN: own, OTHER: other})
        answers: list[Message] = []
        await world.tell(own, 1, answers.append)
        assert world.heard == [(OWN, 5, 1)] and len(answers) == 1
        world.may_answer.clear()
        await world.tell(other, 2, answers.append)
        assert len(answers) == 1
        world.may_answer.set()
        await eventually(lambda: len(answers) == 2)

    run(scene)


def test_a_request_without_an_answer_is_sent_again_before_those_behind_it() -> None:
    async def scene(world: World) -> None:
        world.channels.follow({OTHER: (other := broker(OTHER))})
        world.losses = 1
        for number in (1, 2, 3):
            await world.tell(other, number)
        await eventually(lambda: not world.losses)
        assert not world.heard
        world.clock.advance(FIRST_PAUSE_MS)
        await eventually(lambda: len(world.heard) == 3)
        assert [number for _, _, number in world.heard] == [1, 2, 3]

    run(scene)


@pytest.mark.parametrize("epoch", [6, None])
def test_what_a_broker_has_not_heard_is_dropped_when_it_goes_or_comes_anew(
    epoch: int | None,
) -> None:
    async def scene(world: World) -> None:
        world.channels.follow({OTHER: (other := broker(OTHER))})
        world.may_answer.clear()
        await world.tell(other, 1)
        await asyncio.sleep(0)
        world.channels.follow({} if epoch is None else {OTHER: broker(OTHER, epoch)})
        world.may_answer.set()
        await world.tell(other, 2)
        await eventually(lambda: epoch is None or bool(world.heard))
        assert world.heard == ([] if epoch is None else [(OTHER, 6, 2)])

    run(scene)
