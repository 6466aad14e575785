"""Naming the leader that has moved."""

from barnabas.server.cluster.metadata import (
    BrokerInfo,
    ClusterMetadata,
    Endpoint,
    PartitionInfo,
    TopicInfo,
)
from barnabas.server.cluster.moved_leaders import current_leader, node_endpoints
from barnabas.wire.messages.produce import LeaderIdAndEpoch, NodeEndpoint
from barnabas.wire.uuids import ZERO_UUID


def cluster() -> ClusterMetadata:
    metadata = ClusterMetadata()
    metadata.brokers[1] = BrokerInfo(1, {"OUT": Endpoint("one", 9092)}, "east")
    metadata.brokers[2] = BrokerInfo(2, {"OUT": Endpoint("two", 9093), "IN": Endpoint("2", 1)})
    led = PartitionInfo(0, 2, 7, (1, 2), (2,))
    leaderless = PartitionInfo(1, -1, 8, (1, 2), ())
    metadata.set_topic(TopicInfo("moves", ZERO_UUID, (led, leaderless)))
    return metadata


def test_the_leader_is_named() -> None:
    assert current_leader(LeaderIdAndEpoch, cluster(), "moves", 0) == LeaderIdAndEpoch(
        leader_id=2, leader_epoch=7
    )


def test_nobody_leads_or_nobody_knows() -> None:
    assert current_leader(LeaderIdAndEpoch, cluster(), "moves", 1) is None
    assert current_leader(LeaderIdAndEpoch, cluster(), "moves", 9) is None
    assert current_leader(LeaderIdAndEpoch, cluster(), "unknown", 0) is None


def test_each_leader_once_in_order_of_id_by_the_clients_listener() -> None:
    leaders = [LeaderIdAndEpoch(leader_id=n) for n in (2, 1, 2, 3)]
    found = node_endpoints(NodeEndpoint, cluster(), "OUT", [None, *leaders])
    assert found == [
        NodeEndpoint(node_id=1, host="one", port=9092, rack="east"),
        NodeEndpoint(node_id=2, host="two", port=9093, rack=None),
    ]


def test_a_broker_without_that_listener_is_left_out() -> None:
    leaders = [LeaderIdAndEpoch(leader_id=1), LeaderIdAndEpoch(leader_id=2)]
    found = node_endpoints(NodeEndpoint, cluster(), "IN", leaders)
    assert [endpoint.node_id for endpoint in found] == [2]
