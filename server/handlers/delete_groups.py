"""DeleteGroups: delete groups without members, and their offsets (KIP-229).

* Each group has its error: NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND, or the coordinator's.
  v3 has room for a message, which Kafka leaves empty.
"""

from barnabas.server.core.errors import ApiError
from barnabas.server.core.turns import Sliced, each
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)

VERSIONS = Versions(0, 3)


def handle(request: DeleteGroupsRequest, context: RequestContext) -> Sliced[DeleteGroupsResponse]:
    """Delete each, once."""
    return Sliced(_delete_all(request, context))


def _delete_all(
    request: DeleteGroupsRequest, context: RequestContext
) -> Steps[DeleteGroupsResponse]:
    names = dict.fromkeys(request.groups_names)
    results = yield from each(names, lambda name: _delete(name, context))
    return DeleteGroupsResponse(results=results)


def _delete(group_id: str, context: RequestContext) -> DeletableGroupResult:
    result = DeletableGroupResult(group_id=group_id)
    try:
        context.broker.groups.delete_group(group_id)
    except ApiError as error:
        result.error_code = int(error.code)
    return result


def refuse(request: DeleteGroupsRequest, code: ErrorCode) -> DeleteGroupsResponse:
    """Every group answers the error."""
    return DeleteGroupsResponse(
        results=[
            DeletableGroupResult(group_id=group_id, error_code=int(code))
            for group_id in request.groups_names
        ]
    )
