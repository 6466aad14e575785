"""Topics: created, changed, marked and deleted as Kafka does it."""

import pytest

from barnabas.server.registry.bodies import PartitionState, TopicAssignment
from barnabas.server.registry.controller import ControllerEpoch
from barnabas.server.registry.errors import (
    ControllerMoved,
    TopicExists,
    UnknownTopic,
    VersionConflict,
)
from barnabas.server.registry.registry import Registry
from barnabas.server.registry.topics import Topic, colliding_topics
from barnabas.wire.uuids import Uuid
from tests.server.registry.recording import RecordingStore, kafka_wrote
from tests.server.registry.test_cluster import registries
from tests.server.registry.worlds import Heard

THREE = {0: [1, 2, 3], 1: [2, 3, 1], 2: [3, 1, 2]}


async def ruling(count: int = 1) -> tuple[ControllerEpoch, list[Registry]]:
    """Return registries of which the first is controller."""
    made = registries(count)
    await made[0].cluster.ensure_paths()
    epoch = await made[0].controller.elect(1, 1)
    assert epoch is not None
    return epoch, made


def states(topic: str, replicas: dict[int, list[int]]) -> dict[tuple[str, int], PartitionState]:
    return {(topic, p): PartitionState(r[0], 0, r, 1) for p, r in replicas.items()}


async def test_a_topic_is_read_as_it_was_created() -> None:
    _, (one, two) = await ruling(2)
    heard = Heard()
    assert await two.topics.names(heard.watch) == []
    made = await one.topics.create("t1", THREE, {"retention.ms": "1"})
    assert heard.told() == [("CHILDREN_CHANGED", "/brokers/topics")]
    assert made.topic_id is not None
    found = await two.topics.read("t1")
    assert found is not None
    assert found.assignment == made
    assert found.znode_version == 0
    assert await two.configs.read("topics/t1") == {"retention.ms": "1"}
    assert await two.topics.read_all() == {"t1": found}
    assert await two.topics.read("t2") is None


async def test_a_topic_with_a_given_id_and_below_protocol_2_8_without() -> None:
    _, (one,) = await ruling()
    topic_id = Uuid(bytes(range(16)))
    assert (await one.topics.create("t1", THREE, {}, topic_id)).topic_id == topic_id
    old = Registry(one.store, (2, 6))
    assert (await old.topics.create("t2", THREE, {}, topic_id)).topic_id is None


async def test_a_topic_exists_until_it_is_deleted() -> None:
    epoch, (one,) = await ruling()
    await one.topics.create("t1", THREE, {})
    with pytest.raises(TopicExists, match="topic t1 exists"):
        await one.topics.create("t1", THREE, {"a": "b"})
    assert await one.configs.read("topics/t1") == {}
    await one.topics.mark_for_deletion("t1")
    await one.topics.mark_for_deletion("t1")
    assert await one.topics.marked_for_deletion() == ["t1"]
    with pytest.raises(TopicExists, match="topic t1 is marked for deletion"):
        await one.topics.create("t1", THREE, {})
    await one.topics.delete("t1", epoch)
    assert await one.topics.marked_for_deletion() == []
    await one.topics.create("t1", {0: [1]}, {})


async def test_a_config_left_behind_is_overwritten() -> None:
    _, (one,) = await ruling()
    await one.configs.write("topics/t1", {"old": "1"})
    await one.topics.create("t1", THREE, {"new": "2"})
    assert await one.configs.read("topics/t1") == {"new": "2"}


async def test_deleting_leaves_nothing_and_can_be_repeated() -> None:
    epoch, (one,) = await ruling()
    await one.topics.create("t1", THREE, {})
    await one.partitions.create(states("t1", THREE), epoch)
    await one.topics.mark_for_deletion("t1")
    await one.store.delete("/brokers/topics/t1/partitions/1/state")
    await one.topics.delete("t1", epoch)
    await one.topics.delete("t1", epoch)
    for parent in ("/brokers/topics", "/config/topics", "/admin/delete_topics"):
        assert await one.store.children(parent) == []


async def test_a_mark_can_be_taken_off() -> None:
    epoch, (one,) = await ruling()
    heard = Heard()
    await one.topics.marked_for_deletion(heard.watch)
    await one.topics.mark_for_deletion("absent")
    assert heard.told() == [("CHILDREN_CHANGED", "/admin/delete_topics")]
    await one.topics.unmark_for_deletion(["absent", "never"], epoch)
    assert await one.topics.marked_for_deletion() == []


async def test_partitions_are_added_by_anybody_and_replicas_moved_by_the_controller() -> None:
    epoch, (one, two) = await ruling(2)
    made = await one.topics.create("t1", {0: [1]}, {})
    heard = Heard()
    await one.topics.read("t1", heard.watch)
    await two.topics.write_assignment("t1", Topic(made._replace(replicas={0: [1], 1: [2]}), 0))
    assert heard.told() == [("DATA_CHANGED", "/brokers/topics/t1")]
    moving = TopicAssignment({0: [2, 1]}, made.topic_id, {0: [2]}, {0: [1]})
    await one.topics.write_assignment("t1", Topic(moving, 1), epoch)
    found = await two.topics.read("t1")
    assert found is not None
    assert (found.assignment, found.znode_version) == (moving, 2)
    with pytest.raises(UnknownTopic):
        await two.topics.write_assignment("t2", Topic(made, 0))


async def test_of_two_that_add_partitions_at_once_the_second_is_told() -> None:
    _, (one, two) = await ruling(2)
    made = await one.topics.create("t1", {0: [1]}, {})
    await one.topics.write_assignment("t1", Topic(made._replace(replicas={0: [1], 1: [1]}), 0))
    with pytest.raises(VersionConflict):
        await two.topics.write_assignment("t1", Topic(made._replace(replicas={0: [1], 1: [2]}), 0))
    found = await two.topics.read("t1")
    assert found is not None and found.assignment.replicas[1] == [1]


async def test_of_two_that_create_a_topic_at_once_the_second_leaves_no_config(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, (one, two) = await ruling(2)
    create = two.configs.create

    async def too_late(entity_path: str, config: dict[str, str]) -> bool:
        await one.topics.create("t1", {0: [1]}, {"by": "one"})
        return await create(entity_path, config)

    monkeypatch.setattr(two.configs, "create", too_late)
    with pytest.raises(TopicExists):
        await two.topics.create("t1", {0: [2]}, {"by": "two"})
    assert await two.configs.read("topics/t1") == {"by": "one"}


async def test_a_former_controller_writes_nothing() -> None:
    former, (one, two) = await ruling(2)
    made = await one.topics.create("t1", THREE, {})
    await one.partitions.create(states("t1", THREE), former)
    await one.controller.resign(former)
    assert await two.controller.elect(2, 2) is not None
    with pytest.raises(ControllerMoved):
        await one.topics.write_assignment("t1", Topic(made, 0), former)
    with pytest.raises(ControllerMoved):
        await one.topics.delete("t1", former)
    assert len(await two.partitions.read([("t1", p) for p in THREE])) == 3


def test_names_that_differ_in_dots_and_underscores_only_collide() -> None:
    existing = ["a.b", "a_b", "ab", "a.c"]
    assert colliding_topics("a_b", existing) == ["a.b", "a_b"]
    assert colliding_topics("a.d", existing) == []


async def test_creating_writes_what_kafka_writes() -> None:
    store = RecordingStore()
    registry = Registry(store)
    await registry.cluster.ensure_paths()
    epoch = await registry.controller.elect(1, 1)
    assert epoch is not None
    store.take()
    config = {"max.message.bytes": "200000", "retention.ms": "3600000"}
    await registry.topics.create("t1", THREE, config, Uuid.from_text("eT2hBKwtSvWy6LjS36LLOw"))
    await registry.partitions.create(states("t1", THREE), epoch)
    # Kafka first tries to overwrite the config, which is refused for a new topic.
    refused = ("multi", ("check", "/controller", 0), ("setData", "/config/topics/t1"))
    expected = kafka_wrote("topic-create")
    assert expected[0][:2] == refused[:2]
    assert store.take() == expected[1:]


async def test_deleting_writes_what_kafka_writes() -> None:
    store = RecordingStore()
    registry = Registry(store)
    await registry.cluster.ensure_paths()
    epoch = await registry.controller.elect(1, 1)
    assert epoch is not None
    replicas = {partition: [3] for partition in range(4)}
    await registry.topics.create("t2", replicas, {})
    await registry.partitions.create(states("t2", replicas), epoch)
    store.take()
    await registry.topics.mark_for_deletion("t2")
    await registry.topics.delete("t2", epoch)
    # Between the mark and the removal Kafka takes the partitions offline, in their states.
    mark, *others = kafka_wrote("topic-delete")
    assert store.take() == [mark, *(w for w in others if w[-1][0] == "delete")]
