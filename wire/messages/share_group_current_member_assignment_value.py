"""Partitions a share group's member reads now."""

from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Int8, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.uuids import Uuid

# v0, new since 3.9 (KIP-932)


@struct
class TopicPartitions(Struct):
    topic_id: Uuid = field(UUID)
    partitions: list[int] = field(Array(Int32), default_factory=list)


@message(versions=(0, 0), flexible=0)
class ShareGroupCurrentMemberAssignmentValue(Message):
    member_epoch: int = field(Int32)
    previous_member_epoch: int = field(Int32)
    state: int = field(Int8)
    assigned_partitions: list[TopicPartitions] = field(Array(TopicPartitions), default_factory=list)
