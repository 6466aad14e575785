"""Coordinators on three brokers with three replicas of their topics: the next one goes on."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

import barnabas
from barnabas.server.core.topic_names import OFFSETS_TOPIC, TRANSACTION_TOPIC
from barnabas.server.handlers.find_coordinator import GROUP, TRANSACTION
from barnabas.server.testing.member import Member as MemberBroker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from tests.server.group_requests import Member, commit, offsets
from tests.server.names import unique
from tests.server.raw_client import RawClient
from tests.server.transactions.transactional_client import TransactionalClient, committed
from tests.server.waiting import wait_until

SETTINGS = {
    "group.initial.rebalance.delay.ms": 0,
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
    "min.insync.replicas": 2,
}
LONG_MS = 60_000
PATIENCE_S = 30.0


@pytest.fixture(scope="module")
def cluster() -> Iterator[barnabas.Cluster]:
    with barnabas.Cluster(3, SETTINGS) as made:
        for topic in (OFFSETS_TOPIC, TRANSACTION_TOPIC):
            made[0].run(made[0].server.topics.ensure_internal(topic))
        yield made


@pytest.fixture
def topic(cluster: barnabas.Cluster) -> Iterator[str]:
    """Everything is in sync before the test and after it."""
    in_sync(cluster)
    yield cluster.create_topic(unique("t"))
    cluster.heal()
    for broker in cluster:
        broker.faults.clear()
        if not broker.is_running:
            broker.start()


def in_sync(cluster: barnabas.Cluster) -> None:
    cluster.wait_for_brokers()
    for internal in (OFFSETS_TOPIC, TRANSACTION_TOPIC):
        cluster.wait_for_isr(internal, 3)


def next_coordinator(cluster: barnabas.Cluster, topic: str, former: MemberBroker) -> MemberBroker:
    """Who coordinates once the former has gone; every broker sends clients there."""
    following = cluster.wait_for_leader(topic, other_than=former)
    key_type = GROUP if topic == OFFSETS_TOPIC else TRANSACTION
    for broker in cluster.running:
        wait_until(partial(sends_to, broker, key_type, following), PATIENCE_S)
    return following


def sends_to(broker: MemberBroker, key_type: int, coordinator: MemberBroker) -> bool:
    """Whether clients that ask a broker are sent to this coordinator."""
    with RawClient(broker.port) as client:
        answer = client.call(FindCoordinatorRequest(key="g", key_type=key_type), 3)
    return (answer.node_id, answer.port) == (coordinator.broker_id, coordinator.port)


@pytest.mark.parametrize("ends", ["stop", "kill"])
def test_members_go_on_in_their_generation_at_the_next_coordinator(
    cluster: barnabas.Cluster, topic: str, ends: str
) -> None:
    group = unique("g")
    former = cluster.leader_of(OFFSETS_TOPIC)
    options = {"session_timeout_ms": LONG_MS, "rebalance_timeout_ms": LONG_MS}
    with Member(former, group, **options) as member:
        member.settle()
        who = {"generation_id_or_member_epoch": member.generation, "member_id": member.member_id}
        assert commit(member, group, topic, 5, **who) == [0]
    getattr(former, ends)()
    with Member(next_coordinator(cluster, OFFSETS_TOPIC, former), group) as again:
        again.member_id, again.generation = member.member_id, member.generation
        wait_until(lambda: again.sync().error_code == 0, PATIENCE_S)
        assert again.sync().assignment == b"mine"
        assert again.heartbeat() == 0
        assert offsets(again, group, topic, 0) == {(topic, 0): (5, "", 0)}
        assert commit(again, group, topic, 6, **who) == [0]


def test_who_waits_at_a_coordinator_that_stops_is_sent_to_the_next(
    cluster: barnabas.Cluster, topic: str
) -> None:
    group = unique("g")
    former = cluster.leader_of(OFFSETS_TOPIC)
    with Member(former, group) as inside, Member(former, group) as waiting:
        inside.settle()
        waiting.ask_in(inside)
        former.stop()
        assert waiting.receive().error_code == ErrorCode.NOT_COORDINATOR
    with Member(next_coordinator(cluster, OFFSETS_TOPIC, former), group) as again:
        again.member_id, again.generation = inside.member_id, inside.generation
        wait_until(lambda: again.sync().error_code == 0, PATIENCE_S)


def test_an_end_that_was_answered_is_carried_out_by_the_next_coordinator(
    cluster: barnabas.Cluster, topic: str
) -> None:
    """The markers of the former never arrive."""
    leader = cluster.leader_of(topic)
    for broker in cluster:
        broker.faults.add("close", api="WRITE_TXN_MARKERS", times=None)
    former = cluster.leader_of(TRANSACTION_TOPIC)
    with RawClient(former.port) as client:
        producer = TransactionalClient(client, unique("id"))
        producer.init()
        producer.add([(topic, 0)])
        with RawClient(leader.port) as producer.client:
            producer.write(topic, 0, b"v")
        producer.client = client
        producer.end(commit=True)
    assert read_from(cluster, topic) == ([], False)
    former.kill()
    next_coordinator(cluster, TRANSACTION_TOPIC, former)
    cluster.wait_for_leader(topic, other_than=former)
    for broker in cluster.running:
        broker.faults.clear()
    wait_until(lambda: read_from(cluster, topic) == ([b"v"], True), PATIENCE_S)


def read_from(cluster: barnabas.Cluster, topic: str) -> tuple[list[bytes], bool]:
    """What readers of committed records see, and whether that is all there is."""
    with RawClient(cluster.leader_of(topic).port) as client:
        return committed(client, topic, 0)


@pytest.mark.broker_says("the session with the registry has ended")
@pytest.mark.broker_says("tried again.*ConnectionLoss", always=False)
def test_a_coordinator_that_is_cut_off_acknowledges_nothing_any_more(
    cluster: barnabas.Cluster, topic: str
) -> None:
    """It believes that it leads; what it was told meanwhile never was."""
    group = unique("g")
    former = cluster.leader_of(OFFSETS_TOPIC)
    with RawClient(former.port) as client:
        assert commit(client, group, topic, 5) == [0]
        cluster.isolate(former)
        codes = commit(client, group, topic, 6)
        assert codes[0] in (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        following = next_of(cluster, former)
        with RawClient(following.port) as other:
            wait_until(lambda: commit(other, group, topic, 7) == [0], PATIENCE_S)
        cluster.heal()
        wait_until(
            lambda: commit(client, group, topic, 8) == [ErrorCode.NOT_COORDINATOR], PATIENCE_S
        )
    with RawClient(following.port) as other:
        assert offsets(other, group, topic, 0) == {(topic, 0): (7, "", 0)}


def next_of(cluster: barnabas.Cluster, former: MemberBroker) -> MemberBroker:
    """Who the others believe coordinates groups."""
    others = [broker for broker in cluster if broker is not former]

    def led() -> set[int]:
        found = {broker.server.metadata.partition(OFFSETS_TOPIC, 0) for broker in others}
        return {info.leader_id for info in found if info is not None}

    wait_until(lambda: len(led()) == 1 and led() < {each.broker_id for each in others}, PATIENCE_S)
    return cluster[led().pop()]
