"""OffsetForLeaderEpoch: Ask where a leader epoch ends."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 end_offset of an epoch (KIP-101) · v1 leader_epoch in the response (KIP-279) ·
# v2 current_leader_epoch, throttle_time_ms; open to consumers (KIP-320) ·
# v3 replica_id (KIP-392) · v4 flexible (KIP-482) · v0-v1 gone in 4.0 (KIP-896)


@struct
class OffsetForLeaderPartition(Struct):
    partition: int = field(Int32)
    # -1 for no check
    current_leader_epoch: int = field(Int32, since=2, default=-1, ignorable=True)
    leader_epoch: int = field(Int32)


@struct
class OffsetForLeaderTopic(Struct):
    topic: str = field(String)
    partitions: list[OffsetForLeaderPartition] = field(
        Array(OffsetForLeaderPartition), default_factory=list
    )


@message(ApiKey.OFFSET_FOR_LEADER_EPOCH, versions=(0, 4), flexible=4)
class OffsetForLeaderEpochRequest(Message):
    """Ask where a leader epoch ends."""

    # -1 consumer, -2 debugging consumer
    replica_id: int = field(Int32, since=3, default=-2, ignorable=True)
    topics: list[OffsetForLeaderTopic] = field(Array(OffsetForLeaderTopic), default_factory=list)


@struct
class EpochEndOffset(Struct):
    error_code: int = field(Int16, default=0)
    partition: int = field(Int32)
    # largest epoch not above the asked one, -1 if none
    leader_epoch: int = field(Int32, since=1, default=-1, ignorable=True)
    # -1 if unknown
    end_offset: int = field(Int64, default=-1)


@struct
class OffsetForLeaderTopicResult(Struct):
    topic: str = field(String)
    partitions: list[EpochEndOffset] = field(Array(EpochEndOffset), default_factory=list)


@message(ApiKey.OFFSET_FOR_LEADER_EPOCH, versions=(0, 4), flexible=4)
class OffsetForLeaderEpochResponse(Message):
    """Per partition, the end offset of the asked epoch."""

    throttle_time_ms: int = field(Int32, since=2, ignorable=True, default=0)
    topics: list[OffsetForLeaderTopicResult] = field(
        Array(OffsetForLeaderTopicResult), default_factory=list
    )
