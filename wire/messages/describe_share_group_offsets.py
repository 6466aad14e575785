"""DescribeShareGroupOffsets: Ask where share groups stand."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import Uuid

# v0 (KIP-932) · v1 lag (KIP-1226)


@struct
class DescribeShareGroupOffsetsRequestTopic(Struct):
    topic_name: str = field(String)
    partitions: list[int] = field(Array(Int32), default_factory=list)


@struct
class DescribeShareGroupOffsetsRequestGroup(Struct):
    group_id: str = field(String)
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None = field(
        Array(DescribeShareGroupOffsetsRequestTopic), nullable=0, default_factory=list
    )


@message(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, versions=(0, 1), flexible=0)
class DescribeShareGroupOffsetsRequest(Message):
    """Ask where share groups stand."""

    groups: list[DescribeShareGroupOffsetsRequestGroup] = field(
        Array(DescribeShareGroupOffsetsRequestGroup), default_factory=list
    )


@struct
class DescribeShareGroupOffsetsResponsePartition(Struct):
    partition_index: int = field(Int32)
    start_offset: int = field(Int64)
    leader_epoch: int = field(Int32)
    lag: int = field(Int64, since=1, default=-1, ignorable=True)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default=None)


@struct
class DescribeShareGroupOffsetsResponseTopic(Struct):
    topic_name: str = field(String)
    topic_id: Uuid = field(UUID)
    partitions: list[DescribeShareGroupOffsetsResponsePartition] = field(
        Array(DescribeShareGroupOffsetsResponsePartition), default_factory=list
    )


@struct
class DescribeShareGroupOffsetsResponseGroup(Struct):
    group_id: str = field(String)
    topics: list[DescribeShareGroupOffsetsResponseTopic] = field(
        Array(DescribeShareGroupOffsetsResponseTopic), default_factory=list
    )
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default=None)


@message(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, versions=(0, 1), flexible=0)
class DescribeShareGroupOffsetsResponse(Message):
    """Per partition, a share group's start offset and lag."""

    throttle_time_ms: int = field(Int32, default=0)
    groups: list[DescribeShareGroupOffsetsResponseGroup] = field(
        Array(DescribeShareGroupOffsetsResponseGroup), default_factory=list
    )
