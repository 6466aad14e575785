"""Key of a streams group's target assignment."""

from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# record type 20 (KIP-1071)


@message(versions=(0, 0), record_type=20)
class StreamsGroupTargetAssignmentMetadataKey(Message):
    group_id: str = field(String)
