"""StopReplica: Make a broker stop, and perhaps delete, replicas."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.compiler import MAX_ELEMENTS
from barnabas.wire.primitives import Boolean, Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 ungrouped_partitions, delete_partitions for all of them ·
# v1 broker_epoch, topics group partitions (KIP-380) · v2 flexible (KIP-482) ·
# v3 topic_states: leader_epoch and delete_partition of each partition (KIP-570) ·
# v4 is_kraft_controller for migration (KIP-866) · gone in 4.0


@struct
class StopReplicaPartitionV0(Struct):
    topic_name: str = field(String)
    partition_index: int = field(Int32)


@struct
class StopReplicaTopicV1(Struct):
    name: str = field(String)
    partition_indexes: list[int] = field(Array(Int32), default_factory=list)


@struct
class StopReplicaPartitionState(Struct):
    partition_index: int = field(Int32)
    # -1 no check, -2 when the topic is deleted
    leader_epoch: int = field(Int32, default=-1)
    delete_partition: bool = field(Boolean)


@struct
class StopReplicaTopicState(Struct):
    topic_name: str = field(String)
    partition_states: list[StopReplicaPartitionState] = field(
        Array(StopReplicaPartitionState), default_factory=list
    )


@message(ApiKey.STOP_REPLICA, versions=(0, 4), flexible=2, most_elements=MAX_ELEMENTS)
class StopReplicaRequest(Message):
    """Make a broker stop, and perhaps delete, replicas."""

    controller_id: int = field(Int32)
    is_kraft_controller: bool = field(
        Boolean, since=4, kafka_name="isKRaftController", default=False
    )
    controller_epoch: int = field(Int32)
    broker_epoch: int = field(Int64, since=1, default=-1, ignorable=True)
    delete_partitions: bool = field(Boolean, until=2, default=False)
    ungrouped_partitions: list[StopReplicaPartitionV0] = field(
        Array(StopReplicaPartitionV0), until=0, default_factory=list
    )
    topics: list[StopReplicaTopicV1] = field(
        Array(StopReplicaTopicV1), since=1, until=2, default_factory=list
    )
    topic_states: list[StopReplicaTopicState] = field(
        Array(StopReplicaTopicState), since=3, default_factory=list
    )


@struct
class StopReplicaPartitionError(Struct):
    topic_name: str = field(String)
    partition_index: int = field(Int32)
    error_code: int = field(Int16, default=0)


@message(ApiKey.STOP_REPLICA, versions=(0, 4), flexible=2)
class StopReplicaResponse(Message):
    """Per partition, whether the replica stopped."""

    error_code: int = field(Int16, default=0)
    partition_errors: list[StopReplicaPartitionError] = field(
        Array(StopReplicaPartitionError), default_factory=list
    )
