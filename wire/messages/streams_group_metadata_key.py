"""Key of a streams group's record."""

from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# record type 17 (KIP-1071)


@message(versions=(0, 0), record_type=17)
class StreamsGroupMetadataKey(Message):
    group_id: str = field(String)
