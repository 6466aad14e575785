"""RenewDelegationToken: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED on a listener without SASL or TLS."""

from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.server.requests.unsecured import NO_TIME
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)

VERSIONS = Versions(0, 2)


def handle(
    request: RenewDelegationTokenRequest, context: RequestContext
) -> RenewDelegationTokenResponse:
    """Refuse it."""
    return refuse(request, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)


def refuse(request: RenewDelegationTokenRequest, code: ErrorCode) -> RenewDelegationTokenResponse:
    """Answer the error."""
    return RenewDelegationTokenResponse(error_code=int(code), expiry_timestamp_ms=NO_TIME)
