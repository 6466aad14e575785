"""ShareAcknowledge: Acknowledge records that a share consumer acquired."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Boolean, Int8, Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import ZERO_UUID, Uuid

# v0 early access (KIP-932) · v1 stable; v0 gone in 4.1 ·
# v2 is_renew_ack, acquisition_lock_timeout_ms (KIP-1222)


@struct
class AcknowledgementBatch(Struct):
    first_offset: int = field(Int64)
    last_offset: int = field(Int64)
    # 0 gap, 1 accept, 2 release, 3 reject, 4 renew (v2)
    acknowledge_types: list[int] = field(Array(Int8), default_factory=list)


@struct
class AcknowledgePartition(Struct):
    partition_index: int = field(Int32)
    acknowledgement_batches: list[AcknowledgementBatch] = field(
        Array(AcknowledgementBatch), default_factory=list
    )


@struct
class AcknowledgeTopic(Struct):
    topic_id: Uuid = field(UUID)
    partitions: list[AcknowledgePartition] = field(
        Array(AcknowledgePartition), default_factory=list
    )


@message(ApiKey.SHARE_ACKNOWLEDGE, versions=(0, 2), flexible=0)
class ShareAcknowledgeRequest(Message):
    """Acknowledge records that a share consumer acquired."""

    group_id: str | None = field(String, nullable=0, default=None)
    member_id: str | None = field(String, nullable=0)
    share_session_epoch: int = field(Int32)
    is_renew_ack: bool = field(Boolean, since=2, default=False)
    topics: list[AcknowledgeTopic] = field(Array(AcknowledgeTopic), default_factory=list)


@struct
class LeaderIdAndEpoch(Struct):
    leader_id: int = field(Int32)
    leader_epoch: int = field(Int32)


@struct
class PartitionData(Struct):
    partition_index: int = field(Int32)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default=None)
    current_leader: LeaderIdAndEpoch = field(LeaderIdAndEpoch)


@struct
class ShareAcknowledgeTopicResponse(Struct):
    topic_id: Uuid = field(UUID, ignorable=(0, 0), default=ZERO_UUID)
    partitions: list[PartitionData] = field(Array(PartitionData), default_factory=list)


@struct
class NodeEndpoint(Struct):
    node_id: int = field(Int32)
    host: str = field(String)
    port: int = field(Int32)
    rack: str | None = field(String, nullable=0, default=None)


@message(ApiKey.SHARE_ACKNOWLEDGE, versions=(0, 2), flexible=0)
class ShareAcknowledgeResponse(Message):
    """Per partition, whether the acknowledgements counted."""

    throttle_time_ms: int = field(Int32, ignorable=(0, 0), default=0)
    error_code: int = field(Int16, ignorable=(0, 0), default=0)
    error_message: str | None = field(String, nullable=0, default=None)
    acquisition_lock_timeout_ms: int = field(Int32, since=2, ignorable=True, default=0)
    responses: list[ShareAcknowledgeTopicResponse] = field(
        Array(ShareAcknowledgeTopicResponse), default_factory=list
    )
    node_endpoints: list[NodeEndpoint] = field(Array(NodeEndpoint), default_factory=list)
