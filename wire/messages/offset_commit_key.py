"""Key of a committed offset's record."""

from barnabas.wire.primitives import Int32
from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# v0 first key form, record type 0; 4.4 calls that LegacyOffsetCommitKey ·
# v1 same fields, record type 1


@message(versions=(0, 1), record_type=1)
class OffsetCommitKey(Message):
    group: str = field(String, kafka_name="group")
    topic: str = field(String, kafka_name="topic")
    partition: int = field(Int32, kafka_name="partition")
