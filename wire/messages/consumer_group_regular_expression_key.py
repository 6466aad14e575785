"""Key of a resolved topic expression of a group."""

from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# record type 16, new since 3.9 (KIP-848)


@message(versions=(0, 0), record_type=16)
class ConsumerGroupRegularExpressionKey(Message):
    group_id: str = field(String)
    regular_expression: str = field(String)
