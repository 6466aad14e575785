"""ElectLeaders: Elect leaders of partitions now."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int8, Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 preferred leaders only (KIP-183) ·
# v1 election_type preferred or unclean, error_code of the whole answer (KIP-460) ·
# v2 flexible (KIP-482)


@struct
class TopicPartitions(Struct):
    topic: str = field(String)
    partitions: list[int] = field(Array(Int32), default_factory=list)


@message(ApiKey.ELECT_LEADERS, versions=(0, 2), flexible=2)
class ElectLeadersRequest(Message):
    """Elect leaders of partitions now."""

    # 0 preferred, 1 unclean
    election_type: int = field(Int8, since=1, default=0)
    # null for all partitions
    topic_partitions: list[TopicPartitions] | None = field(
        Array(TopicPartitions), nullable=0, default_factory=list
    )
    timeout_ms: int = field(Int32, default=60000)


@struct
class PartitionResult(Struct):
    partition_id: int = field(Int32)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default="")


@struct
class ReplicaElectionResult(Struct):
    topic: str = field(String)
    partition_result: list[PartitionResult] = field(Array(PartitionResult), default_factory=list)


@message(ApiKey.ELECT_LEADERS, versions=(0, 2), flexible=2)
class ElectLeadersResponse(Message):
    """Per partition, whether a leader was elected."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, since=1, default=0)
    replica_election_results: list[ReplicaElectionResult] = field(
        Array(ReplicaElectionResult), default_factory=list
    )
