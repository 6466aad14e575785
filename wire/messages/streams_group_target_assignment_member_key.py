"""Key of a member's part in a streams group's target."""

from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# record type 21 (KIP-1071)


@message(versions=(0, 0), record_type=21)
class StreamsGroupTargetAssignmentMemberKey(Message):
    group_id: str = field(String)
    member_id: str = field(String)
