"""A partition whose leadership goes to another broker, and what becomes of who waits here."""

import threading
from collections.abc import Callable

import pytest

from barnabas.server.cluster.metadata import PartitionInfo, TopicInfo
from barnabas.server.core.topic_names import OFFSETS_TOPIC
from barnabas.server.replication.states import ReplicaState
from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.server.group_requests import Member, commit, find_coordinator, offsets
from tests.server.names import unique
from tests.server.raw_client import RawClient
from tests.server.records import (
    fetch_request,
    fetched,
    make_batch,
    produce,
    produce_request,
)
from tests.server.told import tell as tell_broker
from tests.server.told import tell_end
from tests.server.waiting import wait_until, wait_until_watched

OTHER = 7
LONG_MS = 60_000
PATIENCE_S = 30.0


def tell(broker: Broker, name: str, change: Callable[[PartitionInfo], PartitionInfo]) -> None:
    """The controller says something new of all partitions of a topic."""
    topic = broker.server.metadata.topics[name]
    changed = TopicInfo(name, topic.topic_id, tuple(map(change, topic.partitions)))
    broker.run(tell_broker(broker.server, changed))


def moved(info: PartitionInfo) -> PartitionInfo:
    """Another broker has been elected."""
    return PartitionInfo(info.index, OTHER, info.leader_epoch + 1, (0, OTHER), (OTHER,))


def back(info: PartitionInfo) -> PartitionInfo:
    """And this one again."""
    return PartitionInfo(info.index, 0, info.leader_epoch + 1, (0, OTHER), (0,))


def half_replicated(info: PartitionInfo) -> PartitionInfo:
    """Another broker has to have what is produced with acks=all."""
    return PartitionInfo(info.index, 0, info.leader_epoch + 1, (0, OTHER), (0, OTHER))


@pytest.fixture
def topic(broker: Broker) -> str:
    return broker.create_topic(unique("t"))


def in_background(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_a_demoted_partition_is_a_follower_that_takes_and_gives_nothing(
    broker: Broker, client: RawClient, topic: str
) -> None:
    assert produce(client, topic, make_batch(b"x")).error_code == 0
    tell(broker, topic, moved)
    partition = broker.server.replicas.find(topic, 0)
    assert partition is not None and partition.state is ReplicaState.FOLLOWER
    assert (partition.leader_id, partition.leader_epoch) == (OTHER, 1)
    refusal = produce(client, topic, make_batch(b"y"))
    assert refusal.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    request = fetch_request(topic, 0)
    (old, new) = (fetched(client.call(request, each))[topic, 0] for each in (10, 11))
    assert old.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (new.error_code, new.high_watermark) == (0, 1), "consumers may read here since KIP-392"
    tell(broker, topic, back)
    assert partition.state is ReplicaState.LEADER and partition.leader_epoch == 2
    assert produce(client, topic, make_batch(b"y")).base_offset == 1


def test_a_parked_produce_is_told_that_the_leader_is_another(
    broker: Broker, client: RawClient, topic: str
) -> None:
    tell(broker, topic, half_replicated)
    answers = []
    request = produce_request(topic, make_batch(b"x"))
    request.timeout_ms = LONG_MS
    waiting = in_background(lambda: answers.append(client.call(request, 9)))
    wait_until(lambda: broker.call(lambda: broker.server.produces.is_watched((topic, 0))))
    tell(broker, topic, moved)
    waiting.join(PATIENCE_S)
    (answer,) = answers[0].responses[0].partition_responses
    assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize(
    ("version", "known_epoch", "code"),
    [
        (10, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (10, 0, ErrorCode.FENCED_LEADER_EPOCH),
        (16, 0, ErrorCode.FENCED_LEADER_EPOCH),
        (16, -1, ErrorCode.NONE),
    ],
)
def test_a_parked_fetch_is_told_that_the_leader_is_another(
    broker: Broker, client: RawClient, topic: str, version: int, known_epoch: int, code: ErrorCode
) -> None:
    wanted = FetchPartition(
        partition=0, current_leader_epoch=known_epoch, fetch_offset=0, partition_max_bytes=1 << 20
    )
    topic_id = broker.server.metadata.topics[topic].topic_id
    request = FetchRequest(
        max_wait_ms=LONG_MS,
        min_bytes=1,
        topics=[FetchTopic(topic=topic, topic_id=topic_id, partitions=[wanted])],
    )
    answers = []
    waiting = in_background(lambda: answers.append(client.call(request, version)))
    wait_until_watched(broker, topic)
    tell(broker, topic, moved)
    waiting.join(PATIENCE_S)
    (part,) = answers[0].responses[0].partitions
    assert part.error_code == code
    if version >= 16 and code:
        assert (part.current_leader.leader_id, part.current_leader.leader_epoch) == (OTHER, 1)


def test_the_groups_of_a_demoted_coordinator_look_for_another(
    broker: Broker, client: RawClient
) -> None:
    find_coordinator(client, "g")
    with Member(broker, "g") as member:
        member.settle()
        assert member.heartbeat() == 0
        tell(broker, OFFSETS_TOPIC, moved)
        assert member.heartbeat() == ErrorCode.NOT_COORDINATOR
        tell(broker, OFFSETS_TOPIC, back)
        wait_until(lambda: member.heartbeat() == 0)


def told_of_roles(broker: Broker, change: Callable[[PartitionInfo], PartitionInfo]) -> None:
    """LeaderAndIsr for all partitions of __consumer_offsets; no UpdateMetadata yet."""
    topic = broker.server.metadata.topics[OFFSETS_TOPIC]
    changed = TopicInfo(topic.name, topic.topic_id, tuple(map(change, topic.partitions)))
    broker.run(broker.server.hosting.lead_or_follow(changed))


def test_a_demoted_coordinator_answers_for_nothing_before_clients_are_told(
    broker: Broker, client: RawClient, topic: str
) -> None:
    group = unique("g")
    find_coordinator(client, group)
    assert commit(client, group, topic, 5) == [0]
    told_of_roles(broker, moved)
    assert offsets(client, group, topic, 0, version=1)[topic, 0][2] == ErrorCode.NOT_COORDINATOR
    assert commit(client, group, topic, 6) == [ErrorCode.NOT_COORDINATOR]
    told_of_roles(broker, back)
    wait_until(lambda: offsets(client, group, topic, 0) == {(topic, 0): (5, "", 0)})


def test_members_notice_nothing_of_a_new_epoch_of_their_coordinator(
    broker: Broker, client: RawClient
) -> None:
    """A follower of its partition was lost, say; whoever waits for the others goes on waiting."""
    group = unique("g")
    find_coordinator(client, group)
    with Member(broker, group) as member, Member(broker, group) as other:
        member.settle()
        other.ask_in(member)
        tell(broker, OFFSETS_TOPIC, back)
        assert member.join().error_code == 0
        assert other.receive().error_code == 0


def test_a_follower_is_hosted_before_it_has_led(broker: Broker, topic: str) -> None:
    name = unique("f")
    info = PartitionInfo(0, OTHER, 3, (OTHER, 0), (OTHER,))
    elsewhere = PartitionInfo(1, OTHER, 3, (OTHER,), (OTHER,))
    known = broker.server.metadata.topics[topic]
    new = TopicInfo(name, type(known.topic_id)(bytes(range(16))), (info, elsewhere))
    broker.run(tell_broker(broker.server, new))
    partition = broker.server.replicas.find(name, 0)
    assert partition is not None and partition.state is ReplicaState.FOLLOWER
    assert broker.server.replicas.find(name, 1) is None
    broker.run(tell_end(broker.server, new))
    assert partition.state is ReplicaState.OFFLINE
