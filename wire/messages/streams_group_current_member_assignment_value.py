"""Tasks a streams member owns now, or must give up."""

from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int8, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 (KIP-1071); tagged assignment_epochs for each task list


@struct
class TaskIds(Struct):
    subtopology_id: str = field(String)
    partitions: list[int] = field(Array(Int32), default_factory=list)
    assignment_epochs: list[int] | None = field(
        Array(Int32), nullable=0, tag=0, default_factory=list
    )


@message(versions=(0, 0), flexible=0)
class StreamsGroupCurrentMemberAssignmentValue(Message):
    member_epoch: int = field(Int32)
    previous_member_epoch: int = field(Int32)
    state: int = field(Int8)
    active_tasks: list[TaskIds] = field(Array(TaskIds), default_factory=list)
    standby_tasks: list[TaskIds] = field(Array(TaskIds), default_factory=list)
    warmup_tasks: list[TaskIds] = field(Array(TaskIds), default_factory=list)
    active_tasks_pending_revocation: list[TaskIds] = field(Array(TaskIds), default_factory=list)
    standby_tasks_pending_revocation: list[TaskIds] = field(Array(TaskIds), default_factory=list)
    warmup_tasks_pending_revocation: list[TaskIds] = field(Array(TaskIds), default_factory=list)
