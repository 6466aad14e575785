"""One of ours joins two of Apache Kafka's, whose controller stays: it follows, and it leads.

Kafka's brokers are 1 (the controller) and 2, ours is 3.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from mixed.ground import BESIDE_TWO, PATIENCE_S, PROTOCOL, Ground, long, mixed_ground, until

SMALL_SEGMENTS = {"segment.bytes": str(16 << 10), "min.insync.replicas": "1"}
OURS_FOLLOWS, OURS_LEADS = [1, 3], [3, 1]
BOTH_WAYS = {"ours follows": OURS_FOLLOWS, "ours leads": OURS_LEADS}
both_ways = pytest.mark.parametrize("replicas", BOTH_WAYS.values(), ids=BOTH_WAYS)
both_ways_or_one = pytest.mark.parametrize(
    "replicas", [OURS_FOLLOWS, pytest.param(OURS_LEADS, marks=long)], ids=BOTH_WAYS
)


# A follower is paused until its leader has noticed, which takes 4.5 s and more. Its session ends up
# to a third before its time: so long ago is its last ping.
SESSION = {"zookeeper.session.timeout.ms": "12000"}


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with mixed_ground(BESIDE_TWO, tmp_path_factory.mktemp("replicas"), SESSION) as made:
        yield made


def test_the_controller_is_kafkas(ground: Ground) -> None:
    assert ground.registry.controller == 1
    versions = {ground.registry.json(f"/brokers/ids/{broker}")["version"] for broker in (1, 2, 3)}
    assert versions == {4 if PROTOCOL == "2.6" else 5}, "ours registers as theirs do"


@both_ways
def test_the_follower_is_in_sync_and_its_files_are_the_leaders(
    ground: Ground, replicas: list[int]
) -> None:
    topic = ground.create(replicas, config=SMALL_SEGMENTS)
    ground.write(topic, 3_000)
    in_transactions(ground, topic)
    files = ground.wait_for_same_replicas(topic)
    assert len(files) > 3
    state = ground.state(topic)
    assert (state["leader"], state["leader_epoch"]) == (replicas[0], 0)
    ground.wait_for_isr(topic, replicas)


def in_transactions(ground: Ground, topic: str) -> None:
    """One is committed, one aborted: the log has markers."""
    producer = Producer(
        {"bootstrap.servers": ground.bootstrap, "transactional.id": topic, "log_level": 0}
    )
    producer.init_transactions(PATIENCE_S)
    for end in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        for number in range(100):
            producer.produce(topic, f"in a transaction {number}", partition=0)
        producer.flush(PATIENCE_S)
        end(PATIENCE_S)


@both_ways
def test_a_follower_that_lags_leaves_the_in_sync_set_and_comes_back(
    ground: Ground, replicas: list[int]
) -> None:
    """Its leader asks for both by AlterPartition: the leader epoch stays."""
    leader, follower = replicas
    # Shorter than a session: only the leader notices, and it is Kafka's controller that it asks.
    if follower == ground.registry.controller:
        ground.give_office(2)
    topic = ground.create(replicas, config=SMALL_SEGMENTS)
    before = ground.state(topic)
    node = ground.node(follower)
    node.pause()
    try:
        producer = Producer({"bootstrap.servers": ground.node(leader).address, "acks": 1})
        producer.produce(topic, b"which the follower lacks", partition=0)
        producer.flush(PATIENCE_S)
        ground.wait_for_isr(topic, [leader])
    finally:
        node.resume()
    ground.wait_for_isr(topic, replicas)
    after = ground.state(topic)
    assert after["leader_epoch"] == before["leader_epoch"]
    assert after["version"] == before["version"] + 2
    ground.write(topic, 50)
    ground.wait_for_same_replicas(topic)


@both_ways_or_one
def test_a_follower_that_was_away_catches_up(ground: Ground, replicas: list[int]) -> None:
    topic = ground.create(replicas, config=SMALL_SEGMENTS)
    node = ground.node(replicas[1])
    assert node.stop()
    ground.write(topic, 2_000)
    node.start()
    ground.wait_for_isr(topic, replicas)
    ground.wait_for_same_replicas(topic)


@both_ways_or_one
def test_what_only_a_dead_leader_had_is_cut_off(ground: Ground, replicas: list[int]) -> None:
    """Its log and the next leader's part in the middle: truncation by leader epoch."""
    topic = ground.create([*replicas, 2], config=SMALL_SEGMENTS)
    first, second = replicas
    ground.write(topic, 500)
    others = [ground.node(second), ground.node(2)]
    for other in others:
        other.pause()
    producer = Producer({"bootstrap.servers": ground.node(first).address, "acks": 1})
    for text in ("what fetches already waited for", *(f"lost {number}" for number in range(200))):
        producer.produce(topic, text, partition=0)
        assert not producer.flush(PATIENCE_S)
    ground.node(first).kill()
    for other in others:
        other.resume()
    until(lambda: ground.state(topic)["leader"] in (second, 2), lambda: ground.state(topic))
    producer = Producer({"bootstrap.servers": ground.node(2).address, "acks": "all"})
    for number in range(100):
        producer.produce(topic, f"kept {number}", partition=0)
    assert not producer.flush(PATIENCE_S)
    ground.node(first).start()
    ground.wait_for_isr(topic, [*replicas, 2])
    files = ground.wait_for_same_replicas(topic)
    records = b"".join(files.values())
    assert b"kept 99" in records and b"lost 199" not in records


def test_what_all_have_left_is_the_same(ground: Ground) -> None:
    ground.stop_and_compare()
