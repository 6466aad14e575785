"""What a classic group's leader assigns to one consumer."""

from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import Bytes, String

# v0 assigned_partitions, user_data ·
# v1-v3 as v0, raised with the subscription (KIP-429, KIP-792, KIP-881)


@struct
class TopicPartition(Struct):
    topic: str = field(String)
    partitions: list[int] = field(Array(Int32), default_factory=list)


@message(versions=(0, 3))
class ConsumerProtocolAssignment(Message):
    assigned_partitions: list[TopicPartition] = field(Array(TopicPartition), default_factory=list)
    user_data: bytes | None = field(Bytes, nullable=0, default=None)
