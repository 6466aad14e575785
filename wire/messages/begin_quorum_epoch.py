"""BeginQuorumEpoch: Announce a new leader to the quorum's voters."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Int16, Int32, Uint16
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import ZERO_UUID, Uuid

# v0 (KIP-595) ·
# v1 flexible (KIP-482); voter_id, voter_directory_id, leader_endpoints, tagged node_endpoints
#   (KIP-853)


@struct
class PartitionDataRequest(Struct):
    partition_index: int = field(Int32)
    voter_directory_id: Uuid = field(UUID, since=1, ignorable=True, default=ZERO_UUID)
    leader_id: int = field(Int32)
    leader_epoch: int = field(Int32)


@struct
class TopicDataRequest(Struct):
    topic_name: str = field(String)
    partitions: list[PartitionDataRequest] = field(
        Array(PartitionDataRequest), default_factory=list
    )


@struct
class LeaderEndpoint(Struct):
    name: str = field(String)
    host: str = field(String)
    port: int = field(Uint16)


@message(ApiKey.BEGIN_QUORUM_EPOCH, versions=(0, 1), flexible=1)
class BeginQuorumEpochRequest(Message):
    """Announce a new leader to the quorum's voters."""

    cluster_id: str | None = field(String, nullable=0, default=None)
    voter_id: int = field(Int32, since=1, default=-1, ignorable=True)
    topics: list[TopicDataRequest] = field(Array(TopicDataRequest), default_factory=list)
    leader_endpoints: list[LeaderEndpoint] = field(
        Array(LeaderEndpoint), since=1, ignorable=True, default_factory=list
    )


@struct
class PartitionDataResponse(Struct):
    partition_index: int = field(Int32)
    error_code: int = field(Int16, default=0)
    leader_id: int = field(Int32)
    leader_epoch: int = field(Int32)


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


@message(ApiKey.BEGIN_QUORUM_EPOCH, versions=(0, 1), flexible=1)
class BeginQuorumEpochResponse(Message):
    """The voter's view of leader and epoch."""

    error_code: int = field(Int16, default=0)
    topics: list[TopicDataResponse] = field(Array(TopicDataResponse), default_factory=list)
    node_endpoints: list[NodeEndpoint] = field(
        Array(NodeEndpoint), since=1, tag=0, default_factory=list
    )
