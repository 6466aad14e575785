"""Key of a consumer group's record."""

from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# record type 3 (KIP-848)


@message(versions=(0, 0), record_type=3, formerly=3)
class ConsumerGroupMetadataKey(Message):
    group_id: str = field(String)
