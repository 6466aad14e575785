"""Key of a consumer group member's assignment record."""

from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# record type 8 (KIP-848)


@message(versions=(0, 0), record_type=8, formerly=8)
class ConsumerGroupCurrentMemberAssignmentKey(Message):
    group_id: str = field(String)
    member_id: str = field(String)
