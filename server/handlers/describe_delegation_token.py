"""DescribeDelegationToken: DELEGATION_TOKEN_REQUEST_NOT_ALLOWED without SASL and TLS."""

from barnabas.server.core.errors import ApiError
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.describe_delegation_token import (
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)

VERSIONS = Versions(0, 3)


def handle(
    request: DescribeDelegationTokenRequest, context: RequestContext
) -> DescribeDelegationTokenResponse:
    """Refuse it."""
    raise ApiError(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
