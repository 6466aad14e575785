"""Topics that an expression matched, and when."""

from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int64
from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# v0, new since 3.9 (KIP-848)


@message(versions=(0, 0), flexible=0)
class ConsumerGroupRegularExpressionValue(Message):
    topics: list[str] = field(Array(String), default_factory=list)
    version: int = field(Int64)
    timestamp: int = field(Int64)
