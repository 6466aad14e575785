"""FetchSnapshot: Read a part of a metadata snapshot from the quorum's leader."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Int16, Int32, Int64, Uint16
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import Records, RecordsSource, String
from barnabas.wire.uuids import ZERO_UUID, Uuid

# v0 (KIP-630) · v1 tagged replica_directory_id and node_endpoints (KIP-853)


@struct
class SnapshotIdRequest(Struct):
    end_offset: int = field(Int64)
    epoch: int = field(Int32)


@struct
class PartitionSnapshotRequest(Struct):
    partition: int = field(Int32)
    current_leader_epoch: int = field(Int32)
    snapshot_id: SnapshotIdRequest = field(SnapshotIdRequest)
    position: int = field(Int64)
    replica_directory_id: Uuid = field(UUID, since=1, tag=0, ignorable=True, default=ZERO_UUID)


@struct
class TopicSnapshotRequest(Struct):
    name: str = field(String)
    partitions: list[PartitionSnapshotRequest] = field(
        Array(PartitionSnapshotRequest), default_factory=list
    )


@message(ApiKey.FETCH_SNAPSHOT, versions=(0, 1), flexible=0)
class FetchSnapshotRequest(Message):
    """Read a part of a metadata snapshot from the quorum's leader."""

    cluster_id: str | None = field(String, nullable=0, default=None, tag=0)
    replica_id: int = field(Int32, default=-1)
    max_bytes: int = field(Int32, default=0x7FFFFFFF)
    topics: list[TopicSnapshotRequest] = field(Array(TopicSnapshotRequest), default_factory=list)


@struct
class SnapshotIdResponse(Struct):
    end_offset: int = field(Int64)
    epoch: int = field(Int32)


@struct
class LeaderIdAndEpoch(Struct):
    leader_id: int = field(Int32)
    leader_epoch: int = field(Int32)


@struct
class PartitionSnapshotResponse(Struct):
    index: int = field(Int32)
    error_code: int = field(Int16, default=0)
    snapshot_id: SnapshotIdResponse = field(SnapshotIdResponse)
    current_leader: LeaderIdAndEpoch | None = field(LeaderIdAndEpoch, tag=0, default=None)
    size: int = field(Int64)
    position: int = field(Int64)
    unaligned_records: RecordsSource | None = field(Records)


@struct
class TopicSnapshotResponse(Struct):
    name: str = field(String)
    partitions: list[PartitionSnapshotResponse] = field(
        Array(PartitionSnapshotResponse), default_factory=list
    )


@struct
class NodeEndpoint(Struct):
    node_id: int = field(Int32)
    host: str = field(String)
    port: int = field(Uint16)


@message(ApiKey.FETCH_SNAPSHOT, versions=(0, 1), flexible=0)
class FetchSnapshotResponse(Message):
    """Bytes of a metadata snapshot from a position on."""

    throttle_time_ms: int = field(Int32, ignorable=True, default=0)
    error_code: int = field(Int16, default=0)
    topics: list[TopicSnapshotResponse] = field(Array(TopicSnapshotResponse), default_factory=list)
    node_endpoints: list[NodeEndpoint] = field(
        Array(NodeEndpoint), since=1, tag=0, default_factory=list
    )
