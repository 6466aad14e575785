"""CreateDelegationToken: Create a delegation token for a principal."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int16, Int32, Int64
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import Bytes, String

# v0 (KIP-48) · v1 throttled responses are sent at once, the client waits (KIP-219) ·
# v2 flexible (KIP-482) ·
# v3 owner_principal_type, owner_principal_name; token_requester_principal_type,
#   token_requester_principal_name: tokens for others (KIP-373) · v0 gone in 4.0 (KIP-896)


@struct
class CreatableRenewers(Struct):
    principal_type: str = field(String)
    principal_name: str = field(String)


@message(ApiKey.CREATE_DELEGATION_TOKEN, versions=(0, 3), flexible=2)
class CreateDelegationTokenRequest(Message):
    """Create a delegation token for a principal."""

    # null: the caller owns the token
    owner_principal_type: str | None = field(String, since=3, nullable=0, default="")
    owner_principal_name: str | None = field(String, since=3, nullable=0, default="")
    renewers: list[CreatableRenewers] = field(Array(CreatableRenewers), default_factory=list)
    # -1 for the broker's limit
    max_lifetime_ms: int = field(Int64)


@message(ApiKey.CREATE_DELEGATION_TOKEN, versions=(0, 3), flexible=2)
class CreateDelegationTokenResponse(Message):
    """The new token, its secret and its times."""

    error_code: int = field(Int16, default=0)
    principal_type: str = field(String)
    principal_name: str = field(String)
    token_requester_principal_type: str = field(String, since=3, default="")
    token_requester_principal_name: str = field(String, since=3, default="")
    issue_timestamp_ms: int = field(Int64)
    expiry_timestamp_ms: int = field(Int64)
    max_timestamp_ms: int = field(Int64)
    token_id: str = field(String)
    hmac: bytes = field(Bytes, secret=True)
    throttle_time_ms: int = field(Int32, default=0)
