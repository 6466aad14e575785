"""ReadShareGroupState: Read share-partition state from the share coordinator."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Int8, Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import Uuid

# v0 (KIP-932)


@struct
class PartitionData(Struct):
    partition: int = field(Int32)
    leader_epoch: int = field(Int32)


@struct
class ReadStateData(Struct):
    topic_id: Uuid = field(UUID)
    partitions: list[PartitionData] = field(Array(PartitionData), default_factory=list)


@message(ApiKey.READ_SHARE_GROUP_STATE, versions=(0, 0), flexible=0)
class ReadShareGroupStateRequest(Message):
    """Read share-partition state from the share coordinator."""

    group_id: str = field(String)
    topics: list[ReadStateData] = field(Array(ReadStateData), default_factory=list)


@struct
class StateBatch(Struct):
    first_offset: int = field(Int64)
    last_offset: int = field(Int64)
    delivery_state: int = field(Int8)
    delivery_count: int = field(Int16)


@struct
class PartitionResult(Struct):
    partition: int = field(Int32)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default=None)
    state_epoch: int = field(Int32)
    start_offset: int = field(Int64)
    state_batches: list[StateBatch] = field(Array(StateBatch), default_factory=list)


@struct
class ReadStateResult(Struct):
    topic_id: Uuid = field(UUID)
    partitions: list[PartitionResult] = field(Array(PartitionResult), default_factory=list)


@message(ApiKey.READ_SHARE_GROUP_STATE, versions=(0, 0), flexible=0)
class ReadShareGroupStateResponse(Message):
    """Per partition, its start offset and in-flight batches."""

    results: list[ReadStateResult] = field(Array(ReadStateResult), default_factory=list)
