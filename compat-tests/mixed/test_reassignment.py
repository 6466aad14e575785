"""Partitions move between ours and Apache Kafka's while they are written, by either one's tools.

Whoever is controller: Kafka's first, then ours. Kafka's brokers are 1 and 2, ours is 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka_tools import KafkaTools, plan

from mixed.ground import BESIDE_TWO, OFFICE_TAKEN, Ground, long, mixed_ground, until
from mixed.load import Load

pytestmark = pytest.mark.broker_says(OFFICE_TAKEN, always=False)

PARTITIONS = 2
CONTROLLERS = {"Kafka's controller": 1, "our controller": 3}
both_controllers = pytest.mark.parametrize("controller", CONTROLLERS.values(), ids=CONTROLLERS)
kafkas_or_both = pytest.mark.parametrize(
    "controller", [1, pytest.param(3, marks=long)], ids=CONTROLLERS
)
ours_or_both = pytest.mark.parametrize(
    "controller", [pytest.param(1, marks=long), 3], ids=CONTROLLERS
)
CONFIG = {"segment.bytes": str(64 << 10), "min.insync.replicas": "1"}


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with mixed_ground(BESIDE_TWO, tmp_path_factory.mktemp("reassignment")) as made:
        yield made


@kafkas_or_both
def test_kafkas_tool_moves_partitions_to_ours_and_back(
    ground: Ground, tools: KafkaTools, tmp_path: Path, controller: int
) -> None:
    ground.give_office(controller)
    topic = ground.create(*[[1, 2]] * PARTITIONS, config=CONFIG)
    ground.write(topic, 2_000)
    with Load(ground, topic, PARTITIONS) as load:
        for target in ([3, 2], [1, 2]):
            move(ground, tools, tmp_path, topic, target)
            load.wait_for_more()
    load.check()
    assert not (ground.node(3).data / f"{topic}-0").exists()


def move(ground: Ground, tools: KafkaTools, folder: Path, topic: str, target: list[int]) -> None:
    file = plan(folder, topic, *[target] * PARTITIONS)
    tools.ok(
        "kafka-reassign-partitions", "--execute", "--reassignment-json-file", file,
        "--throttle", "50000000",
    )  # fmt: skip

    def has_moved() -> bool:
        said = tools.ok("kafka-reassign-partitions", "--verify", "--reassignment-json-file", file)
        return said.out.count("is completed") == PARTITIONS

    until(has_moved, lambda: ground.registry.json(f"/brokers/topics/{topic}"))
    arrived(ground, topic, target)
    config = ground.registry.json(f"/config/topics/{topic}")["config"]
    assert not any("throttled" in name for name in config), "they go when all has moved"


def arrived(ground: Ground, topic: str, target: list[int]) -> None:
    """The registry, the in-sync sets and the disks say so."""
    assert list(ground.registry.assignment(topic).values()) == [target] * PARTITIONS
    gone = next(broker for broker in (1, 2, 3) if broker not in target)
    for partition in range(PARTITIONS):
        ground.wait_for_isr(topic, target, partition)
        folder = ground.node(gone).data / f"{topic}-{partition}"
        until(lambda folder=folder: not folder.exists(), f"{folder} is still there")
        assert ground.state(topic, partition)["leader"] in target


@ours_or_both
def test_our_tool_moves_partitions_to_kafkas_and_back(ground: Ground, controller: int) -> None:
    ground.give_office(controller)
    topic = ground.create(*[[3, 2]] * PARTITIONS, config=CONFIG)
    ground.write(topic, 2_000)
    with Load(ground, topic, PARTITIONS) as load:
        for brokers in ([1, 2], [2, 3]):
            ground.barnabas(
                "topics", "reassign", topic, "--yes", "--brokers", ",".join(map(str, brokers))
            )
            for partition, replicas in ground.registry.assignment(topic).items():
                assert sorted(replicas) == brokers
                ground.wait_for_isr(topic, brokers, partition)
            load.wait_for_more()
    load.check()
    assert not (ground.node(1).data / f"{topic}-0").exists()


@both_controllers
def test_a_move_is_taken_back(
    ground: Ground, tools: KafkaTools, tmp_path: Path, controller: int
) -> None:
    """It would take minutes, for it is throttled."""
    ground.give_office(controller)
    topic = ground.create([1, 3], config=CONFIG)
    ground.write(topic, 2_000)
    file = plan(tmp_path, topic, [3, 2])
    tools.ok(
        "kafka-reassign-partitions", "--execute", "--reassignment-json-file", file,
        "--throttle", "1000",
    )  # fmt: skip
    listed = tools.ok("kafka-reassign-partitions", "--list").out
    assert f"{topic}-0: replicas: 3,2,1. adding: 2. removing: 1." in listed
    cancelled = tools.ok("kafka-reassign-partitions", "--cancel", "--reassignment-json-file", file)
    assert "Successfully cancelled partition reassignment" in cancelled.out
    until(lambda: sorted(ground.registry.assignment(topic)[0]) == [1, 3], "it is not taken back")
    ground.wait_for_isr(topic, [1, 3])
    folder = ground.node(2).data / f"{topic}-0"
    until(lambda: not folder.exists(), "what was copied stays")


def test_what_all_have_left_is_the_same(ground: Ground) -> None:
    ground.stop_and_compare()
