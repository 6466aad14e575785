"""The oldest form of a committed offset."""

from barnabas.wire.primitives import Int64
from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# v0, same bytes as OffsetCommitValue v0


@message(versions=(0, 0))
class LegacyOffsetCommitValue(Message):
    offset: int = field(Int64, kafka_name="offset")
    metadata: str = field(String, kafka_name="metadata")
    commit_timestamp: int = field(Int64, kafka_name="commitTimestamp")
