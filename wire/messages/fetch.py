"""Fetch: Read record batches of partitions, as consumer or follower."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Int8, Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import Records, RecordsSource, String
from barnabas.wire.uuids import ZERO_UUID, Uuid

# v0 min_bytes, max_wait_ms · v1 throttle_time_ms in the response (KIP-13) ·
# v2 message format v1 in the response (KIP-32) ·
# v3 max_bytes, partitions served in request order (KIP-74) ·
# v4 isolation_level, last_stable_offset, aborted_transactions, message format v2 (KIP-98) ·
# v5 log_start_offset on both sides (KIP-107) · v6 error KAFKA_STORAGE_ERROR (KIP-112) ·
# v7 session_id, session_epoch, forgotten_topics_data, error_code: fetch sessions (KIP-227) ·
# v8 throttled responses are sent at once, the client waits (KIP-219) ·
# v9 current_leader_epoch (KIP-320) · v10 zstd batches in the response (KIP-110) ·
# v11 rack_id, preferred_read_replica (KIP-392) ·
# v12 flexible (KIP-482), last_fetched_epoch; tagged cluster_id, diverging_epoch, current_leader
#   (KIP-595) and snapshot_id (KIP-630) · v13 topics by id instead of name (KIP-516) ·
# v14 error OFFSET_MOVED_TO_TIERED_STORAGE for followers (KIP-405) ·
# v15 tagged replica_state with replica_epoch instead of replica_id (KIP-903) ·
# v16 tagged node_endpoints in the response (KIP-951) ·
# v17 tagged replica_directory_id (KIP-853) ·
# v18 tagged high_watermark, so that a follower learns of its rise at once (KIP-1166) ·
# v0-v3 gone in 4.0 (KIP-896)


@struct
class ReplicaState(Struct):
    replica_id: int = field(Int32, default=-1)
    # broker epoch of the follower, -1 if unknown
    replica_epoch: int = field(Int64, default=-1)


@struct
class FetchPartition(Struct):
    partition: int = field(Int32)
    # -1 for no check
    current_leader_epoch: int = field(Int32, since=9, default=-1, ignorable=True)
    fetch_offset: int = field(Int64)
    # -1 if none was fetched
    last_fetched_epoch: int = field(Int32, since=12, default=-1)
    # the follower's own; -1 from a consumer
    log_start_offset: int = field(Int64, since=5, default=-1, ignorable=True)
    partition_max_bytes: int = field(Int32)
    replica_directory_id: Uuid = field(UUID, since=17, tag=0, ignorable=True, default=ZERO_UUID)
    # -1 if unknown, the largest int64 if the replica cannot say
    high_watermark: int = field(Int64, since=18, default=9223372036854775807, tag=1, ignorable=True)


@struct
class FetchTopic(Struct):
    topic: str = field(String, until=12, ignorable=True, default="")
    topic_id: Uuid = field(UUID, since=13, ignorable=True, default=ZERO_UUID)
    partitions: list[FetchPartition] = field(Array(FetchPartition), default_factory=list)


@struct
class ForgottenTopic(Struct):
    topic: str = field(String, until=12, ignorable=True, default="")
    topic_id: Uuid = field(UUID, since=13, ignorable=True, default=ZERO_UUID)
    partitions: list[int] = field(Array(Int32), default_factory=list)


@message(ApiKey.FETCH, versions=(0, 18), flexible=12)
class FetchRequest(Message):
    """Read record batches of partitions, as consumer or follower."""

    cluster_id: str | None = field(
        String, since=12, nullable=0, default=None, tag=0, ignorable=True
    )
    # -1 consumer, -2 debugging consumer, else the follower's broker id
    replica_id: int = field(Int32, until=14, default=-1)
    replica_state: ReplicaState | None = field(ReplicaState, since=15, tag=1, default=None)
    max_wait_ms: int = field(Int32)
    min_bytes: int = field(Int32)
    max_bytes: int = field(Int32, since=3, default=0x7FFFFFFF, ignorable=True)
    # 0 read uncommitted, 1 read committed
    isolation_level: int = field(Int8, since=4, ignorable=True, default=0)
    # 0 for a new session or none
    session_id: int = field(Int32, since=7, ignorable=True, default=0)
    # -1 no session, 0 full fetch that opens one, then counting up
    session_epoch: int = field(Int32, since=7, default=-1, ignorable=True)
    topics: list[FetchTopic] = field(Array(FetchTopic), default_factory=list)
    # what leaves the session
    forgotten_topics_data: list[ForgottenTopic] = field(
        Array(ForgottenTopic), since=7, default_factory=list
    )
    # empty if the consumer has none
    rack_id: str = field(String, since=11, ignorable=True, default="")


@struct
class EpochEndOffset(Struct):
    epoch: int = field(Int32, default=-1)
    end_offset: int = field(Int64, default=-1)


@struct
class LeaderIdAndEpoch(Struct):
    leader_id: int = field(Int32, default=-1)
    leader_epoch: int = field(Int32, default=-1)


@struct
class SnapshotId(Struct):
    end_offset: int = field(Int64, default=-1)
    epoch: int = field(Int32, default=-1)


@struct
class AbortedTransaction(Struct):
    producer_id: int = field(Int64)
    first_offset: int = field(Int64)


@struct
class PartitionData(Struct):
    partition_index: int = field(Int32)
    error_code: int = field(Int16, default=0)
    high_watermark: int = field(Int64)
    # below it every transaction is decided
    last_stable_offset: int = field(Int64, since=4, default=-1, ignorable=True)
    log_start_offset: int = field(Int64, since=5, default=-1, ignorable=True)
    # epoch and end offset to truncate to
    diverging_epoch: EpochEndOffset | None = field(EpochEndOffset, since=12, tag=0, default=None)
    current_leader: LeaderIdAndEpoch | None = field(LeaderIdAndEpoch, since=12, tag=1, default=None)
    snapshot_id: SnapshotId | None = field(SnapshotId, since=12, tag=2, default=None)
    # null unless read committed was asked for
    aborted_transactions: list[AbortedTransaction] | None = field(
        Array(AbortedTransaction), since=4, nullable=0, ignorable=True, default_factory=list
    )
    # -1 for the leader itself
    preferred_read_replica: int = field(Int32, since=11, default=-1)
    # batches as they lie in the log; the last may be cut short
    records: RecordsSource | None = field(Records, nullable=0)


@struct
class FetchableTopicResponse(Struct):
    topic: str = field(String, until=12, ignorable=True, default="")
    topic_id: Uuid = field(UUID, since=13, ignorable=True, default=ZERO_UUID)
    partitions: list[PartitionData] = field(Array(PartitionData), default_factory=list)


@struct
class NodeEndpoint(Struct):
    node_id: int = field(Int32)
    host: str = field(String)
    port: int = field(Int32)
    rack: str | None = field(String, nullable=0, default=None)


@message(ApiKey.FETCH, versions=(0, 18), flexible=12)
class FetchResponse(Message):
    """Record batches and the offsets that bound them."""

    throttle_time_ms: int = field(Int32, since=1, ignorable=True, default=0)
    error_code: int = field(Int16, since=7, ignorable=True, default=0)
    # 0 if the fetch belongs to no session
    session_id: int = field(Int32, since=7, default=0)
    responses: list[FetchableTopicResponse] = field(
        Array(FetchableTopicResponse), default_factory=list
    )
    node_endpoints: list[NodeEndpoint] = field(
        Array(NodeEndpoint), since=16, tag=0, default_factory=list
    )
