"""DescribeQuorum: Ask for the state of the metadata quorum."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Int16, Int32, Int64, Uint16
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import ZERO_UUID, Uuid

# v0 (KIP-595) · v1 last_fetch_timestamp, last_caught_up_timestamp (KIP-836) ·
# v2 error_message, nodes, replica_directory_id (KIP-853)


@struct
class PartitionDataRequest(Struct):
    partition_index: int = field(Int32)


@struct
class TopicDataRequest(Struct):
    topic_name: str = field(String)
    partitions: list[PartitionDataRequest] = field(
        Array(PartitionDataRequest), default_factory=list
    )


@message(ApiKey.DESCRIBE_QUORUM, versions=(0, 2), flexible=0)
class DescribeQuorumRequest(Message):
    """Ask for the state of the metadata quorum."""

    topics: list[TopicDataRequest] = field(Array(TopicDataRequest), default_factory=list)


@struct
class ReplicaState(Struct):
    replica_id: int = field(Int32)
    replica_directory_id: Uuid = field(UUID, since=2, default=ZERO_UUID)
    log_end_offset: int = field(Int64)
    last_fetch_timestamp: int = field(Int64, since=1, default=-1, ignorable=True)
    last_caught_up_timestamp: int = field(Int64, since=1, default=-1, ignorable=True)


@struct
class PartitionDataResponse(Struct):
    partition_index: int = field(Int32)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, since=2, nullable=0, ignorable=True, default="")
    leader_id: int = field(Int32)
    leader_epoch: int = field(Int32)
    high_watermark: int = field(Int64)
    current_voters: list[ReplicaState] = field(Array(ReplicaState), default_factory=list)
    observers: list[ReplicaState] = field(Array(ReplicaState), default_factory=list)


@struct
class TopicDataResponse(Struct):
    topic_name: str = field(String)
    partitions: list[PartitionDataResponse] = field(
        Array(PartitionDataResponse), default_factory=list
    )


@struct
class Listener(Struct):
    name: str = field(String)
    host: str = field(String)
    port: int = field(Uint16)


@struct
class Node(Struct):
    node_id: int = field(Int32)
    listeners: list[Listener] = field(Array(Listener), default_factory=list)


@message(ApiKey.DESCRIBE_QUORUM, versions=(0, 2), flexible=0)
class DescribeQuorumResponse(Message):
    """Leader, voters, observers and their progress."""

    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, since=2, nullable=0, ignorable=True, default="")
    topics: list[TopicDataResponse] = field(Array(TopicDataResponse), default_factory=list)
    nodes: list[Node] = field(Array(Node), since=2, default_factory=list)
