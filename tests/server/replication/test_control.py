"""What a controller tells a broker: whom it believes, and what it makes of each partition."""

from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.server.cluster.control_values import WHOLE
from barnabas.server.replication.states import ReplicaState
from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from barnabas.wire.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from barnabas.wire.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from barnabas.wire.uuids import Uuid
from tests.server.names import unique
from tests.server.raw_client import RawClient
from tests.server.records import make_batch, produce

OTHER = 7
LATER = 1_000
ROLES, SHOWN, STOPPED = 7, 8, 4  # versions


@pytest.fixture
def broker() -> Iterator[Broker]:
    """One of its own: a controller that is newer than the real one puts that out of office."""
    with Broker() as made:
        yield made


@pytest.fixture
def epoch() -> int:
    """A controller's that is newer than the broker's own."""
    return LATER


@pytest.fixture
def topic(broker: Broker) -> str:
    return broker.create_topic(unique("t"), 2)


def id_of(broker: Broker, topic: str) -> Uuid:
    return broker.server.metadata.topics[topic].topic_id


def role(index: int, leader: int, leader_epoch: int, **more: Any) -> LeaderAndIsrPartitionState:
    return LeaderAndIsrPartitionState(
        partition_index=index, controller_epoch=1, leader=leader, leader_epoch=leader_epoch,
        isr=[leader], partition_epoch=0, replicas=more.pop("replicas", [0, OTHER]), **more,
    )  # fmt: skip


def roles(
    topic: str, topic_id: Uuid, epoch: int, *states: LeaderAndIsrPartitionState, **more: Any
) -> LeaderAndIsrRequest:
    named = LeaderAndIsrTopicState(
        topic_name=topic, topic_id=topic_id, partition_states=list(states)
    )
    return LeaderAndIsrRequest(
        controller_id=OTHER, controller_epoch=epoch, topic_states=[named], **more
    )


def codes(answer: Any) -> list[int]:
    return [each.error_code for topic in answer.topics for each in topic.partition_errors]


def test_a_newer_leader_epoch_counts_and_no_other(
    broker: Broker, client: RawClient, topic: str, epoch: int
) -> None:
    topic_id = id_of(broker, topic)
    told = roles(topic, topic_id, epoch, role(0, OTHER, 1), role(1, 0, 0))
    answer = client.call(told, ROLES)
    assert (answer.error_code, codes(answer)) == (0, [0, ErrorCode.STALE_CONTROLLER_EPOCH])
    partition = broker.server.replicas.require(topic, 0)
    assert (partition.state, partition.leader_id) == (ReplicaState.FOLLOWER, OTHER)
    assert codes(client.call(told, ROLES)) == [ErrorCode.STALE_CONTROLLER_EPOCH] * 2
    assert produce(client, topic, make_batch(b"x")).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert produce(client, topic, make_batch(b"x"), partition=1).error_code == 0
    back = roles(topic, topic_id, epoch, role(0, 0, 2))
    assert codes(client.call(back, ROLES)) == [0]
    assert produce(client, topic, make_batch(b"x")).error_code == 0


def test_an_older_controller_and_a_former_life_are_refused(
    broker: Broker, client: RawClient, topic: str, epoch: int
) -> None:
    topic_id = id_of(broker, topic)
    client.call(roles(topic, topic_id, epoch), ROLES)
    older = roles(topic, topic_id, epoch - 1, role(0, OTHER, 1))
    assert client.call(older, ROLES).error_code == ErrorCode.STALE_CONTROLLER_EPOCH
    former = broker.server.membership.broker_epoch - 1
    late = roles(topic, topic_id, epoch, role(0, OTHER, 1), broker_epoch=former)
    assert client.call(late, ROLES).error_code == ErrorCode.STALE_BROKER_EPOCH
    shown = UpdateMetadataRequest(controller_id=OTHER, controller_epoch=epoch - 1)
    assert client.call(shown, SHOWN).error_code == ErrorCode.STALE_CONTROLLER_EPOCH
    stop = StopReplicaRequest(controller_id=OTHER, controller_epoch=epoch, broker_epoch=former)
    assert client.call(stop, STOPPED).error_code == ErrorCode.STALE_BROKER_EPOCH
    assert broker.server.replicas.require(topic, 0).is_leader


def test_partitions_of_others_are_refused(
    broker: Broker, client: RawClient, topic: str, epoch: int
) -> None:
    elsewhere = role(5, OTHER, 1, replicas=[OTHER])
    answer = client.call(roles(topic, id_of(broker, topic), epoch, elsewhere), ROLES)
    assert codes(answer) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert broker.server.replicas.find(topic, 5) is None


@pytest.mark.parametrize("version", [0, 1, 2, 4, 5, 6, 7])
def test_every_version_says_the_same(
    broker: Broker, client: RawClient, topic: str, epoch: int, version: int
) -> None:
    state = role(0, OTHER, 1)
    told = roles(topic, id_of(broker, topic), epoch, state)
    if version < 2:
        state.topic_name, told.topic_states = topic, []
        told.ungrouped_partition_states = [state]
    answer = client.call(told, version)
    errors = codes(answer) if version >= 5 else [e.error_code for e in answer.partition_errors]
    assert (answer.error_code, errors) == (0, [0])
    assert broker.server.replicas.require(topic, 0).leader_id == OTHER


def shown_partition(index: int, leader: int, leader_epoch: int) -> UpdateMetadataPartitionState:
    return UpdateMetadataPartitionState(
        partition_index=index, controller_epoch=1, leader=leader, leader_epoch=leader_epoch,
        isr=[leader], zk_version=0, replicas=[leader, OTHER],
    )  # fmt: skip


def shown(
    epoch: int, topic: str, topic_id: Uuid, *states: UpdateMetadataPartitionState, **more: Any
) -> UpdateMetadataRequest:
    named = UpdateMetadataTopicState(
        topic_name=topic, topic_id=topic_id, partition_states=list(states)
    )
    endpoint = UpdateMetadataEndpoint(
        port=9, host="other", listener="PLAINTEXT", security_protocol=0
    )
    return UpdateMetadataRequest(
        controller_id=OTHER,
        controller_epoch=epoch,
        topic_states=[named],
        live_brokers=[UpdateMetadataBroker(id=OTHER, endpoints=[endpoint], rack="r")],
        **more,
    )


def test_metadata_is_told_in_parts_and_this_broker_is_always_among_the_brokers(
    broker: Broker, client: RawClient, topic: str, epoch: int
) -> None:
    metadata, topic_id = broker.server.metadata, id_of(broker, topic)
    assert client.call(shown(epoch, topic, topic_id, shown_partition(2, OTHER, 3)), SHOWN) \
        .error_code == 0  # fmt: skip
    leaders = [info.leader_id for info in metadata.topics[topic].partitions]
    assert leaders == [0, 0, OTHER]
    assert sorted(metadata.brokers) == [0, OTHER] and metadata.controller_id == OTHER
    assert metadata.brokers[OTHER].rack == "r"


def test_a_partition_behind_one_that_is_not_known_yet_leaves_room_for_it(
    broker: Broker, client: RawClient, epoch: int
) -> None:
    name = unique("t")
    told = shown(epoch, name, Uuid(bytes(range(16))), shown_partition(1, OTHER, 0))
    assert client.call(told, SHOWN).error_code == 0
    first, second = broker.server.metadata.topics[name].partitions
    assert (first.leader_id, second.leader_id) == (-1, OTHER)


def test_a_topic_that_is_deleted_or_not_in_the_whole_is_forgotten(
    broker: Broker, client: RawClient, topic: str, epoch: int
) -> None:
    other = broker.create_topic(unique("u"))
    metadata = broker.server.metadata
    topic_id, other_id = id_of(broker, topic), id_of(broker, other)
    gone = shown(epoch, topic, topic_id, shown_partition(0, -2, 0))
    assert client.call(gone, SHOWN).error_code == 0
    assert topic not in metadata.topics and other in metadata.topics
    whole = shown(epoch, topic, topic_id, shown_partition(0, 0, 0), type=WHOLE)
    assert client.call(whole, SHOWN).error_code == 0
    assert topic in metadata.topics and other not in metadata.topics
    client.call(shown(epoch, other, other_id, shown_partition(0, 0, 0)), SHOWN)


def test_a_replica_that_is_elsewhere_by_a_newer_epoch_is_given_up(
    broker: Broker, client: RawClient, topic: str, epoch: int
) -> None:
    topic_id, replicas = id_of(broker, topic), broker.server.replicas
    client.call(roles(topic, topic_id, epoch, role(0, 0, 5), role(1, 0, 5)), ROLES)
    as_old = [shown_partition(0, OTHER, 5), shown_partition(1, OTHER, 5)]
    client.call(shown(epoch, topic, topic_id, *as_old), SHOWN)
    assert replicas.find(topic, 0) is not None and replicas.find(topic, 1) is not None
    here = shown_partition(1, OTHER, 6)
    here.replicas = [OTHER, 0]
    client.call(shown(epoch, topic, topic_id, shown_partition(0, OTHER, 6), here), SHOWN)
    assert replicas.find(topic, 0) is None, "it has been moved while nobody told this broker"
    assert replicas.require(topic, 1).is_leader, "what it is to be there LeaderAndIsr says"


def test_a_replica_is_stopped_or_deleted_unless_a_newer_epoch_is_known(
    broker: Broker, client: RawClient, topic: str, epoch: int
) -> None:
    topic_id = id_of(broker, topic)
    client.call(roles(topic, topic_id, epoch, role(0, 0, 5), role(1, 0, 5)), ROLES)
    states = [
        StopReplicaPartitionState(partition_index=0, leader_epoch=4, delete_partition=True),
        StopReplicaPartitionState(partition_index=1, leader_epoch=6, delete_partition=False),
        StopReplicaPartitionState(partition_index=9, leader_epoch=6, delete_partition=True),
    ]
    stop = StopReplicaRequest(
        controller_id=OTHER,
        controller_epoch=epoch,
        topic_states=[StopReplicaTopicState(topic_name=topic, partition_states=states)],
    )
    answer = client.call(stop, STOPPED)
    found = [each.error_code for each in answer.partition_errors]
    assert found == [ErrorCode.FENCED_LEADER_EPOCH, 0, 0]
    replicas = broker.server.replicas
    assert replicas.require(topic, 0).is_leader and replicas.find(topic, 1) is None
    assert [each.index for each in replicas.of_topic(topic)] == [0]
