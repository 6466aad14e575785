"""Key of a consumer group member's record."""

from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# record type 5 (KIP-848)


@message(versions=(0, 0), record_type=5, formerly=5)
class ConsumerGroupMemberMetadataKey(Message):
    group_id: str = field(String)
    member_id: str = field(String)
