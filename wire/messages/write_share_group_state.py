"""WriteShareGroupState: Store changed share-partition state."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Int8, Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import Uuid

# v0 (KIP-932) · v1 delivery_complete_count (KIP-1226)


@struct
class StateBatch(Struct):
    first_offset: int = field(Int64)
    last_offset: int = field(Int64)
    delivery_state: int = field(Int8)
    delivery_count: int = field(Int16)


@struct
class PartitionData(Struct):
    partition: int = field(Int32)
    state_epoch: int = field(Int32)
    leader_epoch: int = field(Int32)
    start_offset: int = field(Int64)
    delivery_complete_count: int = field(Int32, since=1, default=-1, ignorable=True)
    state_batches: list[StateBatch] = field(Array(StateBatch), default_factory=list)


@struct
class WriteStateData(Struct):
    topic_id: Uuid = field(UUID)
    partitions: list[PartitionData] = field(Array(PartitionData), default_factory=list)


@message(ApiKey.WRITE_SHARE_GROUP_STATE, versions=(0, 1), flexible=0)
class WriteShareGroupStateRequest(Message):
    """Store changed share-partition state."""

    group_id: str = field(String)
    topics: list[WriteStateData] = field(Array(WriteStateData), default_factory=list)


@struct
class PartitionResult(Struct):
    partition: int = field(Int32)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default=None)


@struct
class WriteStateResult(Struct):
    topic_id: Uuid = field(UUID)
    partitions: list[PartitionResult] = field(Array(PartitionResult), default_factory=list)


@message(ApiKey.WRITE_SHARE_GROUP_STATE, versions=(0, 1), flexible=0)
class WriteShareGroupStateResponse(Message):
    """Per partition, whether its state was stored."""

    results: list[WriteStateResult] = field(Array(WriteStateResult), default_factory=list)
