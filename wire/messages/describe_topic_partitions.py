"""DescribeTopicPartitions: Describe topics page by page."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Boolean, Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import ZERO_UUID, Uuid

# v0 (KIP-966)


@struct
class TopicRequest(Struct):
    name: str = field(String)


@struct
class CursorRequest(Struct):
    topic_name: str = field(String)
    partition_index: int = field(Int32)


@message(ApiKey.DESCRIBE_TOPIC_PARTITIONS, versions=(0, 0), flexible=0)
class DescribeTopicPartitionsRequest(Message):
    """Describe topics page by page."""

    topics: list[TopicRequest] = field(Array(TopicRequest), default_factory=list)
    response_partition_limit: int = field(Int32, default=2000)
    cursor: CursorRequest | None = field(CursorRequest, nullable=0, default=None)


@struct
class DescribeTopicPartitionsResponsePartition(Struct):
    error_code: int = field(Int16, default=0)
    partition_index: int = field(Int32)
    leader_id: int = field(Int32)
    leader_epoch: int = field(Int32, default=-1, ignorable=True)
    replica_nodes: list[int] = field(Array(Int32), default_factory=list)
    isr_nodes: list[int] = field(Array(Int32), default_factory=list)
    eligible_leader_replicas: list[int] | None = field(Array(Int32), nullable=0, default=None)
    last_known_elr: list[int] | None = field(Array(Int32), nullable=0, default=None)
    offline_replicas: list[int] = field(Array(Int32), ignorable=True, default_factory=list)


@struct
class DescribeTopicPartitionsResponseTopic(Struct):
    error_code: int = field(Int16, default=0)
    name: str | None = field(String, nullable=0)
    topic_id: Uuid = field(UUID, ignorable=True, default=ZERO_UUID)
    is_internal: bool = field(Boolean, ignorable=True, default=False)
    partitions: list[DescribeTopicPartitionsResponsePartition] = field(
        Array(DescribeTopicPartitionsResponsePartition), default_factory=list
    )
    topic_authorized_operations: int = field(Int32, default=-2147483648)


@struct
class CursorResponse(Struct):
    topic_name: str = field(String)
    partition_index: int = field(Int32)


@message(ApiKey.DESCRIBE_TOPIC_PARTITIONS, versions=(0, 0), flexible=0)
class DescribeTopicPartitionsResponse(Message):
    """One page of partitions and the cursor of the next."""

    throttle_time_ms: int = field(Int32, ignorable=True, default=0)
    topics: list[DescribeTopicPartitionsResponseTopic] = field(
        Array(DescribeTopicPartitionsResponseTopic), default_factory=list
    )
    next_cursor: CursorResponse | None = field(CursorResponse, nullable=0, default=None)
