"""Kafka's controller over ours, then ours over Kafka's: both do what there is to do, and go on
with what the other one has begun.

Kafka's brokers are 1 and 2, ours is 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from confluent_kafka.cimpl import NewPartitions, NewTopic
from kafka_tools import KafkaTools, plan

from mixed import asking
from mixed.ground import (
    BESIDE_TWO,
    OFFICE_TAKEN,
    PATIENCE_S,
    Ground,
    long,
    mixed_ground,
    until,
)
from mixed.load import Load

pytestmark = pytest.mark.broker_says(OFFICE_TAKEN, always=False)

KAFKAS, OURS = 1, 3
CONTROLLERS = {"Kafka's controller": KAFKAS, "our controller": OURS}
of_each = pytest.mark.parametrize("controller", CONTROLLERS.values(), ids=CONTROLLERS)
under_ours_or_each = pytest.mark.parametrize(
    "controller", [pytest.param(KAFKAS, marks=long), OURS], ids=CONTROLLERS
)
BROKERS = ["Kafka's broker", "our broker"]
CHANGES = {"from Kafka's to ours": (KAFKAS, OURS), "from ours to Kafka's": (OURS, KAFKAS)}
one_way_or_both = pytest.mark.parametrize(
    "change", [pytest.param((KAFKAS, OURS), marks=long), (OURS, KAFKAS)], ids=CHANGES
)
both_ways = pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
CONFIG = {"min.insync.replicas": "1", "segment.bytes": str(64 << 10)}
Seen = dict[str, dict[int, tuple[int, list[int], list[int]]]]
"""Topics, their partitions: leader, replicas, in-sync set."""


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with mixed_ground(BESIDE_TWO, tmp_path_factory.mktemp("controllers")) as made:
        yield made


def seen_by(ground: Ground, broker: int) -> Seen:
    """What a broker tells its clients."""
    found = asking.metadata(ground.node(broker).ports.client)
    return {
        topic.name or "": {
            each.partition_index: (
                each.leader_id, sorted(each.replica_nodes), sorted(each.isr_nodes),
            )
            for each in topic.partitions
        }
        for topic in found.topics
    }  # fmt: skip


def wait_for_one_view(ground: Ground) -> Seen:
    """All running brokers tell the same, which is what the registry says; that."""

    def are_one() -> Seen | None:
        views = [seen_by(ground, node.broker_id) for node in ground.cluster.running]
        is_true = views[0].keys() == ground.registry.topics and all(
            leader == ground.state(topic, index)["leader"]
            and isr == sorted(ground.state(topic, index)["isr"])
            for topic, partitions in views[0].items()
            for index, (leader, _, isr) in partitions.items()
        )
        return views[0] if is_true and all(view == views[0] for view in views) else None

    def views() -> dict[int, Seen]:
        return {node.broker_id: seen_by(ground, node.broker_id) for node in ground.cluster.running}

    found: Seen = until(are_one, views)
    return found


@of_each
def test_topics_are_made_grown_and_deleted(ground: Ground, controller: int) -> None:
    ground.give_office(controller)
    admin, name = ground.admin, f"made-under-{controller}"
    admin.create_topics([NewTopic(name, 3, 3)])[name].result(PATIENCE_S)
    admin.create_partitions([NewPartitions(name, 6)])[name].result(PATIENCE_S)
    until(lambda: len(ground.registry.assignment(name)) == 6, f"{name} does not grow")
    for index in range(6):
        ground.wait_for_isr(name, [1, 2, 3], index)
    led = [leader for leader, _, _ in wait_for_one_view(ground)[name].values()]
    assert sorted(led) == [1, 1, 2, 2, 3, 3], "every broker leads a third"
    with Load(ground, name, 6) as load:
        load.wait_for_more(100)
    load.check()
    admin.delete_topics([name])[name].result(PATIENCE_S)
    until(lambda: name not in ground.registry.topics, f"{name} is still there")
    assert name not in wait_for_one_view(ground)
    for broker in (1, 2, 3):
        data = ground.node(broker).data
        folders = lambda data=data: list(data.glob(f"{name}-?"))  # noqa: E731
        until(lambda folders=folders: not folders(), f"broker {broker} keeps {folders()}")


@under_ours_or_each
def test_preferred_leaders_are_elected(ground: Ground, tools: KafkaTools, controller: int) -> None:
    ground.give_office(controller)
    topic = ground.create([1, 2, 3], [2, 3, 1], [3, 1, 2])
    for index, target in enumerate(([3, 1, 2], [1, 2, 3], [2, 3, 1])):
        asking.reassign(ground.controller_port, topic, {index: target})
        until(
            lambda index=index, target=target: ground.registry.assignment(topic)[index] == target,
            "its replicas are not put into another order",
        )
    said = tools.ok(
        "kafka-leader-election", "--election-type", "preferred", "--all-topic-partitions"
    )
    assert "Successfully completed leader election (PREFERRED)" in said.out
    led = {index: leader for index, (leader, _, _) in wait_for_one_view(ground)[topic].items()}
    assert led == {0: 3, 1: 1, 2: 2}


@under_ours_or_each
@pytest.mark.parametrize("leaving", [2, pytest.param(3, marks=long)], ids=BROKERS)
def test_a_broker_stops_in_good_order_and_comes_back(
    ground: Ground, controller: int, leaving: int
) -> None:
    """It is relieved first (ControlledShutdown): nothing fails, nobody waits for its session."""
    ground.give_office(controller if controller != leaving else 1)
    topic = ground.create([leaving, 1], [1, leaving], config=CONFIG)
    epoch = ground.state(topic)["leader_epoch"]
    with Load(ground, topic, 2) as load:
        assert ground.node(leaving).stop()
        for index in (0, 1):
            assert (ground.state(topic, index)["leader"], ground.state(topic, index)["isr"]) == (
                1, [1],
            )  # fmt: skip
        assert ground.state(topic)["leader_epoch"] > epoch
        load.wait_for_more()
        ground.node(leaving).start()
        for index in (0, 1):
            ground.wait_for_isr(topic, [leaving, 1], index)
        load.wait_for_more()
    load.check()
    ground.elect(topic)
    wait_for_one_view(ground)
    log = ground.node(leaving).log.read_text(errors="replace")
    assert "unclean shutdown" not in log, "all it led was taken from it"


@under_ours_or_each
@pytest.mark.parametrize("killed", [pytest.param(2, marks=long), 3], ids=BROKERS)
def test_what_a_dead_broker_led_is_led_by_others(
    ground: Ground, controller: int, killed: int
) -> None:
    """Also when that is the controller itself: then the next one does it."""
    ground.give_office(controller)
    topic = ground.create([killed, 1], [1, killed], config=CONFIG)
    with Load(ground, topic, 2) as load:
        ground.node(killed).kill()
        ground.wait_for_leader(topic, 1)
        ground.wait_for_isr(topic, [1], 1)
        load.wait_for_more()
        ground.node(killed).start()
        for index in (0, 1):
            ground.wait_for_isr(topic, [killed, 1], index)
    load.check()
    wait_for_one_view(ground)


@both_ways
def test_a_move_that_one_controller_began_is_ended_by_the_next(
    ground: Ground, tools: KafkaTools, tmp_path: Path, change: tuple[int, int]
) -> None:
    ground.give_office(change[0])
    topic = ground.create([1, 3], [3, 1], config=CONFIG)
    for index in (0, 1):  # more than a segment, which one fetch would have before it is throttled
        ground.write(topic, 3_000, index)
    file = plan(tmp_path, topic, [2, 3], [2, 3])
    execute = ("--execute", "--additional", "--reassignment-json-file", file, "--throttle")
    tools.ok("kafka-reassign-partitions", *execute, "1000")
    ground.give_office(change[1])
    assert ground.registry.json(f"/brokers/topics/{topic}")["adding_replicas"]
    tools.ok("kafka-reassign-partitions", *execute, "50000000")
    for index in (0, 1):
        ground.wait_for_isr(topic, [2, 3], index)
        until(
            lambda index=index: ground.registry.assignment(topic)[index] == [2, 3],
            lambda: ground.registry.json(f"/brokers/topics/{topic}"),
        )
        ground.wait_for_same_replicas(topic, index)
    said = tools.ok("kafka-reassign-partitions", "--verify", "--reassignment-json-file", file)
    assert said.out.count("is completed") == 2


@one_way_or_both
def test_a_deletion_that_one_controller_began_is_ended_by_the_next(
    ground: Ground, change: tuple[int, int]
) -> None:
    """It waits for a broker that is away."""
    ground.give_office(change[0])
    topic = ground.create([1, 2, 3])
    ground.node(2).stop()
    admin = ground.admin
    admin.delete_topics([topic], operation_timeout=1)[topic]
    until(lambda: topic in ground.registry.children("/admin/delete_topics"), "it is not marked")
    ground.give_office(change[1])
    assert topic in ground.registry.topics
    ground.node(2).start()
    until(lambda: topic not in ground.registry.topics, f"{topic} is still there")
    until(lambda: not (ground.node(2).data / f"{topic}-0").exists(), "its broker keeps it")
    assert topic not in wait_for_one_view(ground)


@pytest.mark.parametrize("told", [2, 3], ids=["told Kafka's broker", "told ours"])
def test_settings_that_one_is_told_hold_for_all(ground: Ground, told: int) -> None:
    topic = ground.create([1, 2, 3])
    admin = AdminClient({"bootstrap.servers": ground.node(told).address, "log_level": 0})
    resource = ConfigResource(ResourceType.TOPIC, topic)
    resource.add_incremental_config(
        ConfigEntry("max.message.bytes", "2000", incremental_operation=AlterConfigOpType.SET)
    )
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)
    for node in ground.cluster.running:
        asked = AdminClient({"bootstrap.servers": node.address, "log_level": 0})
        wanted = ConfigResource(ResourceType.TOPIC, topic)

        def value(asked: AdminClient = asked, wanted: ConfigResource = wanted) -> str:
            found = asked.describe_configs([wanted])[wanted].result(PATIENCE_S)
            return str(found["max.message.bytes"].value)

        until(lambda value=value: value() == "2000", f"broker {node.broker_id} says {value()}")


@long
def test_ours_leads_what_is_left_when_all_of_kafkas_die(ground: Ground) -> None:
    """And Kafka's come back under our controller."""
    ground.give_office(KAFKAS)
    topic = ground.create([1, 2, 3], [2, 3, 1], config=CONFIG)
    ground.wait_for_isr(topic, [1, 2, 3])
    epoch = ground.registry.controller_epoch
    with Load(ground, topic, 2) as load:
        for broker in (1, 2):
            ground.node(broker).kill()
        until(lambda: ground.registry.controller == OURS, "ours is not controller")
        for index in (0, 1):
            ground.wait_for_leader(topic, OURS, index)
        load.wait_for_more()
        for broker in (1, 2):
            ground.node(broker).start()
        for index in (0, 1):
            ground.wait_for_isr(topic, [1, 2, 3], index)
        assert ground.registry.controller == OURS
        assert ground.registry.controller_epoch > epoch
    load.check()
    wait_for_one_view(ground)


def test_kafkas_lead_what_is_left_when_our_controller_stops(ground: Ground) -> None:
    ground.give_office(OURS)
    topic = ground.create([3, 1, 2], [3, 2, 1], config=CONFIG)
    with Load(ground, topic, 2) as load:
        assert ground.node(OURS).stop()
        until(lambda: ground.registry.controller in (1, 2), "nobody is controller")
        assert ground.state(topic)["leader"] == 1 and ground.state(topic, 1)["leader"] == 2
        load.wait_for_more()
        ground.node(OURS).start()
        for index in (0, 1):
            ground.wait_for_isr(topic, [1, 2, 3], index)
    load.check()
    wait_for_one_view(ground)


def test_what_all_have_left_is_the_same(ground: Ground) -> None:
    ground.stop_and_compare()
