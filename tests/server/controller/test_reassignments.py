"""Partitions move to other replicas, whatever happens on the way."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from barnabas.server.broker import Broker
from barnabas.server.registry import notices, paths
from barnabas.server.registry.bodies import TopicAssignment
from barnabas.server.registry.znodes.store import ConnectionLoss
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.wire.messages.leader_and_isr import LeaderAndIsrRequest
from barnabas.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from tests.server.cluster.cluster import LEADERS_STAY, Cluster, cluster_of
from tests.server.controller.in_sync import controller_of, create_replicated, set_isr, state_of
from tests.server.controller.test_two_brokers import ask
from tests.server.waiting import PATIENCE_S, eventually

Scene = Callable[[Cluster], Awaitable[None]]
Targets = dict[int, Sequence[int] | None]


def play(folder: Path, scene: Scene, count: int = 4) -> None:
    async def played() -> None:
        async with cluster_of(folder, count, **LEADERS_STAY) as cluster:
            await scene(cluster)

    asyncio.run(played())


async def move(cluster: Cluster, targets: Targets, topic: str = "t", **options: Any) -> list[int]:
    """The code of each partition in the answer."""
    partitions = [
        ReassignablePartition(partition_index=i, replicas=None if to is None else list(to))
        for i, to in targets.items()
    ]
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name=topic, partitions=partitions)], **options
    )
    answer = await ask(controller_of(cluster), lambda client: client.call(request, 1))
    return [each.error_code for found in answer.responses for each in found.partitions]


async def moving(cluster: Cluster, *asked: int) -> dict[int, tuple[list[int], ...]]:
    """What is listed of the topic: (replicas, adding, removing) by partition."""
    topics = None
    if asked:
        topics = [ListPartitionReassignmentsTopics(name="t", partition_indexes=[*asked])]
    request = ListPartitionReassignmentsRequest(topics=topics)
    answer = await ask(controller_of(cluster), lambda client: client.call(request, 0))
    return {
        each.partition_index: (each.replicas, each.adding_replicas, each.removing_replicas)
        for topic in answer.topics
        for each in topic.partitions
    }


async def assignment(cluster: Cluster, topic: str = "t") -> TopicAssignment:
    found = await next(iter(cluster.brokers.values())).registry.topics.read(topic)
    assert found is not None
    return found.assignment


async def until_written(cluster: Cluster, index: int, replicas: Sequence[int]) -> None:
    """Wait until the registry says that the move is over."""
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        found = await assignment(cluster)
        is_moving = found.adding_replicas.get(index) or found.removing_replicas.get(index)
        if not is_moving and list(found.replicas[index]) == list(replicas):
            return
        assert time.monotonic() < deadline_s, found
        await asyncio.sleep(0.002)


async def until_assigned(cluster: Cluster, replicas: Sequence[int], index: int = 0) -> None:
    """Wait until the move is over: in the registry, and for every broker."""

    def is_known(broker: Broker) -> bool:
        info = broker.metadata.partition("t", index)
        return info is not None and list(info.replicas) == list(replicas)

    for broker in cluster.brokers.values():
        await eventually(partial(is_known, broker))
    for broker_id, broker in cluster.brokers.items():
        held = broker_id in replicas
        await eventually(
            partial(lambda b, h: (b.replicas.find("t", index) is not None) is h, broker, held)
        )
    await until_written(cluster, index, replicas)
    await eventually(lambda: not controller_of(cluster).controller.decisions.reassignments.moving())


def hold_back(broker: Broker) -> None:
    """It follows nobody from now on, and gets in sync with nothing new."""
    broker.followers.follow = lambda partition: None  # type: ignore[method-assign]


def log_folders(cluster: Cluster, broker_id: int, name: str = "t-0") -> list[Path]:
    return list((cluster.folder / str(broker_id)).glob(name))


def reassigning(cluster: Cluster, broker_id: int) -> int:
    """What the broker's metrics say of moves among the partitions that it leads."""
    for source in cluster.brokers[broker_id].metrics.sources:
        if source.name == "kafka_server_replicamanager_reassigningpartitions":
            return next(int(value) for _, value in source.read())
    raise AssertionError("no such metric")


async def until_deleted(cluster: Cluster, *broker_ids: int) -> None:
    """A replica is stopped first; that its log goes is asked for by a second StopReplica."""
    for broker_id in broker_ids:
        await eventually(lambda broker_id=broker_id: not log_folders(cluster, broker_id))  # type: ignore[misc]


def test_the_znodes_are_those_of_kafka_when_a_replica_goes(tmp_path: Path) -> None:
    """[1, 2, 3] to [2, 3]: its leader moves, in two epochs."""

    async def scene(cluster: Cluster) -> None:
        await create_replicated(cluster, "t", [1, 2, 3])
        assert await move(cluster, {0: [2, 3]}) == [0]
        await until_assigned(cluster, [2, 3])
        state = await state_of(cluster, "t")
        assert (state.leader, list(state.isr), state.leader_epoch) == (2, [2, 3], 2)
        await until_deleted(cluster, 1)
        assert cluster.brokers[2].replicas.require("t", 0).is_leader

    play(tmp_path, scene)


def test_a_replica_is_added_and_another_goes_once_that_is_in_sync(tmp_path: Path) -> None:
    """[2, 3] to [3, 1], as recorded."""

    async def scene(cluster: Cluster) -> None:
        await create_replicated(cluster, "t", [2, 3], [2])
        hold_back(cluster.brokers[1])
        assert await move(cluster, {0: [3, 1]}) == [0]
        assert await moving(cluster) == await moving(cluster, 0, 1, 9) == {0: ([3, 1, 2], [1], [2])}
        found = await assignment(cluster)
        assert list(found.replicas[0]) == [3, 1, 2]
        state = await state_of(cluster, "t")
        assert (state.leader, list(state.isr), state.leader_epoch) == (2, [2, 3], 1)
        await eventually(lambda: cluster.brokers[1].replicas.find("t", 0) is not None)
        assert list((await assignment(cluster)).replicas[0]) == [3, 1, 2], "it is not in sync yet"
        await eventually(lambda: reassigning(cluster, 2) == 1)

        await set_isr(cluster, "t", 0, [2, 3, 1])
        await until_assigned(cluster, [3, 1])
        state = await state_of(cluster, "t")
        assert (state.leader, list(state.isr), state.leader_epoch) == (3, [3, 1], 3)
        assert await moving(cluster) == {}
        await until_deleted(cluster, 2)
        await eventually(lambda: reassigning(cluster, 3) == 0)
        assert log_folders(cluster, 2, "t-1"), "the other partition has stayed"

    play(tmp_path, scene)


def test_only_those_that_are_added_are_told_that_it_is_new(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        await create_replicated(cluster, "t", [2, 3])
        heard: dict[int, bool] = {}

        def listen(broker: Broker) -> None:
            take = broker.control.leader_and_isr

            async def noted(request: LeaderAndIsrRequest, version: int) -> object:
                for topic in request.topic_states:
                    for state in topic.partition_states:
                        heard.setdefault(
                            broker.broker_id, state.is_new
                        )  # they hear again at its end
                return await take(request, version)

            broker.control.leader_and_isr = noted  # type: ignore[method-assign,assignment]

        for broker in cluster.brokers.values():
            listen(broker)
        await move(cluster, {0: [3, 1]})
        await eventually(lambda: heard == {1: True, 2: False, 3: False})

    play(tmp_path, scene)


def test_another_order_makes_another_leader_preferred(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        await create_replicated(cluster, "t", [1, 2])
        assert await move(cluster, {0: [2, 1]}) == [0]
        await until_assigned(cluster, [2, 1])
        state = await state_of(cluster, "t")
        assert (state.leader, list(state.isr), state.leader_epoch) == (1, [1, 2], 1)

    play(tmp_path, scene, 3)


def test_a_move_that_is_cancelled_deletes_what_it_has_added(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        await create_replicated(cluster, "t", [1, 2])
        hold_back(cluster.brokers[0])
        hold_back(cluster.brokers[3])
        assert await move(cluster, {0: None}) == [ErrorCode.NO_REASSIGNMENT_IN_PROGRESS]
        await move(cluster, {0: [1, 3, 0]})
        await eventually(lambda: cluster.brokers[3].replicas.find("t", 0) is not None)
        await set_isr(cluster, "t", 0, [1, 2, 3])
        assert await move(cluster, {0: None}) == [0]
        await until_assigned(cluster, [1, 2])
        state = await state_of(cluster, "t")
        assert (state.leader, list(state.isr)) == (1, [1, 2])
        await until_deleted(cluster, 3, 0)

    play(tmp_path, scene)


def test_a_move_that_is_overridden_goes_to_the_new_place(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        await create_replicated(cluster, "t", [1, 2])
        hold_back(cluster.brokers[0])
        hold_back(cluster.brokers[3])
        await move(cluster, {0: [1, 3]})
        await eventually(lambda: cluster.brokers[3].replicas.find("t", 0) is not None)
        assert await move(cluster, {0: [0, 1]}) == [0]
        assert await moving(cluster) == {0: ([0, 1, 2], [0], [2])}
        await eventually(lambda: cluster.brokers[3].replicas.find("t", 0) is None)
        await set_isr(cluster, "t", 0, [1, 2, 0])
        await until_assigned(cluster, [0, 1])

    play(tmp_path, scene)


def test_the_only_replica_with_everything_is_not_given_up(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        await create_replicated(cluster, "t", [1, 2])
        hold_back(cluster.brokers[0])
        hold_back(cluster.brokers[3])
        await move(cluster, {0: [3, 0]})
        await set_isr(cluster, "t", 0, [3])
        for target in (None, [1, 0]):
            refused = await move(cluster, {0: target})
            assert refused == [ErrorCode.INVALID_REPLICA_ASSIGNMENT]

    play(tmp_path, scene)


def test_what_cannot_be_is_said_for_each_partition(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        await create_replicated(cluster, "t", *[[1, 2]] * 6)
        wanted: Targets = {0: [], 1: [1, 1], 2: [-1], 3: [1, 9], 4: [2], 5: None, 6: [1], 7: None}
        bad = ErrorCode.INVALID_REPLICA_ASSIGNMENT
        assert await move(cluster, wanted) == [
            bad, bad, bad, bad, 0, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
        ]  # fmt: skip
        resized = await move(cluster, {5: [2]}, allow_replication_factor_change=False)
        assert resized == [ErrorCode.INVALID_REPLICATION_FACTOR]
        partitions = [ReassignablePartition(partition_index=0, replicas=[1])] * 2
        twice = AlterPartitionReassignmentsRequest(
            topics=[ReassignableTopic(name="t", partitions=partitions)]
        )
        answer = await ask(cluster.brokers[0], lambda client: client.call(twice, 0))
        codes = [each.error_code for each in answer.responses[0].partitions]
        assert codes == [ErrorCode.INVALID_REQUEST] * 2
        answer = await ask(cluster.brokers[1], lambda client: client.call(twice, 0))
        assert answer.error_code == ErrorCode.NOT_CONTROLLER
        listed = ListPartitionReassignmentsRequest(topics=None)
        answer = await ask(cluster.brokers[1], lambda client: client.call(listed, 0))
        assert answer.error_code == ErrorCode.NOT_CONTROLLER

    play(tmp_path, scene, 3)


def wish(targets: dict[tuple[str, int], Sequence[int]]) -> bytes:
    return notices.encode_reassignment(targets)


def is_asked_for(cluster: Cluster) -> bool:
    return "reassign_partitions" in cluster.ensemble.tree.children("/admin")


def test_a_tool_asks_by_a_znode_that_is_removed_when_all_have_moved(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        await create_replicated(cluster, "t", [1, 2], [1, 2], [1, 2])
        hold_back(cluster.brokers[3])
        store, path = cluster.ensemble.connect(), paths.REASSIGN_PARTITIONS
        body = wish(
            {("t", 0): [2], ("t", 1): [1, 3], ("t", 2): [1, 2], ("t", 9): [1], ("u", 0): []}
        )
        await store.create(path, body, make_parents=True)
        await eventually(lambda: bool(is_asked_for(cluster)))
        await until_written(cluster, 0, [2])
        await eventually(lambda: cluster.brokers[3].replicas.find("t", 1) is not None)

        def left() -> bool:
            data = cluster.ensemble.tree.nodes[path].data
            return notices.decode_reassignment(data or b"") == {("t", 1): [1, 3]}

        await eventually(left)
        await set_isr(cluster, "t", 1, [1, 2, 3])
        await until_assigned(cluster, [1, 3], 1)
        await eventually(lambda: not is_asked_for(cluster))
        await store.create(path, wish({("t", 2): [2, 1]}))
        await until_assigned(cluster, [2, 1], 2)
        await eventually(lambda: not is_asked_for(cluster))

    play(tmp_path, scene)


@pytest.mark.broker_says("the wish to move partitions cannot be read")
def test_a_wish_that_nobody_can_read_is_said_and_left(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async def scene(cluster: Cluster) -> None:
        await create_replicated(cluster, "t", [1, 2])
        store, path = cluster.ensemble.connect(), paths.REASSIGN_PARTITIONS
        said = ""
        for body in (b"not JSON", b"[]", b'{"partitions":[{"topic":"t","partition":0}]}'):
            await store.create(path, body, make_parents=True)
            before = said.count("cannot be read")
            while said.count("cannot be read") == before:
                await asyncio.sleep(0.002)
                said += capfd.readouterr().err
            await store.delete(path)
        await store.create(path, wish({("t", 0): [2, 1]}))
        await until_assigned(cluster, [2, 1])

    play(tmp_path, scene, 3)


def test_what_a_client_asks_overrides_what_a_tool_has_asked(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        await create_replicated(cluster, "t", [1, 2])
        hold_back(cluster.brokers[0])
        hold_back(cluster.brokers[3])
        store = cluster.ensemble.connect()
        await store.create(paths.REASSIGN_PARTITIONS, wish({("t", 0): [3, 0]}), make_parents=True)
        await eventually(lambda: cluster.brokers[3].replicas.find("t", 0) is not None)
        assert await move(cluster, {0: None}) == [0]
        assert not is_asked_for(cluster)
        await until_assigned(cluster, [1, 2])

    play(tmp_path, scene)


def test_a_topic_that_is_deleted_on_its_way_goes_everywhere(tmp_path: Path) -> None:
    async def scene(cluster: Cluster) -> None:
        await create_replicated(cluster, "t", [1, 2])
        hold_back(cluster.brokers[0])
        hold_back(cluster.brokers[3])
        store = cluster.ensemble.connect()
        await store.create(paths.REASSIGN_PARTITIONS, wish({("t", 0): [3, 0]}), make_parents=True)
        await eventually(lambda: cluster.brokers[3].replicas.find("t", 0) is not None)
        await cluster.brokers[1].topics.mark_for_deletion("t")
        tree = cluster.ensemble.tree
        await eventually(lambda: not tree.children(paths.TOPICS) and not is_asked_for(cluster))
        for broker_id, broker in cluster.brokers.items():
            assert len(broker.replicas) == 0 and not log_folders(cluster, broker_id)

    play(tmp_path, scene)


def is_led_since(broker: Broker, epoch: int) -> bool:
    info = broker.metadata.partition("t", 0)
    return info is not None and info.leader_epoch >= epoch


@pytest.mark.parametrize("ends", ["stops", "crashes"])
def test_the_next_controller_goes_on(tmp_path: Path, ends: str) -> None:
    async def scene(cluster: Cluster) -> None:
        await create_replicated(cluster, "t", [1, 2])
        hold_back(cluster.brokers[0])
        hold_back(cluster.brokers[3])
        await move(cluster, {0: [2, 3]})
        await eventually(lambda: cluster.brokers[3].replicas.find("t", 0) is not None)
        first = controller_of(cluster)
        if ends == "stops":
            await cluster.stop(first)
        else:
            await cluster.crash(first)
            cluster.let_sessions_expire()
        await eventually(lambda: any(b.controller.is_active for b in cluster.brokers.values()))
        for broker in cluster.brokers.values():  # told once more, in a new epoch
            await eventually(partial(is_led_since, broker, 2))
        await set_isr(cluster, "t", 0, [1, 2, 3])
        await until_assigned(cluster, [2, 3])

    play(tmp_path, scene)


SAYS = pytest.mark.broker_says("an event failed and is tried again")


@pytest.mark.parametrize(
    ("lost", "takes_over"),
    [
        *((lost, takes_over) for lost in range(3) for takes_over in (True, False)),
        *(
            pytest.param(lost, takes_over, marks=SAYS)
            for lost in range(3, 7)
            for takes_over in (True, False)
        ),
    ],
)
def test_a_move_that_is_cut_short_anywhere_is_brought_to_its_end(
    tmp_path: Path, lost: int, takes_over: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection is lost at each write in turn, after it has happened; then the same
    controller goes on, or another one."""

    async def scene(cluster: Cluster) -> None:
        await create_replicated(cluster, "t", [1, 2])
        controller, writes = controller_of(cluster), 0

        def losing(write: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
            async def maybe(*arguments: Any) -> Any:
                nonlocal writes
                result = await write(*arguments)
                writes += 1
                if writes == lost + 1:
                    raise ConnectionLoss(paths.TOPICS)
                return result

            return maybe

        for part, method in (("topics", "write_assignment"), ("partitions", "write")):
            owner = getattr(controller.registry, part)
            monkeypatch.setattr(owner, method, losing(getattr(owner, method)))
        await move(cluster, {0: [3]})
        await eventually(lambda: writes > lost)
        if takes_over:
            await cluster.crash(controller)
            cluster.let_sessions_expire()
            await eventually(lambda: any(b.controller.is_active for b in cluster.brokers.values()))
        controller_of(cluster).clock.advance(1_000)
        await until_assigned(cluster, [3])
        assert (await state_of(cluster, "t")).isr == [3]

    play(tmp_path, scene)
