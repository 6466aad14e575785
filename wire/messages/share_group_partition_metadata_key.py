"""Key of 3.9's record of partitions with share state."""

from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# record type 9, only in 3.9's early access (KIP-932)


@message(versions=(9, 9))
class ShareGroupPartitionMetadataKey(Message):
    group_id: str = field(String)
