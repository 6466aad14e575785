"""Key of a share group member's record."""

from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# record type 10 (KIP-932)


@message(versions=(0, 0), record_type=10, formerly=10)
class ShareGroupMemberMetadataKey(Message):
    group_id: str = field(String)
    member_id: str = field(String)
