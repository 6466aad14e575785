"""Producer ids come from the controller, whoever that is, and nobody gets one twice."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from barnabas.server.broker import Broker
from barnabas.server.core.errors import ApiError
from barnabas.server.registry.bodies import ProducerIdBlock
from barnabas.server.requests.controller_requests import ControllerRequests
from barnabas.server.requests.producer_id_blocks import LONGEST_WAIT_MS
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest
from tests.server.cluster.cluster import Cluster, cluster_of
from tests.server.controller.test_two_brokers import ask

Scene = Callable[[Cluster], Awaitable[None]]


def play(folder: Path, scene: Scene, count: int = 2) -> None:
    async def played() -> None:
        async with cluster_of(folder, count) as cluster:
            await scene(cluster)

    asyncio.run(played())


async def allocated(broker: Broker, broker_id: int, epoch: int) -> tuple[int, int, int]:
    request = AllocateProducerIdsRequest(broker_id=broker_id, broker_epoch=epoch)
    answer = await ask(broker, lambda client: client.call(request, 0))
    return answer.error_code, answer.producer_id_start, answer.producer_id_len


def test_every_block_is_another_one(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        first, second = cluster.brokers.values()
        epoch = second.membership.broker_epoch
        assert await allocated(first, 1, epoch) == (0, 0, 1000)
        assert await allocated(first, 1, epoch) == (0, 1000, 1000)
        refused = (-1, 0)
        assert await allocated(second, 1, epoch) == (ErrorCode.NOT_CONTROLLER, *refused)
        assert await allocated(first, 1, epoch - 1) == (ErrorCode.STALE_BROKER_EPOCH, *refused)
        assert await allocated(first, 7, 1) == (ErrorCode.BROKER_ID_NOT_REGISTERED, *refused)

    play(tmp_path, scene)


def test_brokers_take_their_ids_from_the_controller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(cluster: Cluster) -> None:
        first, second = cluster.brokers.values()
        asked: list[int] = []
        next_block = first.registry.producer_ids.next_block

        async def noted(broker_id: int) -> ProducerIdBlock:
            asked.append(broker_id)
            return await next_block(broker_id)

        monkeypatch.setattr(first.registry.producer_ids, "next_block", noted)
        taken = {await broker.producer_ids.take() for broker in (first, second)}
        assert (taken, asked) == ({0, 1000}, [0, 1])

    play(tmp_path, scene)


def test_before_protocol_3_0_they_take_them_from_the_registry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene(cluster: Cluster) -> None:
        first, second = cluster.brokers.values()
        monkeypatch.setattr(second.registry, "protocol", (2, 8))
        await cluster.crash(first)
        assert await second.producer_ids.take() == 0

    play(tmp_path, scene)


def test_a_broker_waits_for_a_controller_but_not_for_ever(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        first, second = cluster.brokers.values()
        await cluster.crash(first)

        async def later() -> None:
            while True:
                second.clock.advance(LONGEST_WAIT_MS / 4)
                await asyncio.sleep(0.002)

        time_passes = asyncio.ensure_future(later())
        with pytest.raises(ApiError) as refused:
            await second.producer_ids.take()
        assert refused.value.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        taking = asyncio.ensure_future(second.producer_ids.take())
        await asyncio.sleep(0)
        cluster.let_sessions_expire()
        assert await taking == 0
        time_passes.cancel()

    play(tmp_path, scene)


def test_nor_for_a_controller_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client would have to wait for its own time-out."""

    async def hangs(*_: object) -> None:
        await asyncio.Event().wait()

    async def scene(cluster: Cluster) -> None:
        second = cluster.brokers[1]
        monkeypatch.setattr(ControllerRequests, "send", hangs)
        taking = asyncio.ensure_future(second.producer_ids.take())
        while not taking.done():
            second.clock.advance(LONGEST_WAIT_MS / 4)
            await asyncio.sleep(0.002)
        with pytest.raises(ApiError) as refused:
            await taking
        assert refused.value.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    play(tmp_path, scene)
