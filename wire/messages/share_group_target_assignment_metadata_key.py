"""Key of a share group's target assignment."""

from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# record type 12, new since 3.9 (KIP-932)


@message(versions=(0, 0), record_type=12)
class ShareGroupTargetAssignmentMetadataKey(Message):
    group_id: str = field(String)
