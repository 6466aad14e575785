"""Key of a share group member's assignment record."""

from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# record type 14, new since 3.9 (KIP-932)


@message(versions=(0, 0), record_type=14)
class ShareGroupCurrentMemberAssignmentKey(Message):
    group_id: str = field(String)
    member_id: str = field(String)
