"""ReadShareGroupStateSummary: Read only the offsets of share-partition state."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import Uuid

# v0 (KIP-932) · v1 delivery_complete_count in the response (KIP-1226)


@struct
class PartitionData(Struct):
    partition: int = field(Int32)
    leader_epoch: int = field(Int32)


@struct
class ReadStateSummaryData(Struct):
    topic_id: Uuid = field(UUID)
    partitions: list[PartitionData] = field(Array(PartitionData), default_factory=list)


@message(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, versions=(0, 1), flexible=0)
class ReadShareGroupStateSummaryRequest(Message):
    """Read only the offsets of share-partition state."""

    group_id: str = field(String)
    topics: list[ReadStateSummaryData] = field(Array(ReadStateSummaryData), default_factory=list)


@struct
class PartitionResult(Struct):
    partition: int = field(Int32)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default=None)
    state_epoch: int = field(Int32)
    leader_epoch: int = field(Int32)
    start_offset: int = field(Int64)
    delivery_complete_count: int = field(Int32, since=1, default=-1, ignorable=True)


@struct
class ReadStateSummaryResult(Struct):
    topic_id: Uuid = field(UUID)
    partitions: list[PartitionResult] = field(Array(PartitionResult), default_factory=list)


@message(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, versions=(0, 1), flexible=0)
class ReadShareGroupStateSummaryResponse(Message):
    """Per partition, its start offset and epochs."""

    results: list[ReadStateSummaryResult] = field(
        Array(ReadStateSummaryResult), default_factory=list
    )
