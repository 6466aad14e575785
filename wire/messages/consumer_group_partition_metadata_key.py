"""Key of the record of topics a consumer group sees."""

from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# record type 4 (KIP-848); not written since 4.1 (KIP-1101)


@message(versions=(0, 0), record_type=4, formerly=4)
class ConsumerGroupPartitionMetadataKey(Message):
    group_id: str = field(String)
