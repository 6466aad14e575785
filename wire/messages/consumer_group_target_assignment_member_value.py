"""Partitions a member is meant to have."""

from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.uuids import Uuid

# v0 (KIP-848)


@struct
class TopicPartition(Struct):
    topic_id: Uuid = field(UUID)
    partitions: list[int] = field(Array(Int32), default_factory=list)


@message(versions=(0, 0), flexible=0)
class ConsumerGroupTargetAssignmentMemberValue(Message):
    topic_partitions: list[TopicPartition] = field(Array(TopicPartition), default_factory=list)
