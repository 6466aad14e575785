"""Key of a consumer group's target assignment."""

from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# record type 6 (KIP-848)


@message(versions=(0, 0), record_type=6, formerly=6)
class ConsumerGroupTargetAssignmentMetadataKey(Message):
    group_id: str = field(String)
