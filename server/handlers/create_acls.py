"""CreateAcls: without an authorizer every rule is SECURITY_DISABLED, as in Kafka."""

from collections.abc import Iterator

from barnabas.server.core.turns import Sliced
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.server.requests.unsecured import NO_AUTHORIZER
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.create_acls import (
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)

VERSIONS = Versions(0, 3)


def handle(request: CreateAclsRequest, context: RequestContext) -> Sliced[CreateAclsResponse]:
    """Refuse each."""
    return Sliced(_refuse_each(request))


def _refuse_each(request: CreateAclsRequest) -> Steps[CreateAclsResponse]:
    response = CreateAclsResponse()
    for result in _results(len(request.creations), ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER):
        response.results.append(result)
        yield
    return response


def _results(count: int, code: ErrorCode, message: str | None) -> Iterator[AclCreationResult]:
    for _ in range(count):
        yield AclCreationResult(error_code=int(code), error_message=message)


def refuse(request: CreateAclsRequest, code: ErrorCode) -> CreateAclsResponse:
    """Every rule answers the error."""
    return CreateAclsResponse(results=list(_results(len(request.creations), code, None)))
