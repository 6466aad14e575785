"""OffsetCommit: Store a group's offsets."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import ZERO_UUID, Uuid

# v0 offsets kept in ZooKeeper ·
# v1 offsets kept in __consumer_offsets; generation_id_or_member_epoch, member_id,
#   commit_timestamp per partition · v2 retention_time_ms instead of commit_timestamp ·
# v3 throttle_time_ms (KIP-124) ·
# v4 throttled responses are sent at once, the client waits (KIP-219) ·
# v5 without retention_time_ms, the broker's setting rules (KIP-211) ·
# v6 committed_leader_epoch (KIP-320) · v7 group_instance_id (KIP-345) · v8 flexible (KIP-482) ·
# v9 also for consumer groups: member epochs, errors STALE_MEMBER_EPOCH and GROUP_ID_NOT_FOUND
#   (KIP-848) · v10 topics by id instead of name (KIP-848) · v0-v1 gone in 4.0 (KIP-896)


@struct
class OffsetCommitRequestPartition(Struct):
    partition_index: int = field(Int32)
    committed_offset: int = field(Int64)
    # ms; -1 for now
    commit_timestamp: int = field(Int64, since=1, until=1, default=-1)
    # epoch of the last consumed record, -1 if unknown
    committed_leader_epoch: int = field(Int32, since=6, default=-1, ignorable=True)
    committed_metadata: str | None = field(String, nullable=0)


@struct
class OffsetCommitRequestTopic(Struct):
    name: str = field(String, until=9, ignorable=2, default="")
    topic_id: Uuid = field(UUID, since=10, ignorable=True, default=ZERO_UUID)
    partitions: list[OffsetCommitRequestPartition] = field(
        Array(OffsetCommitRequestPartition), default_factory=list
    )


@message(ApiKey.OFFSET_COMMIT, versions=(0, 10), flexible=8)
class OffsetCommitRequest(Message):
    """Store a group's offsets."""

    group_id: str = field(String)
    # -1 from a committer outside the group protocol
    generation_id_or_member_epoch: int = field(Int32, since=1, default=-1, ignorable=True)
    member_id: str = field(String, since=1, ignorable=True, default="")
    # -1 for the broker's setting
    retention_time_ms: int = field(Int64, since=2, until=4, default=-1, ignorable=True)
    group_instance_id: str | None = field(String, since=7, nullable=0, default=None)
    topics: list[OffsetCommitRequestTopic] = field(
        Array(OffsetCommitRequestTopic), default_factory=list
    )


@struct
class OffsetCommitResponsePartition(Struct):
    partition_index: int = field(Int32)
    error_code: int = field(Int16, default=0)


@struct
class OffsetCommitResponseTopic(Struct):
    name: str = field(String, until=9, ignorable=2, default="")
    topic_id: Uuid = field(UUID, since=10, ignorable=True, default=ZERO_UUID)
    partitions: list[OffsetCommitResponsePartition] = field(
        Array(OffsetCommitResponsePartition), default_factory=list
    )


@message(ApiKey.OFFSET_COMMIT, versions=(0, 10), flexible=8)
class OffsetCommitResponse(Message):
    """Per partition, whether its offset was stored."""

    throttle_time_ms: int = field(Int32, since=3, ignorable=True, default=0)
    topics: list[OffsetCommitResponseTopic] = field(
        Array(OffsetCommitResponseTopic), default_factory=list
    )
