"""AssignReplicasToDirs: Tell the controller which data directory holds each replica."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.uuids import Uuid

# v0 (KIP-858)


@struct
class PartitionDataRequest(Struct):
    partition_index: int = field(Int32)


@struct
class TopicDataRequest(Struct):
    topic_id: Uuid = field(UUID)
    partitions: list[PartitionDataRequest] = field(
        Array(PartitionDataRequest), default_factory=list
    )


@struct
class DirectoryDataRequest(Struct):
    id: Uuid = field(UUID)
    topics: list[TopicDataRequest] = field(Array(TopicDataRequest), default_factory=list)


@message(ApiKey.ASSIGN_REPLICAS_TO_DIRS, versions=(0, 0), flexible=0)
class AssignReplicasToDirsRequest(Message):
    """Tell the controller which data directory holds each replica."""

    broker_id: int = field(Int32)
    broker_epoch: int = field(Int64, default=-1)
    directories: list[DirectoryDataRequest] = field(
        Array(DirectoryDataRequest), default_factory=list
    )


@struct
class PartitionDataResponse(Struct):
    partition_index: int = field(Int32)
    error_code: int = field(Int16, default=0)


@struct
class TopicDataResponse(Struct):
    topic_id: Uuid = field(UUID)
    partitions: list[PartitionDataResponse] = field(
        Array(PartitionDataResponse), default_factory=list
    )


@struct
class DirectoryDataResponse(Struct):
    id: Uuid = field(UUID)
    topics: list[TopicDataResponse] = field(Array(TopicDataResponse), default_factory=list)


@message(ApiKey.ASSIGN_REPLICAS_TO_DIRS, versions=(0, 0), flexible=0)
class AssignReplicasToDirsResponse(Message):
    """Per replica, whether the directory was recorded."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, default=0)
    directories: list[DirectoryDataResponse] = field(
        Array(DirectoryDataResponse), default_factory=list
    )
