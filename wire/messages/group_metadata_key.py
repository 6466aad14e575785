"""Key of a classic group's record."""

from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# record type 2 (since 0.9)


@message(versions=(0, 0), record_type=2, formerly=2)
class GroupMetadataKey(Message):
    group: str = field(String, kafka_name="group")
