"""What precedes the body of every response."""

from barnabas.wire.primitives import Int32
from barnabas.wire.schema import Message, field, message

# v0 correlation_id · v1 flexible (KIP-482), never for ApiVersions


@message(versions=(0, 1), flexible=1)
class ResponseHeader(Message):
    correlation_id: int = field(Int32)
