"""A broker that is told who leads while it has no connection to the registry."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from barnabas.server.broker import Broker
from barnabas.server.cluster.metadata import PartitionInfo, TopicInfo
from barnabas.server.core import turns
from barnabas.server.registry.znodes.store import ConnectionLoss
from barnabas.wire.error_codes import ErrorCode
from tests.server.cluster.cluster import cluster_of, session_of
from tests.server.waiting import eventually

OTHER = 7


def play(folder: Path, scene: Callable[[Broker, TopicInfo], Awaitable[None]]) -> None:
    """On a broker that leads a topic, and has just lost the registry."""

    async def run() -> None:
        async with cluster_of(folder, 1) as cluster:
            (broker,) = cluster.brokers.values()
            await broker.topics.create("t", {0: [0]}, {"retention.ms": "5"})
            assert await broker.topics.wait_until_served("t", 10_000)
            session_of(broker).suspend()
            try:
                await scene(broker, broker.metadata.topics["t"])
            finally:
                session_of(broker).resume()

    asyncio.run(run())


async def some_turns() -> None:
    """Let what has begun go as far as it can."""
    for _ in range(20):
        await asyncio.sleep(0)


def with_only(topic: TopicInfo, info: PartitionInfo) -> TopicInfo:
    """What LeaderAndIsr says of one of its partitions."""
    return TopicInfo(topic.name, topic.topic_id, (info,))


@pytest.mark.parametrize("turn_ns", [turns.TURN_NS, 0], ids=["in one turn", "in many turns"])
def test_it_leads_no_more_what_another_leads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, turn_ns: int
) -> None:
    async def scene(broker: Broker, topic: TopicInfo) -> None:
        moved = PartitionInfo(0, OTHER, 1, (0, OTHER), (OTHER,))
        codes = await broker.hosting.lead_or_follow(with_only(topic, moved))
        assert codes == {0: ErrorCode.NONE}
        assert not broker.replicas.require("t", 0).is_leader

    monkeypatch.setattr(turns, "TURN_NS", turn_ns)
    play(tmp_path, scene)


def test_a_log_that_is_new_there_waits_for_its_settings(tmp_path: Path) -> None:
    async def scene(broker: Broker, topic: TopicInfo) -> None:
        new = PartitionInfo(1, 0, 0, (0,), (0,))
        told = asyncio.create_task(broker.hosting.lead_or_follow(with_only(topic, new)))
        await some_turns()
        assert not told.done()
        session_of(broker).resume()
        assert await told == {1: ErrorCode.NONE}
        assert broker.replicas.require("t", 1).log.config.retention_ms == 5

    play(tmp_path, scene)


def test_it_waits_no_longer_than_its_session_can_last(tmp_path: Path) -> None:
    async def scene(broker: Broker, topic: TopicInfo) -> None:
        new = PartitionInfo(1, 0, 0, (0,), (0,))
        told = asyncio.create_task(broker.hosting.lead_or_follow(with_only(topic, new)))
        await some_turns()
        assert not told.done()
        broker.clock.advance(broker.config.zookeeper_session_timeout_ms)
        await eventually(told.done)
        assert isinstance(told.exception(), ConnectionLoss)

    play(tmp_path, scene)
