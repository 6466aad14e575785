"""`barnabas transactions` where one broker coordinates and another one leads the partitions."""

import asyncio
import itertools
import time
from collections.abc import Callable
from pathlib import Path

from barnabas.server.broker import Broker
from barnabas.server.core.topic_names import TRANSACTION_TOPIC
from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.records import Record
from tests.server.cli.conftest import Run, run_at
from tests.server.cluster.cluster import Cluster, cluster_of
from tests.server.raw_client import RawClient
from tests.server.records import produce
from tests.server.transaction_requests import Transactional
from tests.server.waiting import eventually

HOUR_MS = 3_600_000
Scene = Callable[[RawClient, RawClient, Run], None]


async def two_brokers(cluster: Cluster) -> tuple[Broker, Broker]:
    """The first coordinates every transactional id, the second leads the topic, and verifies no
    transactions: only so they can hang.
    """
    first = await cluster.start(0, transaction_state_log_num_partitions="2")
    await first.topics.ensure_internal(TRANSACTION_TOPIC)
    await first.topics.wait_until_served(TRANSACTION_TOPIC, 10_000, 2)
    second = await cluster.start(1, transaction_partition_verification_enable="false")
    await first.topics.create("t", {0: [1]}, {})
    for broker in (first, second):
        await eventually(lambda broker=broker: "t" in broker.metadata.topics)  # type: ignore[misc]
        await eventually(lambda broker=broker: len(broker.metadata.brokers) == 2)  # type: ignore[misc]
    await eventually(lambda: TRANSACTION_TOPIC in second.metadata.topics)
    return first, second


def play(folder: Path, scene: Scene) -> None:
    """Play it in a thread, with a connection to each broker, and commands for either of them."""

    async def run() -> None:
        async with cluster_of(folder, 0) as cluster:
            first, second = await two_brokers(cluster)
            ports = [each.listeners[0].port for each in (first, second)]
            with RawClient(ports[0]) as coordinator, RawClient(ports[1]) as leader:
                for port in ports:
                    commands = run_at(f"127.0.0.1:{port}")
                    await asyncio.to_thread(scene, coordinator, leader, commands)

    asyncio.run(run())


def test_each_broker_is_asked_for_what_it_knows(tmp_path: Path) -> None:
    def scene(coordinator: RawClient, leader: RawClient, run: Run) -> None:
        producer = Transactional(coordinator, "mover").begin()
        producer.add(("t", 0))
        (listed,) = run("transactions", "list", "--json").rows
        assert (listed["coordinator"], listed["state"]) == (0, "Ongoing")
        (row,) = run("transactions", "describe", "mover", "--json").rows
        assert (row["coordinator"], row["topic"], row["partition"]) == (0, "t", 0)
        producer.end(commit=False)

    play(tmp_path, scene)


def test_the_partitions_leader_is_told_of_the_abort(tmp_path: Path) -> None:
    producer_ids = itertools.count(5000)

    def scene(coordinator: RawClient, leader: RawClient, run: Run) -> None:
        producer_id = next(producer_ids)
        record = Record(0, int(time.time() * 1000) - HOUR_MS, b"k", b"v")
        batch = build_batch([record], producer_id=producer_id, producer_epoch=0, base_sequence=0,
                            is_transactional=True)  # fmt: skip
        answer = produce(leader, "t", batch, transactional_id="nobody")
        assert answer.error_code == 0
        (found,) = run("transactions", "find-hanging", "--topic", "t", "--json").rows
        assert (found["producer_id"], found["start_offset"]) == (producer_id, answer.base_offset)
        which = ("--partition", "0", "--start-offset", str(answer.base_offset))
        assert run("transactions", "abort", "t", *which).code == 0
        assert run("transactions", "find-hanging", "--topic", "t", "--json").rows == []

    play(tmp_path, scene)
