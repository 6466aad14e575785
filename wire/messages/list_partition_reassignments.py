"""ListPartitionReassignments: List moves of replicas that are under way."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 flexible (KIP-455)


@struct
class ListPartitionReassignmentsTopics(Struct):
    name: str = field(String)
    partition_indexes: list[int] = field(Array(Int32), default_factory=list)


@message(ApiKey.LIST_PARTITION_REASSIGNMENTS, versions=(0, 0), flexible=0)
class ListPartitionReassignmentsRequest(Message):
    """List moves of replicas that are under way."""

    timeout_ms: int = field(Int32, default=60000)
    # null for all
    topics: list[ListPartitionReassignmentsTopics] | None = field(
        Array(ListPartitionReassignmentsTopics), nullable=0, default=None
    )


@struct
class OngoingPartitionReassignment(Struct):
    partition_index: int = field(Int32)
    replicas: list[int] = field(Array(Int32), default_factory=list)
    adding_replicas: list[int] = field(Array(Int32), default_factory=list)
    removing_replicas: list[int] = field(Array(Int32), default_factory=list)


@struct
class OngoingTopicReassignment(Struct):
    name: str = field(String)
    partitions: list[OngoingPartitionReassignment] = field(
        Array(OngoingPartitionReassignment), default_factory=list
    )


@message(ApiKey.LIST_PARTITION_REASSIGNMENTS, versions=(0, 0), flexible=0)
class ListPartitionReassignmentsResponse(Message):
    """Per partition, replicas, those to add and to remove."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default="")
    topics: list[OngoingTopicReassignment] = field(
        Array(OngoingTopicReassignment), default_factory=list
    )
