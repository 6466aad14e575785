"""TxnOffsetCommit: Store a group's offsets as part of a transaction."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import ZERO_UUID, Uuid

# v0 (KIP-98) · v1 throttled responses are sent at once, the client waits (KIP-219) ·
# v2 committed_leader_epoch (KIP-320) ·
# v3 flexible (KIP-482); generation_id_or_member_epoch, member_id, group_instance_id fence by
#   group (KIP-447) · v4 error TRANSACTION_ABORTABLE (KIP-890) ·
# v5 also adds the group's partition to the transaction (KIP-890) ·
# v6 topics by id instead of name, errors STALE_MEMBER_EPOCH, GROUP_ID_NOT_FOUND (KIP-1319)


@struct
class TxnOffsetCommitRequestPartition(Struct):
    partition_index: int = field(Int32)
    committed_offset: int = field(Int64)
    committed_leader_epoch: int = field(Int32, since=2, default=-1, ignorable=True)
    committed_metadata: str | None = field(String, nullable=0)


@struct
class TxnOffsetCommitRequestTopic(Struct):
    name: str = field(String, until=5, ignorable=True, default="")
    topic_id: Uuid = field(UUID, since=6, ignorable=True, default=ZERO_UUID)
    partitions: list[TxnOffsetCommitRequestPartition] = field(
        Array(TxnOffsetCommitRequestPartition), default_factory=list
    )


@message(ApiKey.TXN_OFFSET_COMMIT, versions=(0, 6), flexible=3)
class TxnOffsetCommitRequest(Message):
    """Store a group's offsets as part of a transaction."""

    transactional_id: str = field(String)
    group_id: str = field(String)
    producer_id: int = field(Int64)
    producer_epoch: int = field(Int16)
    # -1 outside a group
    generation_id_or_member_epoch: int = field(Int32, since=3, default=-1)
    member_id: str = field(String, since=3, default="")
    group_instance_id: str | None = field(String, since=3, nullable=0, default=None)
    topics: list[TxnOffsetCommitRequestTopic] = field(
        Array(TxnOffsetCommitRequestTopic), default_factory=list
    )


@struct
class TxnOffsetCommitResponsePartition(Struct):
    partition_index: int = field(Int32)
    error_code: int = field(Int16, default=0)


@struct
class TxnOffsetCommitResponseTopic(Struct):
    name: str = field(String, until=5, ignorable=True, default="")
    topic_id: Uuid = field(UUID, since=6, ignorable=True, default=ZERO_UUID)
    partitions: list[TxnOffsetCommitResponsePartition] = field(
        Array(TxnOffsetCommitResponsePartition), default_factory=list
    )


@message(ApiKey.TXN_OFFSET_COMMIT, versions=(0, 6), flexible=3)
class TxnOffsetCommitResponse(Message):
    """Per partition, whether the pending offset was stored."""

    throttle_time_ms: int = field(Int32, default=0)
    topics: list[TxnOffsetCommitResponseTopic] = field(
        Array(TxnOffsetCommitResponseTopic), default_factory=list
    )
