"""AlterPartition: Ask the controller to change the in-sync set of led partitions."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Int8, Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import ZERO_UUID, Uuid

# v0 as AlterIsr (KIP-497) · v1 leader_recovery_state (KIP-704) ·
# v2 topic_id instead of topic_name, error INELIGIBLE_REPLICA (KIP-841) ·
# v3 new_isr_with_epochs instead of new_isr (KIP-903) · v0-v1 gone in 4.0


@struct
class BrokerState(Struct):
    broker_id: int = field(Int32)
    broker_epoch: int = field(Int64, default=-1)


@struct
class PartitionDataRequest(Struct):
    partition_index: int = field(Int32)
    leader_epoch: int = field(Int32)
    new_isr: list[int] = field(Array(Int32), until=2, default_factory=list)
    new_isr_with_epochs: list[BrokerState] = field(
        Array(BrokerState), since=3, default_factory=list
    )
    # 0 recovered, 1 recovering from an unclean election
    leader_recovery_state: int = field(Int8, since=1, default=0)
    # expected version; the znode version with ZooKeeper
    partition_epoch: int = field(Int32)


@struct
class TopicDataRequest(Struct):
    topic_name: str = field(String, until=1, ignorable=True, default="")
    topic_id: Uuid = field(UUID, since=2, ignorable=True, default=ZERO_UUID)
    partitions: list[PartitionDataRequest] = field(
        Array(PartitionDataRequest), default_factory=list
    )


@message(ApiKey.ALTER_PARTITION, versions=(0, 3), flexible=0)
class AlterPartitionRequest(Message):
    """Ask the controller to change the in-sync set of led partitions."""

    broker_id: int = field(Int32)
    broker_epoch: int = field(Int64, default=-1)
    topics: list[TopicDataRequest] = field(Array(TopicDataRequest), default_factory=list)


@struct
class PartitionDataResponse(Struct):
    partition_index: int = field(Int32)
    error_code: int = field(Int16, default=0)
    leader_id: int = field(Int32)
    leader_epoch: int = field(Int32)
    isr: list[int] = field(Array(Int32), default_factory=list)
    leader_recovery_state: int = field(Int8, since=1, ignorable=True, default=0)
    partition_epoch: int = field(Int32)


@struct
class TopicDataResponse(Struct):
    topic_name: str = field(String, until=1, ignorable=True, default="")
    topic_id: Uuid = field(UUID, since=2, ignorable=True, default=ZERO_UUID)
    partitions: list[PartitionDataResponse] = field(
        Array(PartitionDataResponse), default_factory=list
    )


@message(ApiKey.ALTER_PARTITION, versions=(0, 3), flexible=0)
class AlterPartitionResponse(Message):
    """Partition state after the controller's decision."""

    throttle_time_ms: int = field(Int32, default=0)
    error_code: int = field(Int16, default=0)
    topics: list[TopicDataResponse] = field(Array(TopicDataResponse), default_factory=list)
