"""What a consumer of a classic group subscribes to."""

from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import Bytes, String

# v0 topics, user_data · v1 owned_partitions (KIP-429) · v2 generation_id (KIP-792) ·
# v3 rack_id (KIP-881) · a newer version is read as the last known one: fields are only ever added


@struct
class TopicPartition(Struct):
    topic: str = field(String)
    partitions: list[int] = field(Array(Int32), default_factory=list)


@message(versions=(0, 3))
class ConsumerProtocolSubscription(Message):
    topics: list[str] = field(Array(String), default_factory=list)
    user_data: bytes | None = field(Bytes, nullable=0, default=None)
    owned_partitions: list[TopicPartition] = field(
        Array(TopicPartition), since=1, ignorable=True, default_factory=list
    )
    generation_id: int = field(Int32, since=2, default=-1, ignorable=True)
    rack_id: str | None = field(String, since=3, nullable=0, default=None, ignorable=True)
