"""Partitions a member owns now, or must give up."""

from barnabas.wire.arrays import Array
from barnabas.wire.primitives import UUID, Int8, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.uuids import Uuid

# v0 (KIP-848); 4.4 has tagged assignment_epochs for each topic, 3.9 has not


@struct
class TopicPartitions(Struct):
    topic_id: Uuid = field(UUID)
    partitions: list[int] = field(Array(Int32), default_factory=list)
    assignment_epochs: list[int] | None = field(
        Array(Int32), nullable=0, tag=0, default_factory=list
    )


@message(versions=(0, 0), flexible=0)
class ConsumerGroupCurrentMemberAssignmentValue(Message):
    member_epoch: int = field(Int32)
    previous_member_epoch: int = field(Int32)
    state: int = field(Int8)
    assigned_partitions: list[TopicPartitions] = field(Array(TopicPartitions), default_factory=list)
    partitions_pending_revocation: list[TopicPartitions] = field(
        Array(TopicPartitions), default_factory=list
    )
