"""Key of a streams group member's record."""

from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# record type 19 (KIP-1071)


@message(versions=(0, 0), record_type=19)
class StreamsGroupMemberMetadataKey(Message):
    group_id: str = field(String)
    member_id: str = field(String)
