"""RenewDelegationToken: Prolong a delegation token."""

from barnabas.wire.api import ApiKey
from barnabas.wire.primitives import Int16, Int32, Int64
from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import Bytes

# v0 (KIP-48) · v1 throttled responses are sent at once, the client waits (KIP-219) ·
# v2 flexible (KIP-482) · v0 gone in 4.0 (KIP-896)


@message(ApiKey.RENEW_DELEGATION_TOKEN, versions=(0, 2), flexible=2)
class RenewDelegationTokenRequest(Message):
    """Prolong a delegation token."""

    hmac: bytes = field(Bytes, secret=True)
    # negative takes the broker's default
    renew_period_ms: int = field(Int64)


@message(ApiKey.RENEW_DELEGATION_TOKEN, versions=(0, 2), flexible=2)
class RenewDelegationTokenResponse(Message):
    """The token's new expiry time."""

    error_code: int = field(Int16, default=0)
    expiry_timestamp_ms: int = field(Int64)
    throttle_time_ms: int = field(Int32, default=0)
