"""A broker that stops hands over what it leads first, and waits for nobody who cannot take it."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from barnabas.server.broker import Broker
from barnabas.server.cluster.departure import Departure
from barnabas.server.core.errors import Unanswered
from barnabas.server.registry.partitions import VersionedState
from barnabas.server.registry.registry import Registry
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)
from barnabas.wire.messages.leader_and_isr import LeaderAndIsrRequest
from barnabas.wire.messages.stop_replica import StopReplicaRequest
from tests.server.cluster.cluster import LEADERS_STAY, Cluster, cluster_of
from tests.server.controller.in_sync import controller_of, create_replicated, set_isr, state_of
from tests.server.controller.test_two_brokers import ask
from tests.server.waiting import eventually

Scene = Callable[[Cluster], Awaitable[None]]


def play(folder: Path, scene: Scene, count: int = 3) -> None:
    async def played() -> None:
        async with cluster_of(folder, count, **LEADERS_STAY) as cluster:
            await scene(cluster)

    asyncio.run(played())


async def shutdown(cluster: Cluster, broker_id: int, epoch: int = -1, asked: int = 0) -> object:
    """What the controller answers a broker, or the code with which it refuses."""
    request = ControlledShutdownRequest(broker_id=broker_id, broker_epoch=epoch)
    answer = await ask(cluster.brokers[asked], lambda client: client.call(request, 3))
    left = [(each.topic_name, each.partition_index) for each in answer.remaining_partitions]
    return answer.error_code or left


def test_who_stops_leads_nothing_and_is_in_sync_nowhere(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        await create_replicated(cluster, "t", [1, 0, 2], [0, 1, 2], [1, 2])
        stopped: list[tuple[str, int]] = []
        control = cluster.brokers[1].control
        stop = control.stop_replicas

        async def noted(request: StopReplicaRequest) -> object:
            stopped.extend(
                (each.topic_name, state.partition_index)
                for each in request.topic_states
                for state in each.partition_states
                if not state.delete_partition
            )
            return await stop(request)

        control.stop_replicas = noted  # type: ignore[method-assign,assignment]
        assert await shutdown(cluster, 1) == []
        states = [await state_of(cluster, "t", index) for index in range(3)]
        assert [(each.leader, list(each.isr), each.leader_epoch) for each in states] == [
            (0, [0, 2], 1), (0, [0, 2], 1), (2, [2], 1),
        ]  # fmt: skip
        await eventually(lambda: ("t", 1) in stopped)
        first = cluster.brokers[0]
        assert {p.offline for p in first.metadata.topics["t"].partitions} == {(1,)}
        assert 1 in first.metadata.brokers, "it lives"

    play(tmp_path, scene)


def test_who_stops_follows_nothing_before_it_leaves_the_in_sync_sets(tmp_path: Path) -> None:
    """Told the new epoch it would fetch in it, and be in sync again."""

    async def scene(cluster: Cluster) -> None:
        await create_replicated(cluster, "t", [0, 1], [1, 0])
        control, told, stopped = cluster.brokers[1].control, list[int](), list[int]()
        take, stop = control.leader_and_isr, control.stop_replicas

        async def taken(request: LeaderAndIsrRequest, version: int) -> object:
            told.extend(
                state.partition_index
                for topic in request.topic_states
                for state in topic.partition_states
            )
            return await take(request, version)

        async def stops(request: StopReplicaRequest) -> object:
            stopped.extend(
                state.partition_index
                for topic in request.topic_states
                for state in topic.partition_states
            )
            return await stop(request)

        control.leader_and_isr = taken  # type: ignore[method-assign,assignment]
        control.stop_replicas = stops  # type: ignore[method-assign,assignment]
        assert await shutdown(cluster, 1) == []
        await eventually(lambda: stopped == [0, 1])
        assert told == [1], "what it has led it has to hear of"
        assert list((await state_of(cluster, "t", 0)).isr) == [0]

    play(tmp_path, scene, 2)


def test_who_stops_does_not_follow_those_that_lead_in_its_place(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        await create_replicated(cluster, "t", [1, 0])
        stopping = cluster.brokers[1]
        led, left, followed = stopping.replicas.require("t", 0), list[object](), list[object]()

        async def hand_over() -> None:
            left.append(await shutdown(cluster, 1))
            await eventually(lambda: not led.is_leader)
            followed.extend(stopping.followers)

        stopping._hand_over = hand_over  # type: ignore[method-assign]
        await cluster.stop(stopping)
        assert (left, followed) == ([[]], [])
        assert list((await state_of(cluster, "t", 0)).isr) == [0]

    play(tmp_path, scene, 2)


@pytest.mark.parametrize("has_gone", [False, True])
def test_one_that_a_leader_lets_in_as_it_goes_is_taken_out(tmp_path: Path, has_gone: bool) -> None:
    """As leaders of protocols before 2.7 may: nobody asks the controller then."""

    async def scene(cluster: Cluster) -> None:
        await create_replicated(cluster, "t", [0, 1])
        if has_gone:
            await cluster.stop(cluster.brokers[1])
        else:
            await shutdown(cluster, 1)
        key, partitions = ("t", 0), Registry(cluster.ensemble.connect()).partitions
        found = (await partitions.read([key]))[key]
        let_in = VersionedState(found.state._replace(isr=[0, 1]), found.partition_epoch)
        assert isinstance((await partitions.write({key: let_in}, None))[key], int)
        controller = controller_of(cluster).controller
        await controller.in_turn("hear", lambda: controller.decisions.leading.refresh([key]))
        assert list((await state_of(cluster, "t", 0)).isr) == [0]

    play(tmp_path, scene, 2)


def test_what_nobody_else_can_lead_remains(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        await create_replicated(cluster, "t", [1, 0], [1], isr=[1])
        assert await shutdown(cluster, 1) == [("t", 0)]
        assert (await state_of(cluster, "t", 0)).leader == 1
        await set_isr(cluster, "t", 0, [1, 0])
        assert await shutdown(cluster, 1) == []
        assert (await state_of(cluster, "t", 1)).leader == 1, "there is no other replica"

    play(tmp_path, scene, 2)


def test_a_topic_made_meanwhile_is_led_by_others(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        assert await shutdown(cluster, 1) == []
        await create_replicated(cluster, "t", [1, 2], isr=[2])
        assert (await state_of(cluster, "t")).leader == 2

    play(tmp_path, scene)


def test_a_broker_that_is_back_leads_and_follows_again(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        await create_replicated(cluster, "t", [1, 0], isr=[1, 0])
        await cluster.stop(cluster.brokers[1])
        assert (await state_of(cluster, "t")).leader == 0
        again = await cluster.start(1)
        await eventually(lambda: again.replicas.find("t", 0) is not None)
        await set_isr(cluster, "t", 0, [0, 1])
        await cluster.stop(cluster.brokers[0])
        await eventually(lambda: again.replicas.require("t", 0).is_leader)

    play(tmp_path, scene)


def test_only_the_controller_and_only_for_a_broker_as_it_lives_now(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        epoch = cluster.brokers[1].membership.broker_epoch
        assert await shutdown(cluster, 1, asked=1) == ErrorCode.STALE_CONTROLLER_EPOCH
        assert await shutdown(cluster, 7) == ErrorCode.BROKER_NOT_AVAILABLE
        assert await shutdown(cluster, 1, epoch - 1) == ErrorCode.STALE_BROKER_EPOCH
        assert await shutdown(cluster, 1, epoch) == []

    play(tmp_path, scene, 2)


@pytest.mark.parametrize("stopping", [0, 1])
def test_a_stop_moves_leaders_before_the_registration_goes(tmp_path: Path, stopping: int) -> None:
    """Asked of the controller itself, and of another broker."""

    async def scene(cluster: Cluster) -> None:
        await create_replicated(cluster, "t", [stopping, 2], isr=[stopping, 2])
        broker, left = cluster.brokers[stopping], list[int]()
        resign = broker.controller.stop

        async def noted() -> None:
            left.append((await state_of(cluster, "t")).leader)
            await resign()

        broker.controller.stop = noted  # type: ignore[method-assign]
        await cluster.stop(broker)
        assert left == [2]
        await eventually(lambda: cluster.brokers[2].replicas.require("t", 0).is_leader)

    play(tmp_path, scene)


def test_a_broker_alone_asks_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    async def never(self: Departure) -> None:
        asked.append(self)

    monkeypatch.setattr(Departure, "_try", never)

    async def scene(cluster: Cluster) -> None:
        broker = cluster.brokers[0]
        await broker.topics.create("t", {0: [0, 1, 2]}, {})
        assert await broker.topics.wait_until_served("t", 10_000)
        await cluster.stop(broker)
        assert not asked

    play(tmp_path, scene, 1)


class Stopper:
    """A broker that stops, and a controller that answers as the test likes."""

    def __init__(self, cluster: Cluster, broker_id: int, *answers: object) -> None:
        self.broker: Broker = cluster.brokers[broker_id]
        self.answers = list(answers)
        broker = self.broker
        self.departure = Departure(
            broker_id, lambda: 5, broker.metadata, broker.config, self.ask, broker.clock,
            broker.log,
        )  # fmt: skip
        self.asked = 0

    async def ask(self, request: ControlledShutdownRequest) -> ControlledShutdownResponse:
        self.asked += 1
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, ControlledShutdownResponse)
        return answer


def remaining(topic: str) -> ControlledShutdownResponse:
    """It is led by nobody else yet."""
    left = RemainingPartition(topic_name=topic, partition_index=0)
    return ControlledShutdownResponse(remaining_partitions=[left])


@pytest.mark.parametrize(
    "failure",
    [
        Unanswered("gone"),
        ControlledShutdownResponse(error_code=int(ErrorCode.STALE_CONTROLLER_EPOCH)),
        remaining("t"),
    ],
)
def test_the_controller_is_asked_a_few_times_and_then_the_broker_stops(
    tmp_path: Path, failure: object
) -> None:
    async def scene(cluster: Cluster) -> None:
        await create_replicated(cluster, "t", [1, 0], isr=[1])
        stopper = Stopper(cluster, 1, failure, failure, failure)
        leaves = asyncio.ensure_future(stopper.departure.hand_over())
        for tries in (1, 2, 3):
            await eventually(partial(lambda n: stopper.asked == n, tries))
            await asyncio.sleep(0)
            stopper.broker.clock.advance(stopper.broker.config.controlled_shutdown_retry_backoff_ms)
        await leaves
        assert not stopper.answers

    play(tmp_path, scene, 2)


def test_it_is_asked_again_at_once_when_somebody_else_can_lead(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        await create_replicated(cluster, "t", [1, 0], isr=[1])
        stopper = Stopper(cluster, 1, remaining("t"), ControlledShutdownResponse())
        leaves = asyncio.ensure_future(stopper.departure.hand_over())
        await eventually(lambda: stopper.asked == 1)
        await set_isr(cluster, "t", 0, [1, 0])
        await leaves
        assert stopper.asked == 2

    play(tmp_path, scene, 2)
