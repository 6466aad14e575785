"""SaslAuthenticate: Carry one SASL token of the client."""

from barnabas.wire.api import ApiKey
from barnabas.wire.primitives import Int16, Int64
from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import Bytes, String

# v0 (KIP-152) · v1 session_lifetime_ms: the client must authenticate again in time (KIP-368) ·
# v2 flexible (KIP-482)


@message(ApiKey.SASL_AUTHENTICATE, versions=(0, 2), flexible=2)
class SaslAuthenticateRequest(Message):
    """Carry one SASL token of the client."""

    auth_bytes: bytes = field(Bytes, secret=True)


@message(ApiKey.SASL_AUTHENTICATE, versions=(0, 2), flexible=2)
class SaslAuthenticateResponse(Message):
    """Carry the server's SASL token, or say why it failed."""

    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, nullable=0, default="")
    auth_bytes: bytes = field(Bytes, secret=True)
    # 0: no need to authenticate again
    session_lifetime_ms: int = field(Int64, since=1, ignorable=True, default=0)
