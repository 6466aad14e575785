"""Vote: Ask a voter of the metadata quorum for its vote."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Boolean, Int16, Int32, Int64, Uint16
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import ZERO_UUID, Uuid

# v0 (KIP-595) ·
# v1 voter_id, voter_directory_id, replica_directory_id (3.9 calls it candidate_directory_id),
#   tagged node_endpoints (KIP-853) · v2 pre_vote: ask without raising the epoch (KIP-996)


@struct
class PartitionDataRequest(Struct):
    partition_index: int = field(Int32)
    replica_epoch: int = field(Int32)
    replica_id: int = field(Int32)
    replica_directory_id: Uuid = field(UUID, since=1, ignorable=True, default=ZERO_UUID)
    voter_directory_id: Uuid = field(UUID, since=1, ignorable=True, default=ZERO_UUID)
    last_offset_epoch: int = field(Int32)
    last_offset: int = field(Int64)
    pre_vote: bool = field(Boolean, since=2, default=False)


@struct
class TopicDataRequest(Struct):
    topic_name: str = field(String)
    partitions: list[PartitionDataRequest] = field(
        Array(PartitionDataRequest), default_factory=list
    )


@message(ApiKey.VOTE, versions=(0, 2), flexible=0)
class VoteRequest(Message):
    """Ask a voter of the metadata quorum for its vote."""

    cluster_id: str | None = field(String, nullable=0, default=None)
    voter_id: int = field(Int32, since=1, default=-1, ignorable=True)
    topics: list[TopicDataRequest] = field(Array(TopicDataRequest), default_factory=list)


@struct
class PartitionDataResponse(Struct):
    partition_index: int = field(Int32)
    error_code: int = field(Int16, default=0)
    leader_id: int = field(Int32)
    leader_epoch: int = field(Int32)
    vote_granted: bool = field(Boolean)


@struct
class TopicDataResponse(Struct):
    topic_name: str = field(String)
    partitions: list[PartitionDataResponse] = field(
        Array(PartitionDataResponse), default_factory=list
    )


@struct
class NodeEndpoint(Struct):
    node_id: int = field(Int32)
    host: str = field(String)
    port: int = field(Uint16)


@message(ApiKey.VOTE, versions=(0, 2), flexible=0)
class VoteResponse(Message):
    """Whether the vote was given, and who leads."""

    error_code: int = field(Int16, default=0)
    topics: list[TopicDataResponse] = field(Array(TopicDataResponse), default_factory=list)
    node_endpoints: list[NodeEndpoint] = field(
        Array(NodeEndpoint), since=1, tag=0, default_factory=list
    )
