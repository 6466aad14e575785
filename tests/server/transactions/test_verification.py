"""Who is asked whether a partition belongs to a transaction, and what the client is told."""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping
from typing import Any

import pytest

from barnabas.server.cluster.metadata import ClusterMetadata, PartitionInfo, TopicInfo
from barnabas.server.core.clock import ManualClock
from barnabas.server.core.errors import ApiError
from barnabas.server.core.topic_names import TRANSACTION_TOPIC, TopicPartition
from barnabas.server.settings.config import load_config
from barnabas.server.transactions.other_coordinators import Question
from barnabas.server.transactions.verification import Beginnings, ClientKind, Refusals, Verifier
from barnabas.storage.producers.verification import VerificationGuard
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.uuids import ZERO_UUID

HERE, THERE = 1, 2
ORDERS = ("orders", 0)
Answer = Callable[[], Mapping[TopicPartition, ErrorCode]]


class Coordinators:
    """This broker's coordinator and that of the others: they write down what they are asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answer: Answer = dict

    def partition_of(self, transactional_id: str) -> int:
        return 0

    async def add_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Collection[TopicPartition],
        client_version: int,
    ) -> None:
        self.asked.append(f"add for version {client_version}")
        for code in self.answer().values():
            raise ApiError(code)

    def verify_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Collection[TopicPartition],
    ) -> Mapping[TopicPartition, ErrorCode]:
        self.asked.append("verify")
        return self.answer()

    async def ask(self, broker_id: int, question: Question) -> Mapping[TopicPartition, ErrorCode]:
        self.asked.append(f"{'add' if question.adds else 'verify'} at {broker_id}")
        return self.answer()


class OneBatch(Beginnings):
    """A batch for one partition; a marker takes its guard away as often as the test says."""

    def __init__(self, kind: ClientKind) -> None:
        super().__init__(7, 0, (), adds=kind.adds)
        self.guards = {ORDERS: VerificationGuard()}
        self.begun, self.losses, self.is_open_then = 1, 0, False

    def begin(self, now_ms: int) -> None:
        self.begun += 1
        self.guards = {} if self.is_open_then else {ORDERS: VerificationGuard()}

    @property
    def is_lost(self) -> bool:
        self.losses -= 1
        return self.losses >= 0


class World:
    """A broker whose cluster has one partition of __transaction_state."""

    def __init__(self, leader_id: int = HERE, **settings: str) -> None:
        self.clock = ManualClock()
        self.coordinators = Coordinators()
        self.metadata = ClusterMetadata()
        led = PartitionInfo(0, leader_id, 0, (leader_id,), (leader_id,))
        self.metadata.topics[TRANSACTION_TOPIC] = TopicInfo(TRANSACTION_TOPIC, ZERO_UUID, (led,))
        given = {name.replace("_", "."): text for name, text in settings.items()}
        self.config = load_config((), given)
        self.verifier = Verifier(
            HERE, self.config, self.metadata, self.clock, self.coordinators, self.coordinators
        )

    def verify(self, kind: ClientKind) -> Coroutine[Any, Any, Refusals]:
        self.batch = OneBatch(kind)
        return self.verifier.verify("mover", self.batch, kind)

    def refused(self, kind: ClientKind, code: ErrorCode) -> ErrorCode:
        """What is told of a partition that is refused with a code."""
        self.coordinators.answer = lambda: {ORDERS: code}
        return asyncio.run(self.verify(kind))[ORDERS]


@pytest.mark.parametrize(
    ("leader_id", "kind", "asked"),
    [
        (HERE, ClientKind.OLD, "verify"),
        (HERE, ClientKind.ABORTABLE, "verify"),
        (HERE, ClientKind.ADDS_BY_WRITING, "add for version 2"),
        (THERE, ClientKind.ABORTABLE, "verify at 2"),
        (THERE, ClientKind.ADDS_BY_WRITING, "add at 2"),
    ],
)
def test_the_ids_coordinator_is_asked(leader_id: int, kind: ClientKind, asked: str) -> None:
    world = World(leader_id)
    assert asyncio.run(world.verify(kind)) == {}
    assert world.coordinators.asked == [asked]


def test_without_a_coordinator_nothing_is_verified() -> None:
    world = World(-1)
    refused = asyncio.run(world.verify(ClientKind.OLD))
    assert refused == {ORDERS: ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert world.coordinators.asked == []


def test_an_answer_without_an_error_is_no_refusal() -> None:
    world = World()
    world.coordinators.answer = lambda: {ORDERS: ErrorCode.NONE}
    assert asyncio.run(world.verify(ClientKind.OLD)) == {}


def test_clients_are_told_what_they_know() -> None:
    abortable, fenced = ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.PRODUCER_FENCED
    assert World().refused(ClientKind.OLD, abortable) is ErrorCode.INVALID_TXN_STATE
    assert World().refused(ClientKind.ABORTABLE, abortable) is abortable
    for kind in ClientKind:
        assert World().refused(kind, fenced) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_transaction_that_is_still_ending_is_asked_again() -> None:
    async def scene() -> None:
        world = World()
        world.coordinators.answer = lambda: {ORDERS: ErrorCode.CONCURRENT_TRANSACTIONS}
        asking = asyncio.ensure_future(world.verify(ClientKind.ADDS_BY_WRITING))
        await until_paused(world)
        world.coordinators.answer = dict
        world.clock.advance(20)
        assert await asking == {}
        assert len(world.coordinators.asked) == 2

    asyncio.run(scene())


def test_it_is_asked_for_a_moment_only() -> None:
    async def scene() -> None:
        world = World()
        world.coordinators.answer = lambda: {ORDERS: ErrorCode.CONCURRENT_TRANSACTIONS}
        asking = asyncio.ensure_future(world.verify(ClientKind.ADDS_BY_WRITING))
        for _ in range(5):
            await until_paused(world)
            world.clock.advance(20)
        assert await asking == {ORDERS: ErrorCode.CONCURRENT_TRANSACTIONS}
        assert len(world.coordinators.asked) == 6

    asyncio.run(scene())


def test_clients_that_add_partitions_themselves_are_told_at_once() -> None:
    code = ErrorCode.CONCURRENT_TRANSACTIONS
    world = World()
    assert world.refused(ClientKind.ABORTABLE, code) is code
    assert world.coordinators.asked == ["verify"]


def test_verification_can_be_turned_off_but_not_adding() -> None:
    off = World(transaction_partition_verification_enable="false").verifier
    assert not off.is_needed(ClientKind.OLD)
    assert off.is_needed(ClientKind.ADDS_BY_WRITING)
    assert World().verifier.is_needed(ClientKind.OLD)


async def until_paused(world: World) -> None:
    """Let everybody run until somebody waits for the clock."""
    for _ in range(100):
        if world.clock.timer_count():
            return
        await asyncio.sleep(0)
    raise AssertionError("nobody waits")


def test_each_question_has_guards_of_its_own() -> None:
    """The marker of the transaction before takes away those that were there when it came."""

    async def scene() -> None:
        world = World()
        world.coordinators.answer = lambda: {ORDERS: ErrorCode.CONCURRENT_TRANSACTIONS}
        asking = asyncio.ensure_future(world.verify(ClientKind.ADDS_BY_WRITING))
        await until_paused(world)
        world.coordinators.answer = dict
        world.clock.advance(20)
        assert await asking == {}
        assert world.batch.begun == 2

    asyncio.run(scene())


@pytest.mark.parametrize("kind", ClientKind)
def test_a_guard_that_was_taken_away_meanwhile_is_asked_for_again(kind: ClientKind) -> None:
    world = World()

    async def scene() -> None:
        asking = world.verify(kind)
        world.batch.losses = 2
        assert await asking == {}

    asyncio.run(scene())
    assert (world.batch.begun, len(world.coordinators.asked)) == (3, 3)


def test_what_another_request_has_begun_needs_no_answer() -> None:
    world = World()

    async def scene() -> None:
        asking = world.verify(ClientKind.ADDS_BY_WRITING)
        world.batch.losses, world.batch.is_open_then = 1, True
        assert await asking == {}

    asyncio.run(scene())
    assert len(world.coordinators.asked) == 1
