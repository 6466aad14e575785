"""AlterShareGroupOffsets: Set where an empty share group starts reading."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import Uuid

# v0 (KIP-932)


@struct
class AlterShareGroupOffsetsRequestPartition(Struct):
    partition_index: int = field(Int32)
    start_offset: int = field(Int64)


@struct
class AlterShareGroupOffsetsRequestTopic(Struct):
    topic_name: str = field(String)
    partitions: list[AlterShareGroupOffsetsRequestPartition] = field(
        Array(AlterShareGroupOffsetsRequestPartition), default_factory=list
    )


@message(ApiKey.ALTER_SHARE_GROUP_OFFSETS, versions=(0, 0), flexible=0)
class AlterShareGroupOffsetsRequest(Message):
    """Set where an empty share group starts reading."""

    group_id: str = field(String)
    topics: list[AlterShareGroupOffsetsRequestTopic] = field(
        Array(AlterShareGroupOffsetsRequestTopic), default_factory=list
    )


@struct
class AlterShareGroupOffsetsResponsePartition(Struct):
    partition_index: int = field(Int32)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default=None)


@struct
class AlterShareGroupOffsetsResponseTopic(Struct):
    topic_name: str = field(String)
    topic_id: Uuid = field(UUID)
    partitions: list[AlterShareGroupOffsetsResponsePartition] = field(
        Array(AlterShareGroupOffsetsResponsePartition), default_factory=list
    )


@message(ApiKey.ALTER_SHARE_GROUP_OFFSETS, versions=(0, 0), flexible=0)
class AlterShareGroupOffsetsResponse(Message):
    """Per partition, whether the start offset was set."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default=None)
    responses: list[AlterShareGroupOffsetsResponseTopic] = field(
        Array(AlterShareGroupOffsetsResponseTopic), default_factory=list
    )
