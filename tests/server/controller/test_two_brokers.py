"""Two brokers on one tree in one process: one controller, and what each knows of the other."""

import asyncio
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

from barnabas.server.broker import Broker
from barnabas.server.cluster.metadata import NO_LEADER, TopicInfo
from barnabas.server.registry import paths
from barnabas.server.replication.hosting import Hosting
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.server.admin import create_code, new_topic
from tests.server.cluster.cluster import Cluster, cluster_of, session_of
from tests.server.raw_client import RawClient
from tests.server.records import make_batch, produce
from tests.server.waiting import PATIENCE_S, eventually

T = TypeVar("T")

LOST = pytest.mark.broker_says("the session with the registry has ended")


async def ask(broker: Broker, question: Callable[[RawClient], T]) -> T:
    """Ask a broker as a client does, which waits in a thread."""

    def asked() -> T:
        with RawClient(broker.listeners[0].port) as client:
            return question(client)

    return await asyncio.to_thread(asked)


async def metadata(broker: Broker) -> Any:
    return await ask(broker, lambda client: client.call(MetadataRequest(topics=[]), 9))


async def until_named(brokers: Iterable[Broker], ids: list[int], controller_id: int) -> None:
    """Wait until clients of each are told of these brokers and this controller."""
    deadline = time.monotonic() + PATIENCE_S
    for broker in brokers:
        named = None
        while named != (ids, controller_id):
            assert time.monotonic() < deadline, f"broker {broker.broker_id} says {named}"
            answer = await metadata(broker)
            named = (sorted(each.node_id for each in answer.brokers), answer.controller_id)


async def until_led(brokers: Iterable[Broker], topic: str, led: tuple[int, int]) -> None:
    """Wait until each knows this (leader, epoch) of a topic's first partition."""
    for broker in brokers:
        await eventually(partial(is_led, broker, topic, led))


def is_led(broker: Broker, topic: str, led: tuple[int, int]) -> bool:
    info = broker.metadata.partition(topic, 0)
    return info is not None and (info.leader_id, info.leader_epoch) == led


async def create_on(broker: Broker, topic: str, *leaders: int) -> None:
    """A topic with one replica for each partition, made by any broker."""
    await broker.topics.create(topic, {n: [leader] for n, leader in enumerate(leaders)}, {})


def test_one_is_controller_and_both_name_both(tmp_path: Path) -> None:
    async def scene() -> None:
        async with cluster_of(tmp_path, 2) as cluster:
            first, second = cluster.brokers.values()
            assert [each.controller.is_active for each in (first, second)] == [True, False]
            await until_named((first, second), [0, 1], 0)
            for broker in (first, second):
                answer = await metadata(broker)
                ports = [each.port for each in answer.brokers]
                assert ports == [each.listeners[0].port for each in (first, second)]

    asyncio.run(scene())


async def stops(cluster: Cluster, broker: Broker) -> None:
    await cluster.stop(broker)


async def crashes(cluster: Cluster, broker: Broker) -> None:
    await cluster.crash(broker)
    await cluster.let_sessions_nearly_expire()
    assert not cluster.brokers[1].controller.is_active, "its session has not timed out"
    cluster.let_sessions_expire()


@pytest.mark.parametrize("ends", [stops, crashes])
def test_the_other_takes_over_when_the_controller_ends(
    tmp_path: Path, ends: Callable[[Cluster, Broker], Any]
) -> None:
    async def scene() -> None:
        async with cluster_of(tmp_path, 2) as cluster:
            first, second = cluster.brokers.values()
            await create_on(second, "t", 1, 0)
            await until_led([second], "t", (1, 0))
            await ends(cluster, first)
            await eventually(lambda: second.controller.is_active)
            assert second.controller.epoch is not None and second.controller.epoch.epoch == 2
            await until_named([second], [1], 1)
            await eventually(lambda: second.metadata.topics["t"].partitions[1].offline == (0,))
            left, lost = second.metadata.topics["t"].partitions
            assert (left.leader_id, left.leader_epoch) == (1, 0), "it has led all the time"
            assert (lost.leader_id, lost.leader_epoch, lost.isr) == (NO_LEADER, 1, (0,))
            assert await ask(second, lambda client: create_code(client, new_topic("u"))) == 0

            again = await cluster.start(0)
            assert not again.controller.is_active
            await eventually(lambda: again.metadata.partition("t", 1) is not None)
            await eventually(lambda: again.metadata.topics["t"].partitions[1].leader_epoch == 2)
            await until_named((again, second), [0, 1], 1)
            assert await ask(again, produced_code) == 0

    asyncio.run(scene())


@LOST
def test_the_other_takes_over_when_the_controllers_session_ends(tmp_path: Path) -> None:
    async def scene() -> None:
        async with cluster_of(tmp_path, 2) as cluster:
            first, second = cluster.brokers.values()
            await create_on(first, "t", 0)
            await until_led([second], "t", (0, 0))
            session_of(first).suspend()
            cluster.let_sessions_expire()
            await eventually(lambda: second.controller.is_active)
            await until_led([second], "t", (NO_LEADER, 1))
            session_of(first).resume()
            await eventually(lambda: not first.controller.is_active)
            await until_named((first, second), [0, 1], 1)
            await until_led((first, second), "t", (0, 2))
            answer = await ask(first, lambda client: produce(client, "t", make_batch(b"x")))
            assert answer.error_code == 0

    asyncio.run(scene())


@pytest.mark.broker_says("lost the office of controller")
def test_a_controller_whose_znode_is_taken_away_stands_again_with_the_other(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        async with cluster_of(tmp_path, 2) as cluster:
            first, second = cluster.brokers.values()
            await cluster.ensemble.connect().delete(paths.CONTROLLER)

            def elected() -> list[Broker]:
                found = [(b, b.controller.epoch) for b in (first, second)]
                return [broker for broker, epoch in found if epoch and epoch.epoch == 2]

            await eventually(lambda: bool(elected()))
            (active,) = elected()
            await until_named((first, second), [0, 1], active.broker_id)

    asyncio.run(scene())


def test_topics_are_led_where_their_replicas_are_and_known_everywhere(tmp_path: Path) -> None:
    async def scene() -> None:
        async with cluster_of(tmp_path, 2) as cluster:
            first, second = cluster.brokers.values()
            await create_on(second, "t", 0, 1)
            for broker in (first, second):
                assert await broker.topics.wait_until_served("t", 10_000, 2)
                led = [p.leader_id for p in broker.metadata.topics["t"].partitions]
                assert led == [0, 1]
            for broker, code in ((second, 0), (first, ErrorCode.NOT_LEADER_OR_FOLLOWER)):
                assert await ask(broker, produced_code) == code
            await first.topics.add_partitions("t", 3, [[1]])
            assert await second.topics.wait_until_served("t", 10_000, 3)
            await second.topics.mark_for_deletion("t")
            for broker in (first, second):
                assert await broker.topics.wait_until_deleted("t", 10_000)
            await eventually(lambda: len(first.replicas) == len(second.replicas) == 0)

    asyncio.run(scene())


def test_a_leader_that_comes_back_begins_a_new_epoch(tmp_path: Path) -> None:
    async def scene() -> None:
        async with cluster_of(tmp_path, 2) as cluster:
            first, second = cluster.brokers.values()
            await create_on(first, "t", 1)
            await until_led([first], "t", (1, 0))
            await cluster.stop(second)
            again = await cluster.start(1)
            await until_led((first, again), "t", (1, 2))
            assert again.replicas.require("t", 0).is_leader

    asyncio.run(scene())


def test_what_only_the_controller_does_is_refused_elsewhere(tmp_path: Path) -> None:
    async def scene() -> None:
        async with cluster_of(tmp_path, 2) as cluster:
            first, second = cluster.brokers.values()
            await create_on(first, "t", 0)
            assert await second.topics.wait_until_served("t", 10_000)
            codes = await ask(second, all_admin_codes)
            assert codes == [ErrorCode.NOT_CONTROLLER] * 4
            assert await ask(first, all_admin_codes) == [0, 0, ErrorCode.ELECTION_NOT_NEEDED, 0]

    asyncio.run(scene())


def produced_code(client: RawClient) -> int:
    """The code that a produce to the second partition answers."""
    return produce(client, "t", make_batch(b"x"), partition=1).error_code


def all_admin_codes(client: RawClient) -> list[int]:
    """Create a topic, grow another, hold an election there, delete it: the codes."""
    grow = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name="t", count=2, assignments=None)], timeout_ms=5_000
    )
    elect = ElectLeadersRequest(
        topic_partitions=[TopicPartitions(topic="t", partitions=[0])], timeout_ms=5_000
    )
    delete = DeleteTopicsRequest(topic_names=["t"], timeout_ms=5_000)
    elected = client.call(elect, 2).replica_election_results[0].partition_result
    return [
        create_code(client, new_topic("u")),
        client.call(grow, 3).results[0].error_code,
        elected[0].error_code,
        client.call(delete, 5).responses[0].error_code,
    ]


def test_a_topic_whose_replica_has_never_lived_is_led_when_it_comes(tmp_path: Path) -> None:
    async def scene() -> None:
        async with cluster_of(tmp_path, 1) as cluster:
            first = cluster.brokers[0]
            await create_on(first, "t", 1)
            await eventually(lambda: "t" in first.metadata.topics)
            assert is_led(first, "t", (NO_LEADER, -1))
            await cluster.start(1)
            await until_led([first], "t", (1, 0))

    asyncio.run(scene())


def test_a_partition_beside_others_whose_replica_has_never_lived_is_led_when_it_comes(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        async with cluster_of(tmp_path, 1) as cluster:
            first = cluster.brokers[0]
            await create_on(first, "t", 0, 1)
            assert await first.topics.wait_until_served("t", 10_000, 1)
            assert [info.leader_id for info in first.metadata.topics["t"].partitions] == [0, -1]
            second = await cluster.start(1)
            for broker in (first, second):
                assert await broker.topics.wait_until_served("t", 10_000, 2)
            assert second.replicas.require("t", 1).is_leader

    asyncio.run(scene())


@LOST
def test_a_controller_whose_session_ends_while_it_learns_the_topics_learns_them_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        async with cluster_of(tmp_path, 1) as cluster:
            first = cluster.brokers[0]
            await create_on(first, "t", 0)
            await until_led([first], "t", (0, 0))
            await cluster.stop(first)
            takes, ends = Hosting.lead_or_follow, [True]

            async def as_the_session_ends(hosting: Hosting, topic: TopicInfo) -> Any:
                codes = await takes(hosting, topic)
                if ends and ends.pop():
                    cluster.ensemble.end_session(max(cluster.ensemble.tree.ephemerals))
                return codes

            monkeypatch.setattr(Hosting, "lead_or_follow", as_the_session_ends)
            again = await cluster.start(0)
            assert not ends
            await create_on(again, "u", 0)
            await until_led([again], "u", (0, 0))
            await until_led([again], "t", (0, 2))

    asyncio.run(scene())


def test_a_topic_that_is_deleted_goes_when_the_broker_that_holds_it_is_back(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        async with cluster_of(tmp_path, 2) as cluster:
            first, second = cluster.brokers.values()
            await create_on(first, "t", 0, 1)
            await until_led((first, second), "t", (0, 0))
            await cluster.stop(second)
            await first.topics.mark_for_deletion("t")
            assert await first.topics.wait_until_deleted("t", 10_000)
            assert await first.registry.topics.is_marked_for_deletion("t")
            again = await cluster.start(1)

            await eventually(lambda: not cluster.ensemble.tree.children(paths.DELETE_TOPICS))
            assert len(first.replicas) == len(again.replicas) == 0
            next_id = await first.topics.create("t", {0: [1]}, {})
            await until_led((first, again), "t", (1, 0))
            assert again.metadata.topics["t"].topic_id == next_id

    asyncio.run(scene())


def test_a_topic_that_somebody_takes_out_of_the_registry_goes_everywhere(tmp_path: Path) -> None:
    async def scene() -> None:
        async with cluster_of(tmp_path, 2) as cluster:
            first, second = cluster.brokers.values()
            await create_on(first, "t", 1)
            await until_led((first, second), "t", (1, 0))
            old = second.replicas.require("t", 0)
            for path in (paths.partition_state("t", 0), paths.partition("t", 0),
                         paths.partitions("t"), paths.topic("t")):  # fmt: skip
                await first.registry.store.delete(path)
            for broker in (first, second):
                assert await broker.topics.wait_until_deleted("t", 10_000)
            await eventually(lambda: len(second.replicas) == 0)
            assert not old.is_leader

    asyncio.run(scene())


def level_wish(level: int, upgrade_type: int) -> UpdateFeaturesRequest:
    wish = FeatureUpdateKey(
        feature="transaction.version", max_version_level=level, upgrade_type=upgrade_type
    )
    return UpdateFeaturesRequest(feature_updates=[wish])


def test_a_features_level_is_everybodys(tmp_path: Path) -> None:
    async def scene() -> None:
        async with cluster_of(tmp_path, 2) as cluster:
            one, two = cluster.brokers.values()
            assert (one.features.transaction_version, two.features.transaction_version) == (2, 2)
            request = level_wish(1, upgrade_type=2)
            answer = await ask(two, lambda client: client.call(request, 2))
            assert answer.error_code == ErrorCode.NOT_CONTROLLER
            answer = await ask(one, lambda client: client.call(request, 2))
            assert answer.error_code == ErrorCode.NONE
            await eventually(lambda: one.features.transaction_version == 1)
            await eventually(lambda: two.features.transaction_version == 1)

    asyncio.run(scene())


def test_a_level_waits_for_the_oldest_broker(tmp_path: Path) -> None:
    async def scene() -> None:
        async with cluster_of(tmp_path, 1) as cluster:
            one = cluster.brokers[0]
            await ask(one, lambda client: client.call(level_wish(1, upgrade_type=2), 2))
            await cluster.start(1, barnabas_pose_as="3.9")
            answer = await ask(one, lambda client: client.call(level_wish(2, upgrade_type=1), 2))
            assert answer.error_code == ErrorCode.INVALID_UPDATE_VERSION
            assert "Broker 1" in answer.error_message

    asyncio.run(scene())
