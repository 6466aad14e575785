"""CreatePartitions: Raise the partition count of topics."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Boolean, Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 (KIP-195) · v1 throttled responses are sent at once, the client waits (KIP-219) ·
# v2 flexible (KIP-482) · v3 error THROTTLING_QUOTA_EXCEEDED (KIP-599)


@struct
class CreatePartitionsAssignment(Struct):
    broker_ids: list[int] = field(Array(Int32), default_factory=list)


@struct
class CreatePartitionsTopic(Struct):
    name: str = field(String)
    # the new total
    count: int = field(Int32)
    # null: the controller places the replicas
    assignments: list[CreatePartitionsAssignment] | None = field(
        Array(CreatePartitionsAssignment), nullable=0, default_factory=list
    )


@message(ApiKey.CREATE_PARTITIONS, versions=(0, 3), flexible=2)
class CreatePartitionsRequest(Message):
    """Raise the partition count of topics."""

    topics: list[CreatePartitionsTopic] = field(Array(CreatePartitionsTopic), default_factory=list)
    timeout_ms: int = field(Int32)
    validate_only: bool = field(Boolean)


@struct
class CreatePartitionsTopicResult(Struct):
    name: str = field(String)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default=None)


@message(ApiKey.CREATE_PARTITIONS, versions=(0, 3), flexible=2)
class CreatePartitionsResponse(Message):
    """Per topic, whether its partitions were added."""

    throttle_time_ms: int = field(Int32, default=0)
    results: list[CreatePartitionsTopicResult] = field(
        Array(CreatePartitionsTopicResult), default_factory=list
    )
