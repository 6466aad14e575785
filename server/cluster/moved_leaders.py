"""Naming the leader that has moved (KIP-951): what Produce from v10 and Fetch from v16 add.

An error that says "not me" comes with who it is now and where that broker is reached, so that
the client need not ask for metadata first. Both APIs have classes of their own for the same
two things; the caller passes them in.
"""

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from barnabas.server.cluster.metadata import NO_LEADER, ClusterMetadata
from barnabas.wire.error_codes import ErrorCode

MOVED = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})


class LeaderIdAndEpoch(Protocol):
    """A leader as an answer names it."""

    leader_id: int


Leader = TypeVar("Leader", bound=LeaderIdAndEpoch)
NodeEndpoint = TypeVar("NodeEndpoint")


def current_leader(
    make: Callable[..., Leader], metadata: ClusterMetadata, topic: str, index: int
) -> Leader | None:
    """The partition's leader, or None where nobody leads it."""
    info = metadata.partition(topic, index)
    if info is None or info.leader_id == NO_LEADER:
        return None
    return make(leader_id=info.leader_id, leader_epoch=info.leader_epoch)


def node_endpoints(
    make: Callable[..., NodeEndpoint],
    metadata: ClusterMetadata,
    listener_name: str,
    leaders: Iterable[LeaderIdAndEpoch | None],
) -> list[NodeEndpoint]:
    """Where the leaders of an answer are reached by whoever came through that listener."""
    endpoints = []
    for leader_id in sorted({leader.leader_id for leader in leaders if leader is not None}):
        broker = metadata.brokers.get(leader_id)
        endpoint = broker.endpoints.get(listener_name) if broker else None
        if broker is not None and endpoint is not None:
            endpoints.append(
                make(node_id=leader_id, host=endpoint.host, port=endpoint.port, rack=broker.rack)
            )
    return endpoints
