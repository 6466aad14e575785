"""ConsumerGroupHeartbeat: Join, stay in, change or leave a consumer group."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import Uuid

# v0 (KIP-848) · v1 subscribed_topic_regex (KIP-848); the client makes its member_id (KIP-1082)


@struct
class TopicPartitionsRequest(Struct):
    topic_id: Uuid = field(UUID)
    partitions: list[int] = field(Array(Int32), default_factory=list)


@message(ApiKey.CONSUMER_GROUP_HEARTBEAT, versions=(0, 1), flexible=0)
class ConsumerGroupHeartbeatRequest(Message):
    """Join, stay in, change or leave a consumer group."""

    group_id: str = field(String)
    member_id: str = field(String)
    # 0 joins, -1 leaves, -2 a static member leaves for a while
    member_epoch: int = field(Int32)
    instance_id: str | None = field(String, nullable=0, default=None)
    rack_id: str | None = field(String, nullable=0, default=None)
    # -1 if unchanged
    rebalance_timeout_ms: int = field(Int32, default=-1)
    # null if unchanged
    subscribed_topic_names: list[str] | None = field(Array(String), nullable=0, default=None)
    subscribed_topic_regex: str | None = field(String, since=1, nullable=0, default=None)
    server_assignor: str | None = field(String, nullable=0, default=None)
    # partitions owned now; null if unchanged
    topic_partitions: list[TopicPartitionsRequest] | None = field(
        Array(TopicPartitionsRequest), nullable=0, default=None
    )


@struct
class TopicPartitionsResponse(Struct):
    topic_id: Uuid = field(UUID)
    partitions: list[int] = field(Array(Int32), default_factory=list)


@struct
class Assignment(Struct):
    topic_partitions: list[TopicPartitionsResponse] = field(
        Array(TopicPartitionsResponse), default_factory=list
    )


@message(ApiKey.CONSUMER_GROUP_HEARTBEAT, versions=(0, 1), flexible=0)
class ConsumerGroupHeartbeatResponse(Message):
    """The member's epoch and, if it changed, its assignment."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default=None)
    member_id: str | None = field(String, nullable=0, default=None)
    member_epoch: int = field(Int32)
    heartbeat_interval_ms: int = field(Int32)
    # null if unchanged
    assignment: Assignment | None = field(Assignment, nullable=0, default=None)
