"""What a member told about itself and subscribes to."""

from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import Bytes, String

# v0 (KIP-848); tagged classic_member_metadata for members of the classic protocol


@struct
class ClassicProtocol(Struct):
    name: str = field(String)
    metadata: bytes = field(Bytes)


@struct
class ClassicMemberMetadata(Struct):
    session_timeout_ms: int = field(Int32)
    supported_protocols: list[ClassicProtocol] = field(Array(ClassicProtocol), default_factory=list)


@message(versions=(0, 0), flexible=0)
class ConsumerGroupMemberMetadataValue(Message):
    instance_id: str | None = field(String, nullable=0)
    rack_id: str | None = field(String, nullable=0)
    client_id: str = field(String)
    client_host: str = field(String)
    subscribed_topic_names: list[str] = field(Array(String), default_factory=list)
    subscribed_topic_regex: str | None = field(String, nullable=0)
    rebalance_timeout_ms: int = field(Int32, default=-1)
    server_assignor: str | None = field(String, nullable=0)
    # Not sent is a struct of defaults; Kafka writes a null for members of the new protocol.
    classic_member_metadata: ClassicMemberMetadata | None = field(
        ClassicMemberMetadata, nullable=0, tag=0, default_factory=ClassicMemberMetadata
    )
