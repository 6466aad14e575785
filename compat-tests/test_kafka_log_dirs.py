"""Replicas move between data directories by Apache Kafka's tools of 3.9.1, while they are used.

librdkafka produces with acks=all and reads all the time; in the end every record is there, once and
in order, and the replicas' directories are equal.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from broker_admin import unique_name
from kafka_tools import KafkaTools
from log_dir_moves import PATIENCE_S, Mover, Reader, Writer

from barnabas.server.cli.log_tools.compare import compare
from barnabas.server.testing.broker import Broker
from barnabas.server.testing.cluster import Cluster

SEED = int(os.environ.get("BARNABAS_MOVES_SEED", "7"))
KILLS = int(os.environ.get("BARNABAS_MOVES_KILLS", "4"))
SETTINGS = {"log.segment.bytes": 1 << 20, "log.segment.delete.delay.ms": 1_000}


def wait_until(condition: object) -> None:
    assert callable(condition)
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


@pytest.fixture(scope="module")
def directories(tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[Path]]:
    """Two of each broker."""
    root = tmp_path_factory.mktemp("disks")
    return {broker: [root / f"{broker}-{disk}" for disk in "ab"] for broker in range(3)}


@pytest.fixture(scope="module")
def cluster(directories: dict[int, list[Path]]) -> Iterator[Cluster]:
    """Three brokers of two directories each."""
    own = {broker: {"log.dirs": ",".join(map(str, paths))} for broker, paths in directories.items()}
    with Cluster(3, {"min.insync.replicas": 2, **SETTINGS}, broker_settings=own) as made:
        yield made


@pytest.fixture(scope="module")
def tools(cluster: Cluster) -> Iterator[KafkaTools]:
    """The tools of 3.9.1."""
    made = KafkaTools("3.9.1", cluster.bootstrap_servers)
    yield made
    made.close()


def test_leader_and_followers_move_back_and_forth_under_load(
    cluster: Cluster, tools: KafkaTools, directories: dict[int, list[Path]], tmp_path: Path
) -> None:
    topic = cluster.create_topic(unique_name("moved"), replicas=3)
    mover = Mover(tools, topic, directories)
    writer, reader = (kind(cluster.bootstrap_servers, topic) for kind in (Writer, Reader))
    try:
        for _ in range(4):
            targets = {
                broker: next(each for each in paths if each != mover.home(broker))
                for broker, paths in directories.items()
            }
            mover.until_moved(mover.move(tmp_path, targets), targets)
            assert {broker: mover.home(broker) for broker in targets} == targets
    finally:
        acknowledged = writer.stop()
        read = reader.until(len(acknowledged))
    assert acknowledged == read == list(range(len(acknowledged)))
    assert writer.longest_s < 10
    cluster.wait_for_isr(topic, 3)
    places = [path / f"{topic}-0" for path in targets.values()]
    wait_until(
        lambda: len({(each / "leader-epoch-checkpoint").read_bytes() for each in places}) == 1
    )
    for broker in cluster:
        assert broker.server.moves.failed == set()
    assert compare(places, as_json=False)


def test_a_move_is_throttled_described_and_cancelled(
    cluster: Cluster, tools: KafkaTools, directories: dict[int, list[Path]], tmp_path: Path
) -> None:
    topic = cluster.create_topic(unique_name("slow"), replicas=1)
    leader = next(each for each in range(3) if cluster[each] is cluster.leader_of(topic))
    writer = Writer(cluster.bootstrap_servers, topic, size=20_000)
    wait_until(lambda: len(writer.acknowledged) > 1_000)
    count = len(writer.stop())
    mover = Mover(tools, topic, {leader: directories[leader]})
    here = mover.home(leader)
    assert here is not None
    (there,) = (each for each in directories[leader] if each != here)
    plan = mover.move(tmp_path, {leader: there}, "--replica-alter-log-dirs-throttle", "100000")
    wait_until(lambda: len(mover.described()) == 2)
    logs = {log["isFuture"]: log for log in mover.described()}
    assert (logs[True]["dir"], logs[False]["dir"]) == (str(there), str(here))
    assert logs[False]["offsetLag"] == 0
    lag = logs[True]["offsetLag"]
    assert isinstance(lag, int) and 0 < lag <= count
    said = tools.ok("kafka-reassign-partitions", "--verify", "--reassignment-json-file", str(plan))
    assert f"replica {topic}-0-{leader} is still in progress." in said.out
    mover.move(tmp_path, {leader: here})
    assert [log["isFuture"] for log in mover.described()] == [False]
    assert mover.home(leader) == here
    # The tool takes its throttle back when it is asked about a move that is over.
    mover.until_moved(mover.move(tmp_path, {leader: here}), {leader: here})
    mover.until_moved(mover.move(tmp_path, {leader: there}), {leader: there})
    assert mover.home(leader) == there


def test_killed_at_random_points_of_a_move(tmp_path: Path) -> None:
    """kill -9, again and again, of the only broker; nothing that was acknowledged is lost."""
    chance = random.Random(SEED)
    paths = [tmp_path / "a", tmp_path / "b"]
    settings = {"log.dirs": ",".join(map(str, paths)), **SETTINGS}
    with Broker(settings, process=True) as broker:
        tools = KafkaTools("3.9.1", broker.bootstrap_servers)
        topic = broker.create_topic(unique_name("killed"))
        mover = Mover(tools, topic, {0: paths})
        writer, reader = (kind(broker.bootstrap_servers, topic) for kind in (Writer, Reader))
        try:
            wait_until(lambda: len(writer.acknowledged) > 2_000)
            for _ in range(KILLS):
                before = mover.home(0)
                assert before is not None
                (target,) = (each for each in paths if each != before)
                plan = mover.move(tmp_path, {0: target})
                time.sleep(chance.random() * chance.choice((0.01, 0.1, 0.5)))
                broker.kill()
                broker.start()
                mover.until_moved(plan, {0: target})
                assert mover.home(0) == target
        finally:
            acknowledged = writer.stop()
            read = reader.until(len(acknowledged))
            tools.close()
    assert acknowledged == read == list(range(len(acknowledged)))
