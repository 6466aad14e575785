"""Which replica a consumer is to read from: one near to it, where that is wanted (KIP-392).

Only replicas in sync that have the offset come into question. Of those in the consumer's rack the
leader is the first choice, else the one that has come farthest, has caught up last, and has the
highest id; in a rack without any it reads from the leader.

Source: Kafka's RackAwareReplicaSelector and ReplicaManager.findPreferredReadReplica.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from barnabas.server.cluster.metadata import ClusterMetadata
from barnabas.server.replication.partition import Partition

NO_REPLICA: Final = -1
PACKAGE: Final = "org.apache.kafka.common.replica."
RACK_AWARE: Final = f"{PACKAGE}RackAwareReplicaSelector"
LEADER_ONLY: Final = f"{PACKAGE}LeaderSelector"
SELECTORS: Final = (RACK_AWARE, LEADER_ONLY)


class Candidate(NamedTuple):
    """A follower that a consumer may read from."""

    broker_id: int
    rack: str | None
    log_end_offset: int
    last_caught_up_ms: float


def nearest(rack_id: str, leader_rack: str | None, candidates: Iterable[Candidate]) -> int:
    """The follower to read from, or NO_REPLICA: then it is the leader."""
    if not rack_id or leader_rack == rack_id:
        return NO_REPLICA
    near = [each for each in candidates if each.rack == rack_id]
    if not near:
        return NO_REPLICA
    best = max(near, key=lambda c: (c.log_end_offset, c.last_caught_up_ms, c.broker_id))
    return best.broker_id


class ReadReplicas:
    """Chooses for the consumer of one request."""

    __slots__ = ("_listener_name", "_metadata", "_rack_id")

    def __init__(self, metadata: ClusterMetadata, listener_name: str, rack_id: str) -> None:
        """`listener_name` is where the consumer reaches brokers."""
        self._metadata = metadata
        self._listener_name = listener_name
        self._rack_id = rack_id

    def choose(self, partition: Partition, fetch_offset: int) -> int:
        """The replica for a partition that is led here; NO_REPLICA for the leader."""
        brokers = self._metadata.brokers
        leader = brokers.get(partition.local_id)
        candidates = [
            Candidate(broker_id, broker.rack, follower.log_end_offset, follower.last_caught_up_ms)
            for broker_id, follower in partition.followers.items()
            if broker_id in partition.isr
            and follower.log_start_offset <= fetch_offset <= follower.log_end_offset
            and (broker := brokers.get(broker_id)) is not None
            and self._listener_name in broker.endpoints
        ]
        return nearest(self._rack_id, leader.rack if leader else None, candidates)
