"""Apache Kafka's tools for clusters, of 3.9.1, work unchanged on three brokers.

`kafka-reassign-partitions` and `kafka-leader-election`; what they print is what somebody reads.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from broker_admin import unique_name
from kafka_tools import KafkaTools, Outcome, plan

from barnabas.server.testing.cluster import Cluster

PATIENCE_S = 120.0


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Three brokers; the tests say who leads, and not the controller when it has run for 5 s."""
    with Cluster(3, {"auto.leader.rebalance.enable": "false"}) as made:
        yield made


@pytest.fixture(scope="module")
def tools(cluster: Cluster) -> Iterator[KafkaTools]:
    """The tools of 3.9.1."""
    made = KafkaTools("3.9.1", cluster.bootstrap_servers)
    yield made
    made.close()


def create(tools: KafkaTools, *replicas: list[int]) -> str:
    topic = unique_name("moved")
    listed = ",".join(":".join(map(str, each)) for each in replicas)
    tools.ok("kafka-topics", "--create", "--topic", topic, "--replica-assignment", listed)
    return topic


Partition = tuple[int, list[int], list[int]]


def wait_for_partitions(tools: KafkaTools, topic: str, *expected: Partition) -> None:
    """Until the broker that the tool asks has heard of it; each tool asks any of them."""
    deadline_s = time.monotonic() + PATIENCE_S
    while (found := partitions(tools, topic)) != list(expected):
        assert time.monotonic() < deadline_s, found
        time.sleep(0.1)


def partitions(tools: KafkaTools, topic: str) -> list[Partition]:
    """Leader, replicas and in-sync set of each, as `kafka-topics --describe` has them."""
    lines = tools.ok("kafka-topics", "--describe", "--topic", topic).out.strip().splitlines()
    found = []
    for line in lines[1:]:
        said = {name.strip(): value.strip() for name, _, value in
                (field.partition(":") for field in line.split("\t") if field)}  # fmt: skip
        numbers = [[int(each) for each in said[name].split(",")] for name in ("Replicas", "Isr")]
        leader = said["Leader"]
        found.append((-1 if leader == "none" else int(leader), numbers[0], sorted(numbers[1])))
    return found


def until_moved(tools: KafkaTools, file: str, count: int) -> Outcome:
    """Ask as its user does, again and again, until all have moved."""
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        said = tools.ok("kafka-reassign-partitions", "--verify", "--reassignment-json-file", file)
        if said.out.count("is completed") == count:
            return said
        assert time.monotonic() < deadline_s, said
        time.sleep(0.1)


def test_partitions_move_and_the_tool_says_when_they_have(
    tools: KafkaTools, tmp_path: Path
) -> None:
    topic = create(tools, [0, 1], [1, 2])
    tools.ok("kafka-console-producer", "--topic", topic, stdin="a\nb\nc\n")
    file = plan(tmp_path, topic, [2, 0], [0, 1, 2])
    begun = tools.ok(
        "kafka-reassign-partitions", "--execute", "--reassignment-json-file", file,
        "--throttle", "50000000",
    )  # fmt: skip
    assert "Successfully started partition reassignments" in begun.out
    ended = until_moved(tools, file, 2)
    assert f"Reassignment of partition {topic}-0 is completed." in ended.lines
    wait_for_partitions(tools, topic, (0, [2, 0], [0, 2]), (1, [0, 1, 2], [0, 1, 2]))
    read = tools.ok(
        "kafka-console-consumer", "--topic", topic, "--from-beginning", "--max-messages", "3",
        "--timeout-ms", "60000",
    )  # fmt: skip
    assert sorted(read.lines) == ["a", "b", "c"]
    nothing = tools.ok("kafka-reassign-partitions", "--list")
    assert "No partition reassignments found." in nothing.out


def test_a_move_that_cannot_end_is_listed_and_cancelled(
    tools: KafkaTools, cluster: Cluster, tmp_path: Path
) -> None:
    topic = create(tools, [0, 1])
    cluster.cut(0, 2)
    try:
        file = plan(tmp_path, topic, [0, 2])
        tools.ok("kafka-reassign-partitions", "--execute", "--reassignment-json-file", file)
        listed = tools.ok("kafka-reassign-partitions", "--list").out
        assert f"{topic}-0: replicas: 0,2,1. adding: 2. removing: 1." in listed
        said = tools.ok("kafka-reassign-partitions", "--verify", "--reassignment-json-file", file)
        assert f"Reassignment of partition {topic}-0 is still in progress." in said.out
        cancelled = tools.ok(
            "kafka-reassign-partitions", "--cancel", "--reassignment-json-file", file
        )
        said_so = f"Successfully cancelled partition reassignment for: {topic}-0"
        assert said_so in cancelled.out
    finally:
        cluster.heal(0, 2)
    wait_for_partitions(tools, topic, (0, [0, 1], [0, 1]))


def test_a_plan_is_generated_and_an_impossible_one_refused(
    tools: KafkaTools, tmp_path: Path
) -> None:
    topic = create(tools, [0, 1])
    (tmp_path / "topics.json").write_text(json.dumps({"version": 1, "topics": [{"topic": topic}]}))
    planned = tools.ok(
        "kafka-reassign-partitions", "--generate", "--broker-list", "1,2",
        "--topics-to-move-json-file", str(tmp_path / "topics.json"),
    )  # fmt: skip
    assert "Proposed partition reassignment configuration" in planned.out
    file = plan(tmp_path, topic, [0, 9])
    refused = tools.run("kafka-reassign-partitions", "--execute", "--reassignment-json-file", file)
    assert refused.exit_code != 0 and "9" in refused.out + refused.err


def test_preferred_leaders_are_elected(tools: KafkaTools, tmp_path: Path) -> None:
    topic = create(tools, [0, 1])
    file = plan(tmp_path, topic, [1, 0])
    tools.ok("kafka-reassign-partitions", "--execute", "--reassignment-json-file", file)
    until_moved(tools, file, 1)
    wait_for_partitions(tools, topic, (0, [1, 0], [0, 1]))
    which = ("--election-type", "preferred", "--topic", topic, "--partition", "0")
    elected = tools.ok("kafka-leader-election", *which)
    assert f"Successfully completed leader election (PREFERRED) for partitions {topic}-0" in (
        elected.out
    )
    wait_for_partitions(tools, topic, (1, [1, 0], [0, 1]))
    again = tools.ok("kafka-leader-election", *which)
    assert f"Valid replica already elected for partitions {topic}-0" in again.out
    everywhere = tools.ok(
        "kafka-leader-election", "--election-type", "preferred", "--all-topic-partitions"
    )
    assert everywhere.exit_code == 0
