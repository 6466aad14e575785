"""A change to a share partition's state since its snapshot."""

from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int8, Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct

# v0 (KIP-932); from 4.2 tagged delivery_complete_count (KIP-1226)


@struct
class StateBatch(Struct):
    first_offset: int = field(Int64)
    last_offset: int = field(Int64)
    delivery_state: int = field(Int8)
    delivery_count: int = field(Int16)


@message(versions=(0, 0), flexible=0)
class ShareUpdateValue(Message):
    snapshot_epoch: int = field(Int32)
    leader_epoch: int = field(Int32)
    start_offset: int = field(Int64)
    delivery_complete_count: int = field(Int32, default=-1, tag=0)
    state_batches: list[StateBatch] = field(Array(StateBatch), default_factory=list)
