"""ShareGroupDescribe: Describe share groups."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Boolean, Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import Uuid

# v0 early access (KIP-932) · v1 stable; v0 gone in 4.1


@message(ApiKey.SHARE_GROUP_DESCRIBE, versions=(0, 1), flexible=0)
class ShareGroupDescribeRequest(Message):
    """Describe share groups."""

    group_ids: list[str] = field(Array(String), default_factory=list)
    include_authorized_operations: bool = field(Boolean)


@struct
class TopicPartitions(Struct):
    topic_id: Uuid = field(UUID)
    topic_name: str = field(String)
    partitions: list[int] = field(Array(Int32), default_factory=list)


@struct
class Assignment(Struct):
    topic_partitions: list[TopicPartitions] = field(Array(TopicPartitions), default_factory=list)


@struct
class Member(Struct):
    member_id: str = field(String)
    rack_id: str | None = field(String, nullable=0, default=None)
    member_epoch: int = field(Int32)
    client_id: str = field(String)
    client_host: str = field(String)
    subscribed_topic_names: list[str] = field(Array(String), default_factory=list)
    assignment: Assignment = field(Assignment)


@struct
class DescribedGroup(Struct):
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default=None)
    group_id: str = field(String)
    group_state: str = field(String)
    group_epoch: int = field(Int32)
    assignment_epoch: int = field(Int32)
    assignor_name: str = field(String)
    members: list[Member] = field(Array(Member), default_factory=list)
    authorized_operations: int = field(Int32, default=-2147483648)


@message(ApiKey.SHARE_GROUP_DESCRIBE, versions=(0, 1), flexible=0)
class ShareGroupDescribeResponse(Message):
    """State, members and assignments of each share group."""

    throttle_time_ms: int = field(Int32, default=0)
    groups: list[DescribedGroup] = field(Array(DescribedGroup), default_factory=list)
