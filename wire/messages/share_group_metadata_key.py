"""Key of a share group's record."""

from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# record type 11 (KIP-932)


@message(versions=(0, 0), record_type=11, formerly=11)
class ShareGroupMetadataKey(Message):
    group_id: str = field(String)
