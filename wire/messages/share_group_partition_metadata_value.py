"""3.9's record of topics initialised or being dropped."""

from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import Uuid

# v0, only in 3.9's early access (KIP-932)


@struct
class TopicPartitionsInfo(Struct):
    topic_id: Uuid = field(UUID)
    topic_name: str = field(String)
    partitions: list[int] = field(Array(Int32), default_factory=list)


@struct
class TopicInfo(Struct):
    topic_id: Uuid = field(UUID)
    topic_name: str = field(String)


@message(versions=(0, 0), flexible=0)
class ShareGroupPartitionMetadataValue(Message):
    initialized_topics: list[TopicPartitionsInfo] = field(
        Array(TopicPartitionsInfo), default_factory=list
    )
    deleting_topics: list[TopicInfo] = field(Array(TopicInfo), default_factory=list)
