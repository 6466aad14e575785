"""ShareFetch: Acquire records as a share consumer, and acknowledge others."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Boolean, Int8, Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import Records, RecordsSource, String
from barnabas.wire.uuids import ZERO_UUID, Uuid

# v0 early access, partition_max_bytes (KIP-932) ·
# v1 stable: max_records, batch_size, acquisition_lock_timeout_ms; v0 gone in 4.1 ·
# v2 share_acquire_mode (KIP-1206), is_renew_ack (KIP-1222)


@struct
class AcknowledgementBatch(Struct):
    first_offset: int = field(Int64)
    last_offset: int = field(Int64)
    # 0 gap, 1 accept, 2 release, 3 reject, 4 renew (v2)
    acknowledge_types: list[int] = field(Array(Int8), default_factory=list)


@struct
class FetchPartition(Struct):
    partition_index: int = field(Int32)
    partition_max_bytes: int = field(Int32, until=0, default=0)
    acknowledgement_batches: list[AcknowledgementBatch] = field(
        Array(AcknowledgementBatch), default_factory=list
    )


@struct
class FetchTopic(Struct):
    topic_id: Uuid = field(UUID, ignorable=(0, 0), default=ZERO_UUID)
    partitions: list[FetchPartition] = field(Array(FetchPartition), default_factory=list)


@struct
class ForgottenTopic(Struct):
    topic_id: Uuid = field(UUID, ignorable=(0, 0), default=ZERO_UUID)
    partitions: list[int] = field(Array(Int32), default_factory=list)


@message(ApiKey.SHARE_FETCH, versions=(0, 2), flexible=0)
class ShareFetchRequest(Message):
    """Acquire records as a share consumer, and acknowledge others."""

    group_id: str | None = field(String, nullable=0, default=None)
    member_id: str | None = field(String, nullable=0)
    # 0 opens the session, -1 closes it, else counting up
    share_session_epoch: int = field(Int32)
    max_wait_ms: int = field(Int32)
    min_bytes: int = field(Int32)
    max_bytes: int = field(Int32, default=0x7FFFFFFF, ignorable=(0, 0))
    max_records: int = field(Int32, since=1, default=0)
    batch_size: int = field(Int32, since=1, default=0)
    # 0 batches whole, 1 not above max_records
    share_acquire_mode: int = field(Int8, since=2, ignorable=True, default=0)
    is_renew_ack: bool = field(Boolean, since=2, default=False)
    topics: list[FetchTopic] = field(Array(FetchTopic), default_factory=list)
    forgotten_topics_data: list[ForgottenTopic] = field(Array(ForgottenTopic), default_factory=list)


@struct
class LeaderIdAndEpoch(Struct):
    leader_id: int = field(Int32)
    leader_epoch: int = field(Int32)


@struct
class AcquiredRecords(Struct):
    first_offset: int = field(Int64)
    last_offset: int = field(Int64)
    delivery_count: int = field(Int16)


@struct
class PartitionData(Struct):
    partition_index: int = field(Int32)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default=None)
    acknowledge_error_code: int = field(Int16)
    acknowledge_error_message: str | None = field(String, nullable=0, default=None)
    current_leader: LeaderIdAndEpoch = field(LeaderIdAndEpoch)
    records: RecordsSource | None = field(Records, nullable=(0, 0))
    acquired_records: list[AcquiredRecords] = field(Array(AcquiredRecords), default_factory=list)


@struct
class ShareFetchableTopicResponse(Struct):
    topic_id: Uuid = field(UUID, ignorable=(0, 0), default=ZERO_UUID)
    partitions: list[PartitionData] = field(Array(PartitionData), default_factory=list)


@struct
class NodeEndpoint(Struct):
    node_id: int = field(Int32)
    host: str = field(String)
    port: int = field(Int32)
    rack: str | None = field(String, nullable=0, default=None)


@message(ApiKey.SHARE_FETCH, versions=(0, 2), flexible=0)
class ShareFetchResponse(Message):
    """Record batches and which of their records were acquired."""

    throttle_time_ms: int = field(Int32, ignorable=(0, 0), default=0)
    error_code: int = field(Int16, ignorable=(0, 0), default=0)
    error_message: str | None = field(String, nullable=0, default=None)
    acquisition_lock_timeout_ms: int = field(Int32, since=1, default=0)
    responses: list[ShareFetchableTopicResponse] = field(
        Array(ShareFetchableTopicResponse), default_factory=list
    )
    node_endpoints: list[NodeEndpoint] = field(Array(NodeEndpoint), default_factory=list)
