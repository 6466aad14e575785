"""What brokers are told, held against what Apache Kafka's controller told them."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest

from barnabas.server.cluster.control_values import LEADER_DURING_DELETION, SECURITY_PROTOCOLS
from barnabas.server.controller.control_messages import (
    Sender,
    Stopped,
    Told,
    leader_and_isr,
    stop_replicas,
    update_metadata,
    version_of,
)
from barnabas.server.registry.bodies import PartitionState, ProtocolVersion
from barnabas.server.registry.broker_body import BrokerRegistration, Endpoint
from barnabas.server.registry.brokers import RegisteredBroker
from barnabas.wire.api import ApiKey, request_class
from barnabas.wire.header import parse_request_header
from barnabas.wire.uuids import ZERO_UUID
from tests.server.registry import golden

CONTROL = (ApiKey.LEADER_AND_ISR, ApiKey.STOP_REPLICA, ApiKey.UPDATE_METADATA)
PROTOCOL_NAMES = {v: k for k, v in SECURITY_PROTOCOLS.items()}


def told_by_kafka(protocol: ProtocolVersion, key: ApiKey) -> list[tuple[int, Any]]:
    """The version and the body of every such request that was recorded."""
    found = []
    for line in golden.interbroker(protocol):
        if line["api_key"] == key:
            frame, version = memoryview(bytes.fromhex(line["request"])), line["version"]
            _, start = parse_request_header(frame)
            found.append((version, request_class(key).at(version).parse(frame, start)))
    assert found
    return found


@pytest.mark.parametrize("protocol", golden.PROTOCOLS)
@pytest.mark.parametrize("key", CONTROL)
def test_the_version_is_the_one_that_kafka_sends(protocol: ProtocolVersion, key: ApiKey) -> None:
    versions = {version for version, _ in told_by_kafka(protocol, key)}
    assert versions == {version_of(key, protocol)}


@pytest.mark.parametrize("protocol", golden.PROTOCOLS)
def test_leader_and_isr_is_what_kafka_sends(protocol: ProtocolVersion) -> None:
    for _, sent in told_by_kafka(protocol, ApiKey.LEADER_AND_ISR):
        partitions = [
            Told(
                topic.topic_name, topic.topic_id, each.partition_index, state_of(each),
                each.partition_epoch, each.replicas, each.adding_replicas, each.removing_replicas,
                each.is_new,
            )
            for topic in sent.topic_states
            for each in topic.partition_states
        ]  # fmt: skip
        live = {
            each.broker_id: registered(
                each.broker_id, [Endpoint("INTERNAL", each.host_name, each.port)]
            )
            for each in sent.live_leaders
        }
        made = leader_and_isr(partitions, addressee(sent), live, sender_of(sent, protocol))
        order = [each.broker_id for each in sent.live_leaders]
        made.live_leaders.sort(key=lambda each: order.index(each.broker_id))
        assert made == sent


@pytest.mark.parametrize("protocol", golden.PROTOCOLS)
def test_update_metadata_is_what_kafka_sends(protocol: ProtocolVersion) -> None:
    for _, sent in told_by_kafka(protocol, ApiKey.UPDATE_METADATA):
        deleted, partitions = set(), []
        for topic in sent.topic_states:
            for each in topic.partition_states:
                if each.leader == LEADER_DURING_DELETION:
                    deleted.add(topic.topic_name)
                state = state_of(each)
                partitions.append(
                    Told(
                        topic.topic_name, topic.topic_id, each.partition_index, state,
                        each.zk_version, each.replicas,
                    )
                )  # fmt: skip
        live = {
            each.id: registered(
                each.id,
                [
                    Endpoint(e.listener, e.host, e.port, PROTOCOL_NAMES[e.security_protocol])
                    for e in each.endpoints
                ],
                each.rack,
            )
            for each in sent.live_brokers
        }
        if any(is_offline_though_live(each, live) for each in partition_states(sent)):
            continue
        made = update_metadata(
            partitions, addressee(sent), live, sender_of(sent, protocol), deleted=deleted
        )
        assert by_id(made.live_brokers) == by_id(sent.live_brokers)
        made.live_brokers = sent.live_brokers
        assert made == sent


def partition_states(sent: Any) -> list[Any]:
    return [each for topic in sent.topic_states for each in topic.partition_states]


def is_offline_though_live(state: Any, live: Collection[int]) -> bool:
    """Its broker is shutting down, or has lost the disk: the controller knows more than we say."""
    return not set(live).isdisjoint(state.offline_replicas)


@pytest.mark.parametrize("protocol", golden.PROTOCOLS)
def test_stop_replica_is_what_kafka_sends(protocol: ProtocolVersion) -> None:
    for _, sent in told_by_kafka(protocol, ApiKey.STOP_REPLICA):
        replicas = [
            Stopped(
                topic.topic_name, each.partition_index, each.leader_epoch, each.delete_partition
            )
            for topic in sent.topic_states
            for each in topic.partition_states
        ]
        (made,) = stop_replicas(replicas, addressee(sent), sender_of(sent, protocol))
        assert made == sent


def test_old_brokers_are_told_without_topics_and_of_deletions_apart() -> None:
    to, sender = registered(2, []), Sender(1, 7, (2, 1), "PLAINTEXT")
    state = PartitionState(2, 3, [2], 7)
    told = [Told("t", ZERO_UUID, 0, state, 4, [2]), Told("u", ZERO_UUID, 1, state, 5, [2, 3])]
    roles = leader_and_isr(told, to, {2: to}, sender)
    assert [(each.topic_name, each.partition_index) for each in roles.ungrouped_partition_states] \
        == [("t", 0), ("u", 1)]  # fmt: skip
    shown = update_metadata(told, to, {2: to}, sender)
    assert shown.ungrouped_partition_states[1].offline_replicas == [3]
    stopped = [Stopped("t", 0, 3, True), Stopped("u", 1, 3, False)]
    deleting, leaving = stop_replicas(stopped, to, sender)
    assert (deleting.delete_partitions, leaving.delete_partitions) == (True, False)
    assert [each.topic_name for each in leaving.ungrouped_partitions] == ["u"]


def state_of(each: Any) -> PartitionState:
    """The registry's state that a partition was told with; a deletion hides some of it."""
    return PartitionState(
        each.leader, each.leader_epoch, each.isr, each.controller_epoch,
        getattr(each, "leader_recovery_state", 0),
    )  # fmt: skip


def registered(
    broker_id: int, endpoints: list[Endpoint], rack: str | None = None, epoch: int = 0
) -> RegisteredBroker:
    return RegisteredBroker(BrokerRegistration(broker_id, endpoints, 0, rack), epoch)


def addressee(sent: Any) -> RegisteredBroker:
    return registered(0, [], epoch=sent.broker_epoch)


def sender_of(sent: Any, protocol: ProtocolVersion) -> Sender:
    return Sender(sent.controller_id, sent.controller_epoch, protocol, "INTERNAL")


def by_id(brokers: Iterable[Any]) -> list[Any]:
    """The brokers and their endpoints, in one order."""
    ordered = sorted(brokers, key=lambda each: each.id)
    for each in ordered:
        each.endpoints.sort(key=lambda endpoint: endpoint.listener)
    return ordered
