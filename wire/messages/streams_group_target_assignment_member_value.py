"""Tasks a streams group's member is meant to have."""

from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 (KIP-1071)


@struct
class TaskIds(Struct):
    subtopology_id: str = field(String)
    partitions: list[int] = field(Array(Int32), default_factory=list)


@message(versions=(0, 0), flexible=0)
class StreamsGroupTargetAssignmentMemberValue(Message):
    active_tasks: list[TaskIds] = field(Array(TaskIds), default_factory=list)
    standby_tasks: list[TaskIds] = field(Array(TaskIds), default_factory=list)
    warmup_tasks: list[TaskIds] = field(Array(TaskIds), default_factory=list)
