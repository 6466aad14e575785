"""DescribeUserScramCredentials: nobody has any (KIP-554).

All users: an empty list. Users by name: RESOURCE_NOT_FOUND for each, DUPLICATE_RESOURCE for one
that is named twice, as in Kafka.
"""

from collections import Counter

from barnabas.server.core.errors import shortened
from barnabas.server.core.turns import Sliced
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)

VERSIONS = Versions(0, 0)


def handle(
    request: DescribeUserScramCredentialsRequest, context: RequestContext
) -> Sliced[DescribeUserScramCredentialsResponse]:
    """Find none."""
    return Sliced(_find_none(request))


def _find_none(
    request: DescribeUserScramCredentialsRequest,
) -> Steps[DescribeUserScramCredentialsResponse]:
    response = DescribeUserScramCredentialsResponse(error_message=None)
    counts = Counter[str]()
    for user in request.users or ():
        counts[user.name] += 1
        yield
    for name, count in counts.items():
        response.results.append(_result(name, is_repeated=count > 1))
        yield
    return response


def _result(user: str, *, is_repeated: bool) -> DescribeUserScramCredentialsResult:
    if is_repeated:
        code = ErrorCode.DUPLICATE_RESOURCE
        text = "Cannot describe SCRAM credentials for the same user twice in a single request: "
    else:
        code = ErrorCode.RESOURCE_NOT_FOUND
        text = "Attempt to describe a user credential that does not exist: "
    return DescribeUserScramCredentialsResult(
        user=user, error_code=int(code), error_message=shortened(text + user)
    )
