"""Key of a share partition's full state."""

from barnabas.wire.primitives import UUID, Int32
from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String
from barnabas.wire.uuids import Uuid

# record type 0 of __share_group_state (KIP-932)


@message(versions=(0, 0), record_type=0)
class ShareSnapshotKey(Message):
    group_id: str = field(String)
    topic_id: Uuid = field(UUID)
    partition: int = field(Int32)
