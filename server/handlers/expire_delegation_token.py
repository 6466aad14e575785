"""ExpireDelegationToken: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED on a listener without SASL or TLS."""

from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.server.requests.unsecured import NO_TIME
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)

VERSIONS = Versions(0, 2)


def handle(
    request: ExpireDelegationTokenRequest, context: RequestContext
) -> ExpireDelegationTokenResponse:
    """Refuse it."""
    return refuse(request, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)


def refuse(request: ExpireDelegationTokenRequest, code: ErrorCode) -> ExpireDelegationTokenResponse:
    """Answer the error."""
    return ExpireDelegationTokenResponse(error_code=int(code), expiry_timestamp_ms=NO_TIME)
