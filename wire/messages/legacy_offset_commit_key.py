"""Key of the oldest committed-offset record."""

from barnabas.wire.primitives import Int32
from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# v0, record type 0; 3.9 calls it OffsetCommitKey v0


@message(versions=(0, 0), record_type=0)
class LegacyOffsetCommitKey(Message):
    group: str = field(String, kafka_name="group")
    topic: str = field(String, kafka_name="topic")
    partition: int = field(Int32, kafka_name="partition")
