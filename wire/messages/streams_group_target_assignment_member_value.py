"""Tasks a streams group's member is meant to have."""

from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 (KIP-1071)


@struct
class TaskIds(Struct):
    subtopology_id: str = field(String)
    partitions: list[int] = field(Array(Int32))


@message(versions=(0, 0), flexible=0)
class StreamsGroupTargetAssignmentMemberValue(Message):
    active_tasks: list[TaskIds] = field(Array(TaskIds))
    standby_tasks: list[TaskIds] = field(Array(TaskIds))
    warmup_tasks: list[TaskIds] = field(Array(TaskIds))
