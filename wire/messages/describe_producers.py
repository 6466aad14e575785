"""DescribeProducers: List the producers that partitions remember."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 (KIP-664)


@struct
class TopicRequest(Struct):
    name: str = field(String)
    partition_indexes: list[int] = field(Array(Int32), default_factory=list)


@message(ApiKey.DESCRIBE_PRODUCERS, versions=(0, 0), flexible=0)
class DescribeProducersRequest(Message):
    """List the producers that partitions remember."""

    topics: list[TopicRequest] = field(Array(TopicRequest), default_factory=list)


@struct
class ProducerState(Struct):
    producer_id: int = field(Int64)
    producer_epoch: int = field(Int32)
    last_sequence: int = field(Int32, default=-1)
    last_timestamp: int = field(Int64, default=-1)
    # of the last marker, -1 if none
    coordinator_epoch: int = field(Int32)
    # -1 outside a transaction
    current_txn_start_offset: int = field(Int64, default=-1)


@struct
class PartitionResponse(Struct):
    partition_index: int = field(Int32)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default=None)
    active_producers: list[ProducerState] = field(Array(ProducerState), default_factory=list)


@struct
class TopicResponse(Struct):
    name: str = field(String)
    partitions: list[PartitionResponse] = field(Array(PartitionResponse), default_factory=list)


@message(ApiKey.DESCRIBE_PRODUCERS, versions=(0, 0), flexible=0)
class DescribeProducersResponse(Message):
    """Per partition, its producers, epochs and sequences."""

    throttle_time_ms: int = field(Int32, default=0)
    topics: list[TopicResponse] = field(Array(TopicResponse), default_factory=list)
