"""ListOffsets: Find offsets by time or by a special position."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int8, Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 max_num_offsets, answers old_style_offsets of segments ·
# v1 one offset with its timestamp, found by time index (KIP-79) ·
# v2 isolation_level (KIP-98), throttle_time_ms (KIP-124) ·
# v3 throttled responses are sent at once, the client waits (KIP-219) ·
# v4 current_leader_epoch, leader_epoch (KIP-320) ·
# v5 error OFFSET_NOT_AVAILABLE after an election (KIP-207) · v6 flexible (KIP-482) ·
# v7 timestamp -3: offset of the largest timestamp (KIP-734) ·
# v8 timestamp -4: first offset on the broker's own disk (KIP-405) ·
# v9 timestamp -5: last offset in the remote tier (KIP-1005) ·
# v10 timeout_ms for lookups in the remote tier (KIP-1075) ·
# v11 timestamp -6: first offset not yet uploaded (KIP-1023) · v0 gone in 4.0 (KIP-896)


@struct
class ListOffsetsPartition(Struct):
    partition_index: int = field(Int32)
    current_leader_epoch: int = field(Int32, since=4, default=-1, ignorable=True)
    # ms; -1 end, -2 start, -3 to -6 see the history
    timestamp: int = field(Int64)
    max_num_offsets: int = field(Int32, until=0, default=1)


@struct
class ListOffsetsTopic(Struct):
    name: str = field(String)
    partitions: list[ListOffsetsPartition] = field(
        Array(ListOffsetsPartition), default_factory=list
    )


@message(ApiKey.LIST_OFFSETS, versions=(0, 11), flexible=6)
class ListOffsetsRequest(Message):
    """Find offsets by time or by a special position."""

    # -1 from a consumer
    replica_id: int = field(Int32)
    isolation_level: int = field(Int8, since=2, default=0)
    topics: list[ListOffsetsTopic] = field(Array(ListOffsetsTopic), default_factory=list)
    timeout_ms: int = field(Int32, since=10, ignorable=True, default=0)


@struct
class ListOffsetsPartitionResponse(Struct):
    partition_index: int = field(Int32)
    error_code: int = field(Int16, default=0)
    old_style_offsets: list[int] = field(Array(Int64), until=0, default_factory=list)
    # -1 for special positions and when nothing was found
    timestamp: int = field(Int64, since=1, default=-1)
    # -1 if nothing was found
    offset: int = field(Int64, since=1, default=-1)
    leader_epoch: int = field(Int32, since=4, default=-1)


@struct
class ListOffsetsTopicResponse(Struct):
    name: str = field(String)
    partitions: list[ListOffsetsPartitionResponse] = field(
        Array(ListOffsetsPartitionResponse), default_factory=list
    )


@message(ApiKey.LIST_OFFSETS, versions=(0, 11), flexible=6)
class ListOffsetsResponse(Message):
    """Per partition, the offset found and its timestamp."""

    throttle_time_ms: int = field(Int32, since=2, ignorable=True, default=0)
    topics: list[ListOffsetsTopicResponse] = field(
        Array(ListOffsetsTopicResponse), default_factory=list
    )
