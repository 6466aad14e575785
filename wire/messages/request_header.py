"""What precedes the body of every request."""

from barnabas.wire.primitives import Int16, Int32
from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# v0 without client_id, only for ControlledShutdown v0; gone in 4.0 · v1 client_id ·
# v2 flexible (KIP-482), client_id still with a two-byte length


@message(versions=(0, 2), flexible=2)
class RequestHeader(Message):
    request_api_key: int = field(Int16)
    request_api_version: int = field(Int16)
    correlation_id: int = field(Int32)
    client_id: str | None = field(
        String, since=1, nullable=0, ignorable=(0, 0), flexible=False, default=""
    )
