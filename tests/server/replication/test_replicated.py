"""Three brokers, three replicas: what was acknowledged by all is on all, whoever dies."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import barnabas
from barnabas.server.replication.partition import Partition
from barnabas.server.testing.cluster import Cluster
from barnabas.server.testing.member import Member
from tests.server.raw_client import RawClient
from tests.server.records import make_batch, produce_request
from tests.server.waiting import wait_until

SESSION_ENDS = "3 seconds"
PRODUCE = 9


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with barnabas.Cluster(3) as made:
        yield made


def create(cluster: Cluster, **settings: int) -> None:
    """Make the topic; its records are of long ago."""
    cluster.create_topic("t", settings={"retention.ms": -1, **settings})


def send(broker: Member, *values: bytes, acks: int = -1) -> int:
    """Produce a batch to a leader: the code that it answers."""
    request = produce_request("t", make_batch(*values))
    request.acks = acks
    with RawClient(broker.port) as client:
        answer = client.call(request, PRODUCE)
    code: int = answer.responses[0].partition_responses[0].error_code
    return code


def replica(broker: Member) -> Partition:
    return broker.server.replicas.require("t", 0)


def files(broker: Member) -> bytes:
    """The log's files, one behind the other."""
    folder = Path(replica(broker).log.directory)
    return b"".join(path.read_bytes() for path in sorted(folder.glob("*.log")))


def agree(cluster: Cluster, end_offset: int) -> None:
    """Wait until all replicas end there, and are the same byte for byte."""
    for broker in cluster:
        wait_until(lambda broker=broker: replica(broker).log.high_watermark == end_offset)
        assert replica(broker).log.log_end_offset == end_offset
    first, *others = map(files, cluster)
    assert all(other == first for other in others)


def test_a_new_partition_has_all_its_replicas_in_sync(cluster: Cluster) -> None:
    create(cluster)
    assert sorted(cluster.partition("t").isr) == [0, 1, 2]
    leader = cluster.leader_of("t")
    for number in range(10):
        assert send(leader, b"%d" % number, b"x") == 0
        for broker in cluster:
            assert replica(broker).log.log_end_offset == 2 * number + 2, "acknowledged by all"
    agree(cluster, 20)


def test_another_leads_with_all_that_was_acknowledged(cluster: Cluster) -> None:
    create(cluster)
    former = cluster.leader_of("t")
    assert send(former, b"a", b"b") == 0
    former.kill()
    cluster.clock.advance(SESSION_ENDS)
    leader = cluster.wait_for_leader("t", other_than=former)
    assert send(leader, b"c") == 0
    assert replica(leader).log.log_end_offset == 3
    former.start()
    cluster.wait_for_isr("t", 3)
    agree(cluster, 3)


def test_what_a_dead_leader_had_alone_is_cut_off_when_it_returns(cluster: Cluster) -> None:
    create(cluster)
    former = cluster.leader_of("t")
    assert send(former, b"a") == 0
    for broker in cluster:
        if broker is not former:
            cluster.cut(former, broker)
    assert send(former, b"lost", acks=1) == 0
    assert send(former, b"too", acks=1) == 0
    former.kill()
    cluster.clock.advance(SESSION_ENDS)
    leader = cluster.wait_for_leader("t", other_than=former)
    assert send(leader, b"b") == 0
    cluster.heal()
    former.start()
    cluster.wait_for_isr("t", 3)
    agree(cluster, 2)
    assert b"lost" not in files(former)


def test_a_follower_that_died_holds_nobody_up_and_catches_up(cluster: Cluster) -> None:
    create(cluster)
    leader = cluster.leader_of("t")
    follower = next(broker for broker in cluster if broker is not leader)
    follower.kill()
    cluster.clock.advance(SESSION_ENDS)
    cluster.wait_for_isr("t", 2)
    assert send(leader, b"a") == 0
    follower.start()
    cluster.wait_for_isr("t", 3)
    agree(cluster, 1)


def test_a_replica_that_was_wiped_is_made_anew(cluster: Cluster) -> None:
    create(cluster, **{"segment.bytes": 100_000})
    leader = cluster.leader_of("t")
    for _ in range(30):
        assert send(leader, bytes(10_000)) == 0
    follower = next(broker for broker in cluster if broker is not leader)
    folder = Path(replica(follower).log.directory)
    follower.stop()
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    follower.start()
    cluster.wait_for_isr("t", 3)
    agree(cluster, 30)


def test_a_stop_in_good_order_loses_no_acknowledgement(cluster: Cluster) -> None:
    create(cluster)
    for number in range(3):
        former = cluster.leader_of("t")
        assert send(former, b"%d" % number) == 0
        former.restart()
        cluster.wait_for_isr("t", 3)
    agree(cluster, 3)
