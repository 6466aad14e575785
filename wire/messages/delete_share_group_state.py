"""DeleteShareGroupState: Tell the share coordinator to drop partitions' state."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import Uuid

# v0 (KIP-932)


@struct
class PartitionData(Struct):
    partition: int = field(Int32)


@struct
class DeleteStateData(Struct):
    topic_id: Uuid = field(UUID)
    partitions: list[PartitionData] = field(Array(PartitionData), default_factory=list)


@message(ApiKey.DELETE_SHARE_GROUP_STATE, versions=(0, 0), flexible=0)
class DeleteShareGroupStateRequest(Message):
    """Tell the share coordinator to drop partitions' state."""

    group_id: str = field(String)
    topics: list[DeleteStateData] = field(Array(DeleteStateData), default_factory=list)


@struct
class PartitionResult(Struct):
    partition: int = field(Int32)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default=None)


@struct
class DeleteStateResult(Struct):
    topic_id: Uuid = field(UUID)
    partitions: list[PartitionResult] = field(Array(PartitionResult), default_factory=list)


@message(ApiKey.DELETE_SHARE_GROUP_STATE, versions=(0, 0), flexible=0)
class DeleteShareGroupStateResponse(Message):
    """Per partition, whether its state was dropped."""

    results: list[DeleteStateResult] = field(Array(DeleteStateResult), default_factory=list)
