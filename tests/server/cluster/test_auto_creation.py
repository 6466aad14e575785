"""A topic that is made because somebody needs it, by a broker that knows little yet."""

import asyncio
from pathlib import Path

from barnabas.server.broker import Broker
from barnabas.server.core.topic_names import OFFSETS_TOPIC
from tests.server.cluster.cluster import cluster_of
from tests.server.waiting import eventually


def forget_others(broker: Broker) -> None:
    """Be as a broker that the controller has told nothing yet."""
    metadata = broker.metadata
    metadata.brokers = {broker.broker_id: metadata.brokers[broker.broker_id]}
    metadata.remove_topics(list(metadata.topics))


def test_replicas_are_placed_on_the_brokers_that_live_not_on_those_that_are_known(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        async with cluster_of(tmp_path, 2) as cluster:
            _, second = cluster.brokers.values()
            forget_others(second)
            assert await second.topics.ensure_internal(OFFSETS_TOPIC)
            made = await second.registry.topics.read(OFFSETS_TOPIC)
            assert made is not None
            replicas = made.assignment.replicas.values()
            assert {tuple(sorted(each)) for each in replicas} == {(0, 1)}

    asyncio.run(scene())


def test_a_topic_that_is_there_is_waited_for_whatever_could_be_made_now(tmp_path: Path) -> None:
    async def scene() -> None:
        async with cluster_of(tmp_path, 0) as cluster:
            first = await cluster.start(0)
            second = await cluster.start(1, default_replication_factor="3")
            await first.topics.create("t", {0: [0, 1]}, {})
            await eventually(lambda: "t" in second.metadata.topics)
            told = second.metadata.topics["t"]
            forget_others(second)
            waiting = asyncio.create_task(second.topics.auto_create("t"))
            await eventually(lambda: second.topics._waiting.get("t") or waiting.done())
            assert not waiting.done()
            await second.hosting.topic_shown(told)
            await waiting

    asyncio.run(scene())
