"""ShareGroupHeartbeat: Join, stay in or leave a share group."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import Uuid

# v0 early access (KIP-932) · v1 stable; v0 gone in 4.1


@message(ApiKey.SHARE_GROUP_HEARTBEAT, versions=(0, 1), flexible=0)
class ShareGroupHeartbeatRequest(Message):
    """Join, stay in or leave a share group."""

    group_id: str = field(String)
    member_id: str = field(String)
    # 0 joins, -1 leaves
    member_epoch: int = field(Int32)
    rack_id: str | None = field(String, nullable=0, default=None)
    subscribed_topic_names: list[str] | None = field(Array(String), nullable=0, default=None)


@struct
class TopicPartitions(Struct):
    topic_id: Uuid = field(UUID)
    partitions: list[int] = field(Array(Int32), default_factory=list)


@struct
class Assignment(Struct):
    topic_partitions: list[TopicPartitions] = field(Array(TopicPartitions), default_factory=list)


@message(ApiKey.SHARE_GROUP_HEARTBEAT, versions=(0, 1), flexible=0)
class ShareGroupHeartbeatResponse(Message):
    """The member's epoch and, if it changed, its assignment."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default=None)
    member_id: str | None = field(String, nullable=0, default=None)
    member_epoch: int = field(Int32)
    heartbeat_interval_ms: int = field(Int32)
    assignment: Assignment | None = field(Assignment, nullable=0, default=None)
