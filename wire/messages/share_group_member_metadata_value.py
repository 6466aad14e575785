"""What a share group's member told about itself."""

from barnabas.wire.arrays import Array
from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# v0 (KIP-932)


@message(versions=(0, 0), flexible=0)
class ShareGroupMemberMetadataValue(Message):
    rack_id: str | None = field(String, nullable=0)
    client_id: str = field(String)
    client_host: str = field(String)
    subscribed_topic_names: list[str] = field(Array(String), default_factory=list)
