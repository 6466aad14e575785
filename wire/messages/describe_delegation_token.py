"""DescribeDelegationToken: List delegation tokens of owners."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import Bytes, String

# v0 (KIP-48) · v1 throttled responses are sent at once, the client waits (KIP-219) ·
# v2 flexible (KIP-482) ·
# v3 token_requester_principal_type, token_requester_principal_name (KIP-373) ·
# v0 gone in 4.0 (KIP-896)


@struct
class DescribeDelegationTokenOwner(Struct):
    principal_type: str = field(String)
    principal_name: str = field(String)


@message(ApiKey.DESCRIBE_DELEGATION_TOKEN, versions=(0, 3), flexible=2)
class DescribeDelegationTokenRequest(Message):
    """List delegation tokens of owners."""

    # null for all owners
    owners: list[DescribeDelegationTokenOwner] | None = field(
        Array(DescribeDelegationTokenOwner), nullable=0, default_factory=list
    )


@struct
class DescribedDelegationTokenRenewer(Struct):
    principal_type: str = field(String)
    principal_name: str = field(String)


@struct
class DescribedDelegationToken(Struct):
    principal_type: str = field(String)
    principal_name: str = field(String)
    token_requester_principal_type: str = field(String, since=3, default="")
    token_requester_principal_name: str = field(String, since=3, default="")
    issue_timestamp: int = field(Int64)
    expiry_timestamp: int = field(Int64)
    max_timestamp: int = field(Int64)
    token_id: str = field(String)
    hmac: bytes = field(Bytes, secret=True)
    renewers: list[DescribedDelegationTokenRenewer] = field(
        Array(DescribedDelegationTokenRenewer), default_factory=list
    )


@message(ApiKey.DESCRIBE_DELEGATION_TOKEN, versions=(0, 3), flexible=2)
class DescribeDelegationTokenResponse(Message):
    """Tokens, their secrets, times and renewers."""

    error_code: int = field(Int16, default=0)
    tokens: list[DescribedDelegationToken] = field(
        Array(DescribedDelegationToken), default_factory=list
    )
    throttle_time_ms: int = field(Int32, default=0)
