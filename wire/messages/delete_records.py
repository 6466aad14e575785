"""DeleteRecords: Drop records below an offset."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 (KIP-107) · v1 throttled responses are sent at once, the client waits (KIP-219) ·
# v2 flexible (KIP-482)


@struct
class DeleteRecordsPartition(Struct):
    partition_index: int = field(Int32)
    # first offset to keep; -1 for the high watermark
    offset: int = field(Int64)


@struct
class DeleteRecordsTopic(Struct):
    name: str = field(String)
    partitions: list[DeleteRecordsPartition] = field(
        Array(DeleteRecordsPartition), default_factory=list
    )


@message(ApiKey.DELETE_RECORDS, versions=(0, 2), flexible=2)
class DeleteRecordsRequest(Message):
    """Drop records below an offset."""

    topics: list[DeleteRecordsTopic] = field(Array(DeleteRecordsTopic), default_factory=list)
    timeout_ms: int = field(Int32)


@struct
class DeleteRecordsPartitionResult(Struct):
    partition_index: int = field(Int32)
    # -1 on error
    low_watermark: int = field(Int64)
    error_code: int = field(Int16, default=0)


@struct
class DeleteRecordsTopicResult(Struct):
    name: str = field(String)
    partitions: list[DeleteRecordsPartitionResult] = field(
        Array(DeleteRecordsPartitionResult), default_factory=list
    )


@message(ApiKey.DELETE_RECORDS, versions=(0, 2), flexible=2)
class DeleteRecordsResponse(Message):
    """Per partition, the new log start offset."""

    throttle_time_ms: int = field(Int32, default=0)
    topics: list[DeleteRecordsTopicResult] = field(
        Array(DeleteRecordsTopicResult), default_factory=list
    )
