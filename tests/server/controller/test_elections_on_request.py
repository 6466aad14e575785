"""Elections that somebody asks for: a client, a tool by its znode, a setting, the clock."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from barnabas.server.broker import Broker
from barnabas.server.cluster.metadata import NO_LEADER
from barnabas.server.controller import rebalancing
from barnabas.server.controller.elections import RECOVERING
from barnabas.server.registry import notices, paths
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from tests.server.admin import BROKER, SET, TOPIC, alter, resource
from tests.server.cluster.cluster import LEADERS_STAY, Cluster, cluster_of
from tests.server.controller.in_sync import create_replicated, set_isr, state_of
from tests.server.controller.test_two_brokers import ask
from tests.server.waiting import eventually

PREFERRED, UNCLEAN = 0, 1
Scene = Callable[[Cluster], Awaitable[None]]


def play(folder: Path, scene: Scene, **settings: str) -> None:
    async def played() -> None:
        async with cluster_of(folder, 3, **(LEADERS_STAY | settings)) as cluster:
            await scene(cluster)

    asyncio.run(played())


async def elect(
    broker: Broker, election_type: int, topic: str | None, *partitions: int
) -> dict[int, int]:
    """The code of each partition of one topic in the answer."""
    wanted = None if topic is None else [TopicPartitions(topic=topic, partitions=[*partitions])]
    request = ElectLeadersRequest(
        election_type=election_type, topic_partitions=wanted, timeout_ms=5_000
    )
    answer = await ask(broker, lambda client: client.call(request, 2))
    return {
        each.partition_id: each.error_code
        for found in answer.replica_election_results
        for each in found.partition_result
    }


def holds(broker: Broker, topic: str) -> bool:
    return broker.replicas.find(topic, 0) is not None


async def led_by_the_second(cluster: Cluster, *topics: str) -> None:
    """Topics of one partition on 1 and 2 that 2 leads: 1 has been away."""
    for topic in topics:
        await create_replicated(cluster, topic, [1, 2], isr=[1, 2])
    await cluster.stop(cluster.brokers[1])
    again = await cluster.start(1)
    for topic in topics:
        await eventually(partial(holds, again, topic))
        await set_isr(cluster, topic, 0, [2, 1])
        assert (await state_of(cluster, topic)).leader == 2


def test_the_preferred_leader_is_elected_if_it_is_in_sync(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        await led_by_the_second(cluster, "t", "u")
        await set_isr(cluster, "u", 0, [2])
        first, before = cluster.brokers[0], await state_of(cluster, "t")
        assert await elect(first, PREFERRED, "t", 0, 1) == {
            0: ErrorCode.NONE, 1: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        }  # fmt: skip
        after = await state_of(cluster, "t")
        assert after == before._replace(leader=1, leader_epoch=before.leader_epoch + 1)
        await eventually(lambda: cluster.brokers[1].replicas.require("t", 0).is_leader)
        await eventually(lambda: not cluster.brokers[2].replicas.require("t", 0).is_leader)
        not_needed = {0: ErrorCode.ELECTION_NOT_NEEDED}
        assert await elect(first, PREFERRED, "t", 0) == not_needed
        assert await elect(first, UNCLEAN, "t", 0) == not_needed
        missed = {0: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}
        assert await elect(first, PREFERRED, "u", 0) == missed
        assert await elect(first, PREFERRED, None) == missed, "the other topic is left out"
        refused = {0: ErrorCode.NOT_CONTROLLER}
        assert await elect(cluster.brokers[1], PREFERRED, "t", 0) == refused

    play(tmp_path, scene)


async def lost(cluster: Cluster, topic: str) -> None:
    """A topic on 1 and 2 of which only 1 was in sync, which has died."""
    await create_replicated(cluster, topic, [1, 2], isr=[1])
    await cluster.crash(cluster.brokers[1])
    cluster.let_sessions_expire()
    first = cluster.brokers[0]
    await eventually(lambda: 1 not in first.metadata.brokers)
    await eventually(lambda: first.metadata.topics[topic].partitions[0].leader_id == NO_LEADER)


def test_what_nobody_leads_is_led_by_anybody_on_request(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        await lost(cluster, "t")
        first = cluster.brokers[0]
        missed = {0: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}
        assert await elect(first, PREFERRED, "t", 0) == missed
        assert await elect(first, UNCLEAN, "t", 0) == {0: ErrorCode.NONE}
        state = await state_of(cluster, "t")
        assert (state.leader, state.isr, state.leader_epoch) == (2, [2], 2)
        assert state.leader_recovery_state == RECOVERING
        await cluster.crash(cluster.brokers[2])
        cluster.let_sessions_expire()
        await eventually(lambda: 2 not in first.metadata.brokers)
        assert await elect(first, UNCLEAN, "t", 0) == {0: ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE}

    play(tmp_path, scene)


@pytest.mark.parametrize("of", [TOPIC, BROKER])
def test_it_is_led_by_anybody_as_soon_as_that_is_allowed(tmp_path: Path, of: int) -> None:
    async def scene(cluster: Cluster) -> None:
        await lost(cluster, "t")
        change = resource(
            of, "t" if of is TOPIC else "", ("unclean.leader.election.enable", SET, "true")
        )
        assert await ask(cluster.brokers[2], lambda client: alter(client, change)) == [(0, None)]
        await eventually(lambda: cluster.brokers[2].replicas.require("t", 0).is_leader)
        assert (await state_of(cluster, "t")).isr == [2]

    play(tmp_path, scene)


def test_where_it_is_allowed_nobody_has_to_ask(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        allows = resource(TOPIC, "t", ("unclean.leader.election.enable", SET, "true"))
        await create_replicated(cluster, "t", [1, 2], isr=[1])
        await ask(cluster.brokers[0], lambda client: alter(client, allows))
        await cluster.crash(cluster.brokers[1])
        cluster.let_sessions_expire()
        await eventually(lambda: cluster.brokers[2].replicas.require("t", 0).is_leader)
        assert (await state_of(cluster, "t")).leader_epoch == 1, "nobody was without a leader"

    play(tmp_path, scene)


@pytest.mark.broker_says("the wish for elections cannot be read")
def test_a_tool_asks_by_a_znode_that_is_removed_when_it_is_done(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        await led_by_the_second(cluster, "t", "u")
        store = cluster.ensemble.connect()
        path, tree = paths.PREFERRED_REPLICA_ELECTION, cluster.ensemble.tree
        for body, topic in (
            (notices.encode_partitions([("t", 0), ("t", 9), ("none", 0)]), "t"),
            (b'{"version":1,"partitions":[["t",0]]}', None),
            (b"not JSON", None),
            (notices.encode_partitions([("u", 0)]), "u"),
        ):
            await store.create(path, body, make_parents=True)
            await eventually(lambda: "preferred_replica_election" not in tree.children("/admin"))
            if topic is not None:
                assert (await state_of(cluster, topic)).leader == 1

    play(tmp_path, scene)


def test_the_next_controller_holds_the_elections_that_were_asked_for(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        await led_by_the_second(cluster, "t")
        other = cluster.ensemble.connect()
        await cluster.crash(cluster.brokers[0])
        await other.create(
            paths.PREFERRED_REPLICA_ELECTION,
            notices.encode_partitions([("t", 0)]),
            make_parents=True,
        )
        cluster.let_sessions_expire()
        await eventually(lambda: cluster.brokers[1].replicas.require("t", 0).is_leader)
        tree = cluster.ensemble.tree
        await eventually(lambda: "preferred_replica_election" not in tree.children("/admin"))

    play(tmp_path, scene)


def test_leaders_go_back_to_where_they_are_preferred_by_and_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later_ms = 12 * rebalancing.FIRST_LOOK_MS  # not before the test lets it come
    monkeypatch.setattr(rebalancing, "FIRST_LOOK_MS", later_ms)

    async def scene(cluster: Cluster) -> None:
        await led_by_the_second(cluster, "t")
        cluster.brokers[0].clock.advance(later_ms)
        await eventually(lambda: cluster.brokers[1].replicas.require("t", 0).is_leader)

    play(tmp_path, scene, auto_leader_rebalance_enable="true")


def test_leaders_stay_where_few_of_them_are_elsewhere(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        await led_by_the_second(cluster, "t")
        await create_replicated(cluster, "many", *[[1]] * 9)
        elections = cluster.brokers[0].controller.decisions.elections
        in_turn = cluster.brokers[0].controller.in_turn
        await in_turn("rebalance", lambda: elections.rebalance(10))
        assert (await state_of(cluster, "t")).leader == 2, "a tenth is not too much"
        await in_turn("rebalance", lambda: elections.rebalance(9))
        assert (await state_of(cluster, "t")).leader == 1

    play(tmp_path, scene)
