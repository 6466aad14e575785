"""Key of a member's part in a share group's target."""

from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# record type 13, new since 3.9 (KIP-932)


@message(versions=(0, 0), record_type=13)
class ShareGroupTargetAssignmentMemberKey(Message):
    group_id: str = field(String)
    member_id: str = field(String)
