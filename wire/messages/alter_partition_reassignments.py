"""AlterPartitionReassignments: Start, change or cancel moves of replicas."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Boolean, Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 flexible (KIP-455) · v1 allow_replication_factor_change on both sides (KIP-860)


@struct
class ReassignablePartition(Struct):
    partition_index: int = field(Int32)
    # null cancels the move
    replicas: list[int] | None = field(Array(Int32), nullable=0, default=None)


@struct
class ReassignableTopic(Struct):
    name: str = field(String)
    partitions: list[ReassignablePartition] = field(
        Array(ReassignablePartition), default_factory=list
    )


@message(ApiKey.ALTER_PARTITION_REASSIGNMENTS, versions=(0, 1), flexible=0)
class AlterPartitionReassignmentsRequest(Message):
    """Start, change or cancel moves of replicas."""

    timeout_ms: int = field(Int32, default=60000)
    allow_replication_factor_change: bool = field(Boolean, since=1, default=True)
    topics: list[ReassignableTopic] = field(Array(ReassignableTopic), default_factory=list)


@struct
class ReassignablePartitionResponse(Struct):
    partition_index: int = field(Int32)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default="")


@struct
class ReassignableTopicResponse(Struct):
    name: str = field(String)
    partitions: list[ReassignablePartitionResponse] = field(
        Array(ReassignablePartitionResponse), default_factory=list
    )


@message(ApiKey.ALTER_PARTITION_REASSIGNMENTS, versions=(0, 1), flexible=0)
class AlterPartitionReassignmentsResponse(Message):
    """Per partition, whether the move was accepted."""

    throttle_time_ms: int = field(Int32, default=0)
    allow_replication_factor_change: bool = field(Boolean, since=1, default=True, ignorable=True)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default="")
    responses: list[ReassignableTopicResponse] = field(
        Array(ReassignableTopicResponse), default_factory=list
    )
