"""`barnabas cluster describe`, `topics reassign`, `topics elect-leaders` on two brokers of a kind.

Apache Kafka's and ours: the same words, the same answers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cluster.nodes import KINDS, Node, Ports
from kafka_server import free_ports
from oracles import require_oracle, require_program

from barnabas.server.testing.zookeeper import ZookeeperServer

PATIENCE_S = 120
SETTINGS = {
    "auto.leader.rebalance.enable": "false",
    "default.replication.factor": "2",
    "zookeeper.session.timeout.ms": "60000",  # one that is paused counts
    "min.insync.replicas": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}


class Brokers:
    """Brokers 1 and 2."""

    def __init__(self, kind: str, folder: Path, zookeeper: str) -> None:
        ports = free_ports(4)
        self.nodes: list[Node] = [
            KINDS[kind](
                broker_id, folder / str(broker_id), Ports(*pair, pair[1]), zookeeper, SETTINGS
            )
            for broker_id, pair in ((1, ports[:2]), (2, ports[2:]))
        ]

    def start(self) -> None:
        for node in self.nodes:
            node.spawn()
        for node in self.nodes:
            node.wait()

    def stop(self) -> None:
        for node in self.nodes:
            node.kill()

    def run(
        self, *arguments: str, stdin: str = "", code: int = 0
    ) -> subprocess.CompletedProcess[str]:
        """A command, in a process of its own."""
        outcome = subprocess.run(
            [sys.executable, "-m", "barnabas", *arguments],
            env=os.environ | {"BARNABAS_BOOTSTRAP": ",".join(node.address for node in self.nodes)},
            input=stdin, capture_output=True, text=True, timeout=PATIENCE_S,
        )  # fmt: skip
        assert outcome.returncode == code, outcome.stderr + outcome.stdout
        return outcome

    def rows(self, *arguments: str, code: int = 0) -> list[dict[str, Any]]:
        printed = self.run(*arguments, "--json", code=code).stdout
        return [json.loads(line) for line in printed.splitlines()]

    def replicas(self, topic: str) -> list[list[int]]:
        return [row["replicas"] for row in self.rows("topics", "describe", topic)]

    def until_replicas(self, topic: str, *wanted: list[int]) -> None:
        """Until the broker that is asked, either of them, has heard of it."""
        deadline = time.monotonic() + PATIENCE_S
        while (found := self.replicas(topic)) != list(wanted):
            assert time.monotonic() < deadline, found

    def until(self, **wanted: int) -> None:
        """Until `cluster describe` says so of the cluster."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            summary = self.rows("cluster", "describe")[0]
            if summary.items() >= wanted.items():
                return
            assert time.monotonic() < deadline, summary


@pytest.fixture(scope="module", params=KINDS)
def brokers(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Brokers]:
    require_program("java")
    require_oracle("jars-3.9.1")
    folder = tmp_path_factory.mktemp("cluster")
    with ZookeeperServer(folder / "zookeeper") as zookeeper:
        made = Brokers(request.param, folder, zookeeper.address)
        try:
            made.start()
            made.until(brokers=2)
            yield made
        finally:
            made.stop()


def test_replicas_go_where_they_are_to_be_and_leaders_follow(brokers: Brokers) -> None:
    brokers.run("topics", "create", "moved", "--partitions", "4", "--replication-factor", "1")
    brokers.run("produce", "moved", stdin="".join(f"{n}\n" for n in range(100)))
    brokers.run("topics", "reassign", "moved", "--brokers", "1")
    brokers.until_replicas("moved", *[[1]] * 4)
    plan = brokers.rows("topics", "reassign", "moved", "--replication-factor", "2", "--dry-run")
    assert [(row["replicas"], row["adding"], row["removing"]) for row in plan] == [
        ([1], [2], [])
    ] * 4
    assert brokers.replicas("moved") == [[1]] * 4, "that was a plan"
    done = brokers.run("topics", "reassign", "moved", "--replication-factor", "2")
    assert done.stderr.splitlines()[-1] == "4 partitions moved", "above: how far, every ten seconds"
    described = brokers.rows("topics", "describe", "moved")
    assert [sorted(row["in_sync"]) for row in described] == [[1, 2]] * 4
    assert sorted(row["replicas"][0] for row in described) == [1, 1, 2, 2]
    assert sum(row["end_offset"] for row in described) == 100
    elected = brokers.rows("topics", "elect-leaders", "moved")
    assert [row["leader"] for row in elected] == [2, 2]
    assert [row["leader"] == row["replicas"][0] for row in elected] == [True, True]
    again = brokers.run("topics", "elect-leaders")
    assert (again.stdout, again.stderr) == ("", "no election was needed\n")
    nothing = brokers.run("topics", "reassign", "moved")
    assert (nothing.stdout, "nothing to do" in nothing.stderr) == ("", True)


def test_a_file_says_the_same_and_what_is_refused_is_a_sentence(
    brokers: Brokers, tmp_path: Path
) -> None:
    brokers.run("topics", "create", "filed", "--partitions", "2", "--replication-factor", "1")
    plan = tmp_path / "plan.json"

    def write(*replicas: list[int]) -> None:
        partitions = [
            {"topic": "filed", "partition": n, "replicas": each, "log_dirs": ["any"] * len(each)}
            for n, each in enumerate(replicas)
        ]
        plan.write_text(json.dumps({"version": 1, "partitions": partitions}))

    write([2, 1], [1])
    brokers.run("topics", "reassign", "--file", str(plan))
    brokers.until_replicas("filed", [2, 1], [1])
    write([1, 2], [7])
    refused = brokers.run("topics", "reassign", "--file", str(plan), code=1)
    assert "filed-1: " in refused.stderr and "INVALID_REPLICA" in refused.stderr
    brokers.until_replicas("filed", [1, 2], [1])  # the other one is moved
    write([1], [1], [1])
    refused = brokers.run("topics", "reassign", "--file", str(plan), code=2)
    assert refused.stderr == "barnabas: there is no partition filed-2\n"


def test_what_is_under_way_is_taken_back(brokers: Brokers) -> None:
    brokers.run("topics", "create", "stuck", "--replication-factor", "1", "--partitions", "1")
    controller, other = sorted(
        (row["broker"] for row in brokers.rows("cluster")),
        key=lambda broker: broker != brokers.rows("cluster", "describe")[0]["controller"],
    )
    brokers.run("topics", "reassign", "stuck", "--brokers", str(controller))
    nothing = brokers.run("topics", "reassign", "--cancel")
    assert nothing.stderr == "nothing is being moved\n"
    brokers.nodes[other - 1].pause()  # it counts, and copies nothing
    try:
        brokers.run("topics", "reassign", "stuck", "--replication-factor", "2", "--no-wait")
        (row,) = brokers.rows("topics", "reassign", "--cancel", "stuck")
        assert (row["topic"], row["adding"], row["removing"]) == ("stuck", [other], [])
    finally:
        brokers.nodes[other - 1].resume()
    brokers.until_replicas("stuck", [controller])  # the one that was paused hears of it, too
    assert brokers.run("topics", "reassign", "--cancel").stderr == "nothing is being moved\n"
    brokers.run("topics", "delete", "stuck", "--yes")


def test_a_cluster_that_is_not_well_says_where(brokers: Brokers) -> None:
    brokers.run("topics", "create", "both", "--partitions", "2")
    brokers.run("topics", "create", "gone", "--replication-factor", "1", "--partitions", "1")
    brokers.run("topics", "reassign", "gone", "--brokers", "2")
    brokers.until(brokers=2, under_replicated=0)
    assert "every partition has a leader" in brokers.run("cluster", "describe", "--check").stdout
    brokers.nodes[1].stop()  # in good order: its session ends
    brokers.until(brokers=1, offline=1)
    summary, *rows = brokers.rows("cluster", "describe", "--check", code=1)
    assert summary["kind"] == "cluster" and summary["controller"] == 1
    first, second = (row for row in rows if row["kind"] == "broker")
    assert (first["is_live"], second["is_live"], second["leads"]) == (True, False, 0)
    assert first["behind"] == 0 and second["behind"] >= 2
    trouble = {
        (row["topic"], row["partition"]): row["trouble"]
        for row in rows
        if row["kind"] == "partition"
    }
    assert trouble["both", 0] == trouble["both", 1] == ["under-replicated"]
    assert "offline" in trouble["gone", 0]
    printed = brokers.run("cluster", "describe").stdout
    assert "under-replicated" in printed and "offline" in printed
    brokers.nodes[1].start()
    brokers.until(brokers=2, offline=0, under_replicated=0)
