"""AlterReplicaLogDirs: Move a broker's replicas between its data directories."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 (KIP-113) · v1 throttled responses are sent at once, the client waits (KIP-219) ·
# v2 flexible (KIP-482) · v0 gone in 4.0 (KIP-896)


@struct
class AlterReplicaLogDirTopic(Struct):
    name: str = field(String)
    partitions: list[int] = field(Array(Int32), default_factory=list)


@struct
class AlterReplicaLogDir(Struct):
    path: str = field(String)
    topics: list[AlterReplicaLogDirTopic] = field(
        Array(AlterReplicaLogDirTopic), default_factory=list
    )


@message(ApiKey.ALTER_REPLICA_LOG_DIRS, versions=(0, 2), flexible=2)
class AlterReplicaLogDirsRequest(Message):
    """Move a broker's replicas between its data directories."""

    dirs: list[AlterReplicaLogDir] = field(Array(AlterReplicaLogDir), default_factory=list)


@struct
class AlterReplicaLogDirPartitionResult(Struct):
    partition_index: int = field(Int32)
    error_code: int = field(Int16, default=0)


@struct
class AlterReplicaLogDirTopicResult(Struct):
    topic_name: str = field(String)
    partitions: list[AlterReplicaLogDirPartitionResult] = field(
        Array(AlterReplicaLogDirPartitionResult), default_factory=list
    )


@message(ApiKey.ALTER_REPLICA_LOG_DIRS, versions=(0, 2), flexible=2)
class AlterReplicaLogDirsResponse(Message):
    """Per partition, whether the directory move was accepted."""

    throttle_time_ms: int = field(Int32, default=0)
    results: list[AlterReplicaLogDirTopicResult] = field(
        Array(AlterReplicaLogDirTopicResult), default_factory=list
    )
