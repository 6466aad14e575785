"""CreateDelegationToken: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED on a listener without SASL or TLS.

Owner and requester in the answer are whoever asks, as in Kafka.
"""

from barnabas.server.handlers import Versions
from barnabas.server.network.principal import Principal
from barnabas.server.requests.context import RequestContext
from barnabas.server.requests.unsecured import NO_TIME
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.create_delegation_token import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)

VERSIONS = Versions(0, 3)
REQUESTER_SINCE = 3
NOBODY = Principal("", "")


def handle(
    request: CreateDelegationTokenRequest, context: RequestContext
) -> CreateDelegationTokenResponse:
    """Refuse it."""
    owner = context.principal
    if request.owner_principal_type and request.owner_principal_name:
        owner = Principal(request.owner_principal_type, request.owner_principal_name)
    requester = context.principal if context.api_version >= REQUESTER_SINCE else NOBODY
    return CreateDelegationTokenResponse(
        error_code=int(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED),
        principal_type=owner.kind,
        principal_name=owner.name,
        token_requester_principal_type=requester.kind,
        token_requester_principal_name=requester.name,
        issue_timestamp_ms=NO_TIME,
        expiry_timestamp_ms=NO_TIME,
        max_timestamp_ms=NO_TIME,
        token_id="",
        hmac=b"",
    )
