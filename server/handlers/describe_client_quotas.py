"""DescribeClientQuotas: there are no quotas here, so that no filter finds one (KIP-546).

A filter that makes no sense is refused as in Kafka's ZkAdminManager: a type of entity twice or
empty, addresses together with users or clients (INVALID_REQUEST), another type
(UNSUPPORTED_VERSION).
"""

from typing import Final

from barnabas.server.core.errors import ApiError, shortened
from barnabas.server.core.turns import Sliced
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

VERSIONS = Versions(0, 1)
USER, CLIENT_ID, ADDRESS = ENTITY_TYPES = ("user", "client-id", "ip")
NAMES: Final = {USER: "user", CLIENT_ID: "client", ADDRESS: "ip"}


def handle(
    request: DescribeClientQuotasRequest, context: RequestContext
) -> Sliced[DescribeClientQuotasResponse]:
    """Find nothing."""
    return Sliced(_find_none(request))


def _find_none(request: DescribeClientQuotasRequest) -> Steps[DescribeClientQuotasResponse]:
    seen: set[str] = set()
    for component in request.components:
        _check(component.entity_type, seen)
        seen.add(component.entity_type)
        yield
    if ADDRESS in seen and len(seen) > 1:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            "Invalid entity filter component combination, IP filter component should not be used"
            " with user or clientId filter component.",
        )
    return DescribeClientQuotasResponse(error_message=None)


def _check(entity_type: str, seen: set[str]) -> None:
    if not entity_type:
        raise ApiError(ErrorCode.INVALID_REQUEST, "Unexpected empty filter component entity type")
    if entity_type not in NAMES:
        text = shortened(f"Custom entity type '{entity_type}' not supported")
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION, text)
    if entity_type in seen:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            f"Duplicate {NAMES[entity_type]} filter component entity type",
        )
