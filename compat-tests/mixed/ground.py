"""A cluster of both kinds of brokers: how it is started, what tests do to it and see of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from broker_admin import unique_name
from cluster.cluster import Cluster
from cluster.nodes import Node
from cluster.result import Result
from cluster.run import CHROOT, compare
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from barnabas.server.registry.znodes.store import ZnodeError
from mixed import asking
from mixed.registry import Registry

KAFKA, OURS = "3.9.1", "barnabas"
BESIDE_TWO = (KAFKA, KAFKA, OURS)
"""Brokers 1 and 2 are Apache Kafka's, 3 is ours."""
PATIENCE_S = 60.0
PROTOCOL = os.environ.get("BARNABAS_MIXED_PROTOCOL", "3.9")
SETTINGS = {
    "auto.leader.rebalance.enable": "false",  # tests say who leads
    "inter.broker.protocol.version": PROTOCOL,
    "offsets.topic.num.partitions": "5",
    "replica.lag.time.max.ms": "3000",  # and half of it more is shorter than a session
    "transaction.state.log.num.partitions": "5",
}
OFFICE_TAKEN = "lost the office of controller"
"""What ours says when a test lets another broker be controller."""
UNEXPECTED = re.compile(
    r"Unexpected error|Uncaught|ERROR \[KafkaApi|ERROR Closing socket|InvalidRequest|NullPointer"
    r"|Error when handling request|unexpected (?:top-level )?error"
)
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def until(holds: Callable[[], Any], what: Callable[[], object] | str) -> Any:
    """Wait for something true, and return it; `what` is told if it does not come."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        if found := holds():
            return found
        assert time.monotonic() < deadline, what if isinstance(what, str) else what()
        time.sleep(0.05)


long = pytest.mark.skipif(
    "BARNABAS_MIXED" not in os.environ, reason="scripts/mixed-cluster runs all of them"
)
"""What takes too long for every day, and what is the other way around of what is run."""


class Ground:
    """The cluster, as tests use it."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.registry = Registry(cluster.zookeeper.port, CHROOT)
        self.bootstrap = cluster.bootstrap

    def know_each_other(self) -> bool:
        """Whether every broker tells its clients of every one."""
        told = [asking.metadata(node.ports.client) for node in self.cluster.running]
        return all(
            {broker.node_id for broker in each.brokers} == self.cluster.nodes.keys()
            for each in told
        )

    def node(self, broker: int) -> Node:
        return self.cluster.nodes[broker]

    @property
    def admin(self) -> AdminClient:
        """A new one: librdkafka goes on to ask a controller that has been replaced."""
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def create(self, *replicas: list[int], config: Mapping[str, str] | None = None) -> str:
        """A topic whose partitions have these replicas, all of them in sync; the first leads."""
        topic = unique_name("mixed")
        wanted = NewTopic(
            topic, len(replicas), replica_assignment=list(replicas), config=dict(config or {})
        )
        admin = self.admin
        admin.create_topics([wanted], request_timeout=PATIENCE_S)[topic].result(PATIENCE_S)
        for partition, each in enumerate(replicas):
            self.wait_for_isr(topic, each, partition)
        return topic

    def write(self, topic: str, count: int, partition: int = 0, **settings: Any) -> None:
        """So many records of a hundred bytes or two, in batches of every codec in turn."""
        failed: list[Any] = []
        for number, codec in enumerate(CODECS):
            options = {
                "compression.type": codec,
                "acks": "all",
                "batch.num.messages": 50,
                "log_level": 0,
            }
            producer = Producer({"bootstrap.servers": self.bootstrap} | options | settings)
            for record in range(number, count, len(CODECS)):
                text = f"{record} {'x' * (record % 200)}"
                producer.produce(
                    topic, text, partition=partition,
                    on_delivery=lambda error, _: failed.append(error) if error else None,
                )  # fmt: skip
            assert not producer.flush(PATIENCE_S) and not failed, failed[:3]

    # --- who leads, who is in sync -----------------------------------------------------

    def state(self, topic: str, partition: int = 0) -> dict[str, Any]:
        """Of a partition; nothing while the registry does not say any."""
        with suppress(ZnodeError):
            return self.registry.state(topic, partition)
        return {"isr": [], "leader": -1}

    def wait_for_isr(self, topic: str, brokers: Sequence[int], partition: int = 0) -> None:
        """Until exactly these are in sync."""
        until(
            lambda: set(self.state(topic, partition)["isr"]) == set(brokers),
            lambda: f"{topic}-{partition} {self.state(topic, partition)}, not {brokers}",
        )

    def wait_for_leader(self, topic: str, broker: int, partition: int = 0) -> None:
        until(
            lambda: self.state(topic, partition)["leader"] == broker,
            lambda: f"{topic}-{partition} {self.state(topic, partition)}, not led by {broker}",
        )

    def elect(self, topic: str) -> None:
        """Let the first replica of every partition lead."""
        assignment = self.registry.assignment(topic)
        until(
            lambda: asking.elects_preferred(self.controller_port, topic, list(assignment)),
            "a preferred replica is in sync, and its controller does not hear of it",
        )
        for partition, replicas in assignment.items():
            self.wait_for_leader(topic, replicas[0], partition)

    def let_lead(self, topic: str, broker: int) -> None:
        """Let this broker lead all partitions of a topic of which every broker has a replica."""
        target = [broker, *(each for each in self.cluster.nodes if each != broker)]
        path = f"/brokers/topics/{topic}"
        targets = dict.fromkeys(self.registry.assignment(topic), target)
        asking.reassign(self.controller_port, topic, targets)
        until(
            lambda: (
                self.registry.assignment(topic) == targets
                and not self.registry.json(path)["removing_replicas"]
            ),
            lambda: f"{topic} does not move: {self.registry.json(path)}",
        )
        self.elect(topic)

    @property
    def controller_port(self) -> int:
        """Where clients reach the controller."""
        return self.node(self.registry.controller).ports.client

    def give_office(self, broker: int) -> None:
        """Make this broker the controller: the others are paused while the office is free."""
        others = [each for each in self.cluster.running if each.broker_id != broker]
        if self.registry.controller == broker:
            return
        for other in others:
            other.pause()
        try:
            self.registry.delete("/controller")
            until(lambda: self.registry.controller == broker, f"broker {broker} is not controller")
        finally:
            for other in others:
                other.resume()
        until(
            lambda: all(
                asking.metadata(each.ports.client).controller_id == broker
                for each in self.cluster.running
            ),
            f"clients are not told that broker {broker} is controller",
        )

    # --- what is on the disks ----------------------------------------------------------

    def replica(self, topic: str, broker: int, partition: int = 0) -> dict[str, bytes]:
        """The files of records of a replica."""
        folder = self.node(broker).data / f"{topic}-{partition}"
        return {path.name: path.read_bytes() for path in sorted(folder.glob("*.log"))}

    def wait_for_same_replicas(self, topic: str, partition: int = 0) -> dict[str, bytes]:
        """Until the replicas hold the same bytes in the same files; these. Nobody may write."""
        one, *others = self.registry.assignment(topic)[partition]

        def are_same() -> bool:
            first = self.replica(topic, one, partition)
            return all(self.replica(topic, each, partition) == first for each in others)

        def sizes() -> dict[int, dict[str, int]]:
            return {
                broker: {n: len(d) for n, d in self.replica(topic, broker, partition).items()}
                for broker in (one, *others)
            }

        until(are_same, lambda: f"{topic}-{partition} differs: {sizes()}")
        return self.replica(topic, one, partition)

    def stop_and_compare(self) -> None:
        """All brokers stop cleanly; what they leave is the same, and nobody has complained."""
        assert self.cluster.stop() == []
        result = Result("mixed")
        compare([node.data for node in self.cluster.nodes.values()], result, are_whole=False)
        assert result.differences == [] and result.failures == [], result
        assert result.compared["partitions"] > 0
        nodes = self.cluster.nodes.values()
        said = [said for node in nodes for said in (*node.complaints(), _unexpected(node)) if said]
        assert not [each for each in said if OFFICE_TAKEN not in each], said

    def barnabas(self, *arguments: str) -> str:
        """What our command line prints, of a command that succeeds."""
        command = [sys.executable, "-m", "barnabas", *arguments, "--bootstrap", self.bootstrap]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S * 2)
        assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
        return done.stdout


def _unexpected(node: Node) -> str:
    """The first line by which a broker of Kafka's says that it was asked what it cannot do.

    A controller that has just been replaced is refused in these words, too.
    """
    lines = node.log.read_text(errors="replace").splitlines()
    return next(
        (
            line
            for line, next_line in pairwise([*lines, ""])
            if UNEXPECTED.search(line) and "ControllerMovedException" not in next_line
        ),
        "",
    )


@contextmanager
def mixed_ground(
    kinds: Sequence[str], folder: Path, settings: Mapping[str, str] | None = None
) -> Iterator[Ground]:
    """Brokers that are started one after the other: the first is the controller."""
    cluster = Cluster(kinds, folder, SETTINGS | dict(settings or {}), has_links=False)
    try:
        cluster.start(one_by_one=True)
        ground = Ground(cluster)
        try:
            until(ground.know_each_other, "they do not know each other")
            yield ground
        finally:
            ground.registry.close()
    finally:
        cluster.close()
