"""DescribeAcls: there are none to list: without an authorizer SECURITY_DISABLED, as in Kafka."""

from barnabas.server.core.errors import ApiError
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.server.requests.unsecured import NO_AUTHORIZER
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse

VERSIONS = Versions(0, 3)


def handle(request: DescribeAclsRequest, context: RequestContext) -> DescribeAclsResponse:
    """Refuse it."""
    raise ApiError(ErrorCode.SECURITY_DISABLED, NO_AUTHORIZER)
