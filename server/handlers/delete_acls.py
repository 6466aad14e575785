"""DeleteAcls: without an authorizer every filter is SECURITY_DISABLED, as in Kafka."""

from collections.abc import Iterator

from barnabas.server.core.turns import Sliced
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.server.requests.unsecured import NO_AUTHORIZER
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsRequest,
    DeleteAclsResponse,
)

VERSIONS = Versions(0, 3)


def handle(request: DeleteAclsRequest, context: RequestContext) -> Sliced[DeleteAclsResponse]:
    """Refuse each."""
    return Sliced(_refuse_each(request))


def _refuse_each(request: DeleteAclsRequest) -> Steps[DeleteAclsResponse]:
    response = DeleteAclsResponse()
    for result in _results(len(request.filters), ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER):
        response.filter_results.append(result)
        yield
    return response


def _results(count: int, code: ErrorCode, message: str | None) -> Iterator[DeleteAclsFilterResult]:
    for _ in range(count):
        yield DeleteAclsFilterResult(error_code=int(code), error_message=message)


def refuse(request: DeleteAclsRequest, code: ErrorCode) -> DeleteAclsResponse:
    """Every filter answers the error."""
    return DeleteAclsResponse(filter_results=list(_results(len(request.filters), code, None)))
