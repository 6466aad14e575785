"""Key of a streams group's topology."""

from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# record type 23 (KIP-1071)


@message(versions=(0, 0), record_type=23)
class StreamsGroupTopologyKey(Message):
    group_id: str = field(String)
