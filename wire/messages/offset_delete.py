"""OffsetDelete: Delete a group's offsets of topics nobody subscribes to."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0, never flexible (KIP-496)


@struct
class OffsetDeleteRequestPartition(Struct):
    partition_index: int = field(Int32)


@struct
class OffsetDeleteRequestTopic(Struct):
    name: str = field(String)
    partitions: list[OffsetDeleteRequestPartition] = field(
        Array(OffsetDeleteRequestPartition), default_factory=list
    )


@message(ApiKey.OFFSET_DELETE, versions=(0, 0))
class OffsetDeleteRequest(Message):
    """Delete a group's offsets of topics nobody subscribes to."""

    group_id: str = field(String)
    topics: list[OffsetDeleteRequestTopic] = field(
        Array(OffsetDeleteRequestTopic), default_factory=list
    )


@struct
class OffsetDeleteResponsePartition(Struct):
    partition_index: int = field(Int32)
    error_code: int = field(Int16, default=0)


@struct
class OffsetDeleteResponseTopic(Struct):
    name: str = field(String)
    partitions: list[OffsetDeleteResponsePartition] = field(
        Array(OffsetDeleteResponsePartition), default_factory=list
    )


@message(ApiKey.OFFSET_DELETE, versions=(0, 0))
class OffsetDeleteResponse(Message):
    """Per partition, whether its offset was deleted."""

    error_code: int = field(Int16, default=0)
    throttle_time_ms: int = field(Int32, ignorable=True, default=0)
    topics: list[OffsetDeleteResponseTopic] = field(
        Array(OffsetDeleteResponseTopic), default_factory=list
    )
