"""ExpireDelegationToken: Change when a delegation token expires, or end it."""

from barnabas.wire.api import ApiKey
from barnabas.wire.primitives import Int16, Int32, Int64
from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import Bytes

# v0 (KIP-48) · v1 throttled responses are sent at once, the client waits (KIP-219) ·
# v2 flexible (KIP-482) · v0 gone in 4.0 (KIP-896)


@message(ApiKey.EXPIRE_DELEGATION_TOKEN, versions=(0, 2), flexible=2)
class ExpireDelegationTokenRequest(Message):
    """Change when a delegation token expires, or end it."""

    hmac: bytes = field(Bytes, secret=True)
    # negative ends the token now
    expiry_time_period_ms: int = field(Int64)


@message(ApiKey.EXPIRE_DELEGATION_TOKEN, versions=(0, 2), flexible=2)
class ExpireDelegationTokenResponse(Message):
    """The token's new expiry time."""

    error_code: int = field(Int16, default=0)
    expiry_timestamp_ms: int = field(Int64)
    throttle_time_ms: int = field(Int32, default=0)
