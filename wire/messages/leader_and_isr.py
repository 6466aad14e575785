"""LeaderAndIsr: Make a broker leader or follower of partitions."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.compiler import MAX_ELEMENTS
from barnabas.wire.primitives import UUID, Boolean, Int8, Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import ZERO_UUID, Uuid

# v0 ungrouped_partition_states · v1 is_new (KIP-112) ·
# v2 broker_epoch, topic_states group partitions by topic (KIP-380) ·
# v3 adding_replicas, removing_replicas (KIP-455) · v4 flexible (KIP-482) ·
# v5 type full or incremental, topic_id; the response groups errors by topic id (KIP-516) ·
# v6 leader_recovery_state (KIP-704) · v7 is_kraft_controller for migration (KIP-866) ·
# gone in 4.0


@struct
class LeaderAndIsrPartitionState(Struct):
    topic_name: str = field(String, until=1, ignorable=True, default="")
    partition_index: int = field(Int32)
    controller_epoch: int = field(Int32)
    leader: int = field(Int32)
    leader_epoch: int = field(Int32)
    isr: list[int] = field(Array(Int32), default_factory=list)
    partition_epoch: int = field(Int32)
    replicas: list[int] = field(Array(Int32), default_factory=list)
    adding_replicas: list[int] = field(Array(Int32), since=3, ignorable=True, default_factory=list)
    removing_replicas: list[int] = field(
        Array(Int32), since=3, ignorable=True, default_factory=list
    )
    is_new: bool = field(Boolean, since=1, ignorable=True, default=False)
    leader_recovery_state: int = field(Int8, since=6, default=0)


@struct
class LeaderAndIsrTopicState(Struct):
    topic_name: str = field(String)
    topic_id: Uuid = field(UUID, since=5, ignorable=True, default=ZERO_UUID)
    partition_states: list[LeaderAndIsrPartitionState] = field(
        Array(LeaderAndIsrPartitionState), default_factory=list
    )


@struct
class LeaderAndIsrLiveLeader(Struct):
    broker_id: int = field(Int32)
    host_name: str = field(String)
    port: int = field(Int32)


@message(ApiKey.LEADER_AND_ISR, versions=(0, 7), flexible=4, most_elements=MAX_ELEMENTS)
class LeaderAndIsrRequest(Message):
    """Make a broker leader or follower of partitions."""

    controller_id: int = field(Int32)
    is_kraft_controller: bool = field(
        Boolean, since=7, kafka_name="isKRaftController", default=False
    )
    controller_epoch: int = field(Int32)
    ungrouped_partition_states: list[LeaderAndIsrPartitionState] = field(
        Array(LeaderAndIsrPartitionState), until=1, default_factory=list
    )
    # -1 if unknown
    broker_epoch: int = field(Int64, since=2, default=-1, ignorable=True)
    # 0 unknown, 1 incremental, 2 full
    type: int = field(Int8, since=5, default=0)
    topic_states: list[LeaderAndIsrTopicState] = field(
        Array(LeaderAndIsrTopicState), since=2, default_factory=list
    )
    live_leaders: list[LeaderAndIsrLiveLeader] = field(
        Array(LeaderAndIsrLiveLeader), default_factory=list
    )


@struct
class LeaderAndIsrPartitionError(Struct):
    topic_name: str = field(String, until=4, ignorable=True, default="")
    partition_index: int = field(Int32)
    error_code: int = field(Int16, default=0)


@struct
class LeaderAndIsrTopicError(Struct):
    topic_id: Uuid = field(UUID)
    partition_errors: list[LeaderAndIsrPartitionError] = field(
        Array(LeaderAndIsrPartitionError), default_factory=list
    )


@message(ApiKey.LEADER_AND_ISR, versions=(0, 7), flexible=4)
class LeaderAndIsrResponse(Message):
    """Per partition, whether the broker took its role."""

    error_code: int = field(Int16, default=0)
    partition_errors: list[LeaderAndIsrPartitionError] = field(
        Array(LeaderAndIsrPartitionError), until=4, default_factory=list
    )
    topics: list[LeaderAndIsrTopicError] = field(
        Array(LeaderAndIsrTopicError), since=5, default_factory=list
    )
