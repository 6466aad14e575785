"""After each admin action the znodes are what Apache Kafka 3.9.1 left, but for ids and times.

The actions are those of Kafka's own tools and clients, and of a hand in ZooKeeper; the three
brokers are ours, at both protocols that were recorded.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from kafka_tools import KafkaTools
from kazoo.client import KazooClient
from oracles import java_command, require_oracle, stop

from cluster.cluster import Cluster, running_cluster
from cluster.znode_tree import Change, Tree, between, recorded, replicas, tree_of

CHROOT = "/nl"
PATIENCE_S = 60.0
SETTINGS = {
    "auto.leader.rebalance.enable": "false",
    "inter.broker.listener.name": "INTERNAL",
    "min.insync.replicas": "1",
    "transaction.state.log.num.partitions": "2",
}


class World:
    """The cluster, and who acts on it."""

    def __init__(self, cluster: Cluster, folder: Path, protocol: str) -> None:
        self.cluster, self.folder, self.protocol = cluster, folder, protocol
        self.zookeeper = KazooClient(hosts=f"127.0.0.1:{cluster.zookeeper.port}")
        self.zookeeper.start()
        self.before: Tree = {}
        self._tools: KafkaTools | None = None

    @property
    def tools(self) -> KafkaTools:
        if self._tools is None:
            self._tools = KafkaTools("3.9.1", self.cluster.bootstrap)
        return self._tools

    def close(self) -> None:
        self.zookeeper.stop()
        self.zookeeper.close()
        if self._tools is not None:
            self._tools.close()

    def file(self, content: object) -> str:
        path = self.folder / "input.json"
        path.write_text(json.dumps(content))
        return str(path)

    def put(self, path: str, content: object) -> None:
        """A znode by hand."""
        self.zookeeper.create(CHROOT + path, json.dumps(content).encode())

    def differences(self, expected: Change) -> list[str]:
        """Between what a step has changed and what was expected: those at the end of patience."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            after = tree_of(self.zookeeper, CHROOT)
            differences = between(self.before, after).differences(expected)
            if not differences or time.monotonic() > deadline:
                self.before = after
                return differences
            time.sleep(0.1)


def create(world: World, topic: str, step: str, *options: str) -> None:
    placed = ",".join(":".join(map(str, each)) for each in replicas(world.protocol, step, topic))
    world.tools.ok(
        "kafka-topics", "--create", "--topic", topic, "--replica-assignment", placed, *options
    )


def configure(world: World, *options: str) -> None:
    world.tools.ok("kafka-configs", "--alter", *options)


def brokers_up(world: World) -> None:
    for broker in (2, 3):
        world.cluster.nodes[broker].start()


def produce(world: World, **settings: object) -> None:
    producer = Producer({"bootstrap.servers": world.cluster.bootstrap, **settings})
    if "transactional.id" in settings:
        producer.init_transactions(PATIENCE_S)
        producer.begin_transaction()
    producer.produce("t1", b"one", partition=0)
    producer.flush(PATIENCE_S)
    if "transactional.id" in settings:
        producer.commit_transaction(PATIENCE_S)


def consume(world: World) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": world.cluster.bootstrap,
            "group.id": "g",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(["t1"])
    message = consumer.poll(PATIENCE_S)
    assert message is not None and message.error() is None
    consumer.commit(message, asynchronous=False)
    consumer.close()


def grow(world: World) -> None:
    placed = replicas(world.protocol, "partitions-add", "t2")
    written = ",".join(":".join(map(str, each)) for each in placed)
    world.tools.ok(
        "kafka-topics", "--alter", "--topic", "t2", "--partitions", str(len(placed)),
        "--replica-assignment", written,
    )  # fmt: skip


def reassign(world: World, *options: str) -> None:
    moved = replicas(world.protocol, "reassign-admin-api", "t-auto")
    plan = [{"topic": "t-auto", "partition": 0, "replicas": moved[0]}]
    path = world.file({"version": 1, "partitions": plan})
    world.tools.ok("kafka-reassign-partitions", "--reassignment-json-file", path, *options)


def delete_controller(world: World) -> None:
    world.zookeeper.delete(f"{CHROOT}/controller")


ONE_IN_T1 = {"version": 1, "partitions": [{"topic": "t1", "partition": 1}]}
MOVED_T1 = {"version": 1, "partitions": [{"topic": "t1", "partition": 0, "replicas": [2, 3]}]}
STEPS: dict[str, Callable[[World], object]] = {
    "first-broker": lambda world: world.cluster.nodes[1].start(),
    "brokers-up": brokers_up,
    "topic-create": lambda world: create(
        world, "t1", "topic-create",
        "--config", "retention.ms=3600000", "--config", "max.message.bytes=200000",
    ),
    "topic-create-no-config": lambda world: create(world, "t2", "topic-create-no-config"),
    "auto-create-on-produce": lambda world: create(world, "t-auto", "auto-create-on-produce"),
    "idempotent-produce": lambda world: produce(world, **{"enable.idempotence": True}),
    "topic-config-alter": lambda world: configure(
        world, "--topic", "t1", "--add-config", "retention.ms=7200000,segment.ms=600000"
    ),
    "topic-config-delete": lambda world: configure(
        world, "--topic", "t1", "--delete-config", "retention.ms"
    ),
    "partitions-add": grow,
    "cluster-default-config": lambda world: configure(
        world, "--entity-type", "brokers", "--entity-default",
        "--add-config", "log.retention.ms=86400000",
    ),
    "consumer-group": consume,
    "transaction": lambda world: produce(world, **{"transactional.id": "tx"}),
    "reassign-admin-api": lambda world: reassign(world, "--execute", "--throttle", "10000000"),
    "reassign-verify-clears-throttle": lambda world: reassign(world, "--verify"),
    "reassign-znode": lambda world: world.put("/admin/reassign_partitions", MOVED_T1),
    "preferred-election-admin-api": lambda world: world.tools.ok(
        "kafka-leader-election", "--election-type", "preferred", "--all-topic-partitions"
    ),
    "clean-shutdown-2": lambda world: world.cluster.nodes[2].stop(),
    "return-2": lambda world: world.cluster.nodes[2].start(),
    "preferred-election-znode": lambda world: world.put(
        "/admin/preferred_replica_election", ONE_IN_T1
    ),
    "topic-delete": lambda world: world.tools.ok("kafka-topics", "--delete", "--topic", "t2"),
    "controller-znode-deleted": delete_controller,
}  # fmt: skip


@pytest.fixture
def cluster(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Three brokers that have not been started, and their ZooKeeper, which has."""
    settings = SETTINGS | {"inter.broker.protocol.version": request.param}
    made = Cluster(("barnabas",) * 3, tmp_path, settings, has_links=False)
    try:
        made.zookeeper.start()
        yield made
    finally:
        made.close()


@pytest.mark.parametrize(
    "cluster, protocol", [("3.9", "3.9"), ("2.6", "2.6")], indirect=["cluster"]
)
@pytest.mark.timeout(900)
@pytest.mark.broker_says("lost the office of controller")
def test_after_each_action_the_tree_is_as_recorded(
    cluster: Cluster, tmp_path: Path, protocol: str
) -> None:
    expected = recorded(protocol)
    world = World(cluster, tmp_path, protocol)
    try:
        world.zookeeper.ensure_path(CHROOT)
        world.before = tree_of(world.zookeeper, CHROOT)
        for step, act in STEPS.items():
            act(world)
            differences = world.differences(expected[step])
            assert not differences, "\n  ".join([step, *differences])
    finally:
        world.close()


TOOL_S = 120.0


def test_the_tools_that_talk_to_zookeeper_or_compare_replicas_work(tmp_path: Path) -> None:
    """`zookeeper-shell` and `kafka-replica-verification` of 3.9.1."""
    jars = require_oracle("jars-3.9.1")
    with running_cluster(("barnabas",) * 3, tmp_path, SETTINGS, has_links=False) as cluster:
        world = World(cluster, tmp_path, "3.9")
        try:
            create(world, "t1", "topic-create")
            produce(world)
        finally:
            world.close()
        shell = "org.apache.zookeeper.ZooKeeperMainWithTlsSupportForKafka"
        server = f"127.0.0.1:{cluster.zookeeper.port}"
        asked = [
            *java_command(jars, shell, "-server", server),
            "ls",
            f"{CHROOT}/brokers/topics/t1/partitions",
        ]
        listed = subprocess.run(asked, capture_output=True, text=True, timeout=TOOL_S)
        assert (listed.returncode, listed.stdout.splitlines()[-1]) == (0, "[0, 1, 2]")
        verification = "org.apache.kafka.tools.ReplicaVerificationTool"
        options = (
            "--broker-list",
            cluster.bootstrap,
            "--topics-include",
            "t1",
            "--report-interval-ms",
            "500",
        )
        process = subprocess.Popen(
            java_command(jars, verification, *options), stdout=subprocess.PIPE, text=True
        )
        try:
            assert process.stdout is not None
            assert any("max lag is 0 for partition t1-" in line for line in process.stdout)
        finally:
            stop(process)
