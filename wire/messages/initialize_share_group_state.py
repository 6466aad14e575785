"""InitializeShareGroupState: Create a share group's state for partitions."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import Uuid

# v0 (KIP-932)


@struct
class PartitionData(Struct):
    partition: int = field(Int32)
    state_epoch: int = field(Int32)
    start_offset: int = field(Int64)


@struct
class InitializeStateData(Struct):
    topic_id: Uuid = field(UUID)
    partitions: list[PartitionData] = field(Array(PartitionData), default_factory=list)


@message(ApiKey.INITIALIZE_SHARE_GROUP_STATE, versions=(0, 0), flexible=0)
class InitializeShareGroupStateRequest(Message):
    """Create a share group's state for partitions."""

    group_id: str = field(String)
    topics: list[InitializeStateData] = field(Array(InitializeStateData), default_factory=list)


@struct
class PartitionResult(Struct):
    partition: int = field(Int32)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default=None)


@struct
class InitializeStateResult(Struct):
    topic_id: Uuid = field(UUID)
    partitions: list[PartitionResult] = field(Array(PartitionResult), default_factory=list)


@message(ApiKey.INITIALIZE_SHARE_GROUP_STATE, versions=(0, 0), flexible=0)
class InitializeShareGroupStateResponse(Message):
    """Per partition, whether its state was created."""

    results: list[InitializeStateResult] = field(Array(InitializeStateResult), default_factory=list)
