"""Key of the record of partitions with share state."""

from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# record type 15, new since 3.9 (KIP-932)


@message(versions=(0, 0), record_type=15)
class ShareGroupStatePartitionMetadataKey(Message):
    group_id: str = field(String)
