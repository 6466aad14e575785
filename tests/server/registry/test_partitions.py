"""Partition states and the two guards on their writes."""

import pytest

from barnabas.server.registry.bodies import PartitionState
from barnabas.server.registry.errors import ControllerMoved
from barnabas.server.registry.partitions import VersionedState
from barnabas.server.registry.znodes.store import BadVersion, NodeExists, NoNode
from tests.server.registry.test_topics import THREE, ruling, states


async def test_new_partitions_are_read_as_they_were_written() -> None:
    epoch, (one,) = await ruling()
    await one.topics.create("t1", THREE, {})
    wanted = states("t1", THREE)
    assert await one.partitions.create(wanted, epoch) == {}
    found = await one.partitions.read([*wanted, ("t1", 9), ("t2", 0)])
    assert found == {partition: VersionedState(state, 0) for partition, state in wanted.items()}


async def test_a_reader_can_learn_when_each_state_was_written() -> None:
    epoch, (one,) = await ruling()
    await one.topics.create("t1", THREE, {})
    await one.partitions.create(states("t1", {0: [7], 1: [7]}), epoch)
    key, written = ("t1", 1), dict[tuple[str, int], int]()
    found = await one.partitions.read([("t1", 0), key, ("t1", 9)], written=written)
    assert written.keys() == {("t1", 0), key}
    before = dict(written)
    await one.partitions.write({key: found[key]}, epoch)
    await one.partitions.read([("t1", 0), key], written=written)
    assert written[key] > before[key] > 0
    assert written["t1", 0] == before["t1", 0]


async def test_a_state_that_exists_is_not_overwritten() -> None:
    epoch, (one,) = await ruling()
    await one.topics.create("t1", THREE, {})
    await one.partitions.create(states("t1", {1: [7]}), epoch)
    refused = await one.partitions.create(states("t1", THREE), epoch)
    assert list(refused) == [("t1", 1)]
    assert isinstance(refused["t1", 1], NodeExists)
    found = await one.partitions.read([("t1", 0), ("t1", 1)])
    assert [found["t1", p].state.leader for p in (0, 1)] == [1, 7]


async def test_partitions_of_a_topic_that_is_gone() -> None:
    epoch, (one,) = await ruling()
    with pytest.raises(NoNode):
        await one.partitions.create(states("t1", THREE), epoch)


async def test_of_two_writes_on_one_partition_epoch_the_first_happens() -> None:
    epoch, (one, two) = await ruling(2)
    await one.topics.create("t1", THREE, {})
    await one.partitions.create(states("t1", THREE), epoch)
    first, second = PartitionState(1, 0, [1], 1), PartitionState(1, 0, [1, 2], 1)
    written = await two.partitions.write({("t1", 0): VersionedState(first, 0)}, None)
    assert written == {("t1", 0): 1}
    updates = {
        ("t1", 0): VersionedState(second, 0),
        ("t1", 1): VersionedState(second, 0),
        ("t9", 0): VersionedState(second, 0),
    }
    outcome = await one.partitions.write(updates, epoch)
    assert outcome["t1", 1] == 1
    assert isinstance(outcome["t1", 0], BadVersion)
    assert isinstance(outcome["t9", 0], NoNode)
    found = await one.partitions.read([("t1", 0), ("t1", 1)])
    assert found == {("t1", 0): VersionedState(first, 1), ("t1", 1): VersionedState(second, 1)}


async def test_a_former_controller_is_stopped() -> None:
    former, (one, two) = await ruling(2)
    await one.topics.create("t1", THREE, {})
    await one.partitions.create(states("t1", THREE), former)
    await one.controller.resign(former)
    await two.controller.elect(2, 2)
    with pytest.raises(ControllerMoved):
        await one.partitions.create(states("t1", {3: [1]}), former)
    update = {("t1", 0): VersionedState(PartitionState(2, 1, [2], 1), 0)}
    with pytest.raises(ControllerMoved):
        await one.partitions.write(update, former)
    assert (await one.partitions.read([("t1", 0)]))["t1", 0].state.leader == 1
