"""Topics, partition counts and racks a group sees."""

from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String
from barnabas.wire.uuids import Uuid

# v0 (KIP-848); not written since 4.1, metadata_hash replaces it (KIP-1101)


@struct
class PartitionMetadata(Struct):
    partition: int = field(Int32)
    racks: list[str] = field(Array(String), default_factory=list)


@struct
class TopicMetadata(Struct):
    topic_id: Uuid = field(UUID)
    topic_name: str = field(String)
    num_partitions: int = field(Int32)
    partition_metadata: list[PartitionMetadata] = field(
        Array(PartitionMetadata), default_factory=list
    )


@message(versions=(0, 0), flexible=0)
class ConsumerGroupPartitionMetadataValue(Message):
    topics: list[TopicMetadata] = field(Array(TopicMetadata), default_factory=list)
