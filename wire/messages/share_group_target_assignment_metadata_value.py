"""Group epoch the target assignment was made for."""

from barnabas.wire.primitives import Int32, Int64
from barnabas.wire.schema import Message, field, message

# v0, new since 3.9 (KIP-932); from 4.3 tagged assignment_timestamp (KIP-1263)


@message(versions=(0, 0), flexible=0)
class ShareGroupTargetAssignmentMetadataValue(Message):
    assignment_epoch: int = field(Int32)
    assignment_timestamp: int = field(Int64, tag=0, ignorable=True, default=0)
