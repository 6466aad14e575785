"""What the controller tells brokers, as messages: LeaderAndIsr, UpdateMetadata, StopReplica.

The version of each follows from `inter.broker.protocol.version` alone, as brokers expect that are
told without having been asked what they serve (Kafka's AbstractControllerBrokerRequestBatch).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from barnabas.server.cluster.control_values import (
    LEADER_DURING_DELETION,
    SECURITY_PROTOCOLS,
    WHOLE,
)
from barnabas.server.cluster.metadata import NO_LEADER
from barnabas.server.controller.online import Key
from barnabas.server.registry.bodies import PartitionState, ProtocolVersion
from barnabas.server.registry.brokers import RegisteredBroker
from barnabas.wire.api import ApiKey
from barnabas.wire.messages.leader_and_isr import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from barnabas.wire.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaPartitionV0,
    StopReplicaRequest,
    StopReplicaTopicState,
    StopReplicaTopicV1,
)
from barnabas.wire.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from barnabas.wire.uuids import Uuid

# The first inter-broker protocol of each version.
_VERSIONS: Final[dict[ApiKey, Sequence[tuple[ProtocolVersion, int]]]] = {
    ApiKey.LEADER_AND_ISR: (
        ((3, 4), 7), ((3, 2), 6), ((2, 8), 5), ((2, 4), 4), ((2, 2), 2), ((1, 0), 1), ((0, 0), 0),
    ),
    ApiKey.UPDATE_METADATA: (
        ((3, 4), 8), ((2, 8), 7), ((2, 4), 6), ((2, 2), 5), ((1, 0), 4), ((0, 0), 3),
    ),
    ApiKey.STOP_REPLICA: (((3, 4), 4), ((2, 6), 3), ((2, 4), 2), ((2, 2), 1), ((0, 0), 0)),
}  # fmt: skip


class Sender(NamedTuple):
    """The controller as it signs what it tells."""

    broker_id: int
    controller_epoch: int
    protocol: ProtocolVersion
    listener_name: str
    """The listener on which brokers reach one another."""


class Told(NamedTuple):
    """A partition as brokers are told of it; `state` is the registry's, at `partition_epoch`."""

    topic: str
    topic_id: Uuid
    partition: int
    state: PartitionState
    partition_epoch: int
    replicas: Sequence[int]
    adding: Sequence[int] = ()
    removing: Sequence[int] = ()
    is_new: bool = False
    offline: Sequence[int] = ()
    """Replicas that are not to be used though their brokers may live."""

    @property
    def key(self) -> Key:
        return self.topic, self.partition


class Stopped(NamedTuple):
    """A replica that a broker is to give up; `leader_epoch` may be LEADER_DURING_DELETION."""

    topic: str
    partition: int
    leader_epoch: int
    is_deleted: bool


def version_of(api_key: ApiKey, protocol: ProtocolVersion) -> int:
    """The version in which brokers of an inter-broker protocol expect a request."""
    return next(version for since, version in _VERSIONS[api_key] if protocol >= since)


def leader_and_isr(
    partitions: Iterable[Told], to: RegisteredBroker, live: Mapping[int, RegisteredBroker],
    sender: Sender,
) -> LeaderAndIsrRequest:  # fmt: skip
    """Lead or follow these; the partitions of a topic stand together."""
    topics = []
    leaders: set[int] = set()
    for (name, topic_id), of_topic in groupby(partitions, lambda each: (each.topic, each.topic_id)):
        states = [_led(each) for each in of_topic]
        leaders.update(state.leader for state in states)
        topics.append(
            LeaderAndIsrTopicState(topic_name=name, topic_id=topic_id, partition_states=states)
        )
    request = LeaderAndIsrRequest(
        controller_id=sender.broker_id,
        controller_epoch=sender.controller_epoch,
        broker_epoch=to.epoch,
        live_leaders=_addresses([live[each] for each in sorted(leaders) if each in live], sender),
    )
    if version_of(ApiKey.LEADER_AND_ISR, sender.protocol) >= 2:
        request.topic_states = topics
        return request
    for topic in topics:
        for state in topic.partition_states:
            state.topic_name = topic.topic_name
            request.ungrouped_partition_states.append(state)
    return request


def _led(told: Told) -> LeaderAndIsrPartitionState:
    state = told.state
    return LeaderAndIsrPartitionState(
        partition_index=told.partition,
        controller_epoch=state.controller_epoch,
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        isr=list(state.isr),
        partition_epoch=told.partition_epoch,
        replicas=list(told.replicas),
        adding_replicas=list(told.adding),
        removing_replicas=list(told.removing),
        is_new=told.is_new,
        leader_recovery_state=state.leader_recovery_state,
    )


def _addresses(leaders: Iterable[RegisteredBroker], sender: Sender) -> list[LeaderAndIsrLiveLeader]:
    """Where followers find their leaders."""
    return [
        LeaderAndIsrLiveLeader(
            broker_id=leader.registration.broker_id, host_name=endpoint.host, port=endpoint.port
        )
        for leader in leaders
        for endpoint in leader.registration.endpoints
        if endpoint.listener == sender.listener_name
    ]


def update_metadata(
    partitions: Iterable[Told], to: RegisteredBroker, live: Mapping[int, RegisteredBroker],
    sender: Sender, *, deleted: Collection[str] = (), is_whole: bool = False,
) -> UpdateMetadataRequest:  # fmt: skip
    """What clients are told: all live brokers, and these partitions (of `deleted`: that they go).

    `is_whole`: there are no other topics.
    """
    topics = []
    for (name, topic_id), of_topic in groupby(partitions, lambda each: (each.topic, each.topic_id)):
        states = [_shown(each, live, name in deleted) for each in of_topic]
        topics.append(
            UpdateMetadataTopicState(topic_name=name, topic_id=topic_id, partition_states=states)
        )
    version = version_of(ApiKey.UPDATE_METADATA, sender.protocol)
    request = UpdateMetadataRequest(
        controller_id=sender.broker_id,
        controller_epoch=sender.controller_epoch,
        broker_epoch=to.epoch,
        live_brokers=[_live(each) for _, each in sorted(live.items())],
    )
    if version >= 8 and is_whole:
        request.type = WHOLE
    if version >= 5:
        request.topic_states = topics
        return request
    for topic in topics:
        for state in topic.partition_states:
            state.topic_name = topic.topic_name
            request.ungrouped_partition_states.append(state)
    return request


def _shown(told: Told, live: Collection[int], is_deleted: bool) -> UpdateMetadataPartitionState:
    state = told.state
    leader, leader_epoch, partition_epoch = state.leader, state.leader_epoch, told.partition_epoch
    if is_deleted:
        leader, leader_epoch, partition_epoch = LEADER_DURING_DELETION, 0, 0
    return UpdateMetadataPartitionState(
        partition_index=told.partition,
        controller_epoch=state.controller_epoch,
        leader=leader,
        leader_epoch=leader_epoch,
        isr=list(state.isr),
        zk_version=partition_epoch,
        replicas=list(told.replicas),
        offline_replicas=[
            each for each in told.replicas if each not in live or each in told.offline
        ],
    )


def _live(broker: RegisteredBroker) -> UpdateMetadataBroker:
    registered = broker.registration
    return UpdateMetadataBroker(
        id=registered.broker_id,
        endpoints=[
            UpdateMetadataEndpoint(
                port=each.port,
                host=each.host,
                listener=each.listener,
                security_protocol=SECURITY_PROTOCOLS[each.security_protocol],
            )
            for each in registered.endpoints
        ],
        rack=registered.rack,
    )


def stop_replicas(
    replicas: Sequence[Stopped], to: RegisteredBroker, sender: Sender
) -> list[StopReplicaRequest]:
    """Give these up; below version 3 those to delete are a request of their own."""
    version = version_of(ApiKey.STOP_REPLICA, sender.protocol)
    if version >= 3:
        return [_stop(replicas, False, version, to, sender)]
    return [
        _stop(some, is_deleted, version, to, sender)
        for is_deleted in (True, False)
        if (some := [each for each in replicas if each.is_deleted is is_deleted])
    ]


def _stop(
    replicas: Sequence[Stopped], is_deleted: bool, version: int, to: RegisteredBroker,
    sender: Sender,
) -> StopReplicaRequest:  # fmt: skip
    request = StopReplicaRequest(
        controller_id=sender.broker_id,
        controller_epoch=sender.controller_epoch,
        broker_epoch=to.epoch,
        delete_partitions=is_deleted,
    )
    for name, of_topic in groupby(replicas, lambda each: each.topic):
        some = list(of_topic)
        if version >= 3:
            request.topic_states.append(
                StopReplicaTopicState(
                    topic_name=name,
                    partition_states=[
                        StopReplicaPartitionState(
                            partition_index=each.partition,
                            leader_epoch=each.leader_epoch,
                            delete_partition=each.is_deleted,
                        )
                        for each in some
                    ],
                )
            )
        elif version >= 1:
            indexes = [each.partition for each in some]
            request.topics.append(StopReplicaTopicV1(name=name, partition_indexes=indexes))
        else:
            request.ungrouped_partitions += [
                StopReplicaPartitionV0(topic_name=name, partition_index=each.partition)
                for each in some
            ]
    return request


def none_leads(controller_epoch: int) -> PartitionState:
    """The state of a partition that has never had one."""
    return PartitionState(NO_LEADER, -1, [], controller_epoch)
