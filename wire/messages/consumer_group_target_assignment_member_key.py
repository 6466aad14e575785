"""Key of a member's part in the target assignment."""

from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# record type 7 (KIP-848)


@message(versions=(0, 0), record_type=7, formerly=7)
class ConsumerGroupTargetAssignmentMemberKey(Message):
    group_id: str = field(String)
    member_id: str = field(String)
