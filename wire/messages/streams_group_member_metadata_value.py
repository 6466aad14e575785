"""What a streams group's member told about itself."""

from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int32, Uint16
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 (KIP-1071)


@struct
class Endpoint(Struct):
    host: str = field(String)
    port: int = field(Uint16)


@struct
class KeyValue(Struct):
    key: str = field(String)
    value: str = field(String)


@message(versions=(0, 0), flexible=0)
class StreamsGroupMemberMetadataValue(Message):
    instance_id: str | None = field(String, nullable=0)
    rack_id: str | None = field(String, nullable=0)
    client_id: str = field(String)
    client_host: str = field(String)
    rebalance_timeout_ms: int = field(Int32, default=-1)
    topology_epoch: int = field(Int32)
    process_id: str = field(String)
    user_endpoint: Endpoint | None = field(Endpoint, nullable=0, default=None)
    client_tags: list[KeyValue] = field(Array(KeyValue), default_factory=list)
