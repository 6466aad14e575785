"""LeaveGroup: take members out of a group.

* v0-v2: one member by its id, its error at the top.
* v3: several, each by member id or, for an administrator, by instance id; an error for each
  (KIP-345). v5: a reason, which is not used (KIP-800).
"""

from barnabas.server.core.errors import ApiError
from barnabas.server.core.turns import Sliced, each
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)

VERSIONS = Versions(0, 5)
# Errors of the group as a whole; the others belong to one member.
_GROUP_ERRORS = frozenset(
    {
        ErrorCode.INVALID_GROUP_ID,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    }
)


def handle(
    request: LeaveGroupRequest, context: RequestContext
) -> LeaveGroupResponse | Sliced[LeaveGroupResponse]:
    """Remove the members; the rest rebalances once."""
    if context.api_version < 3:
        context.broker.groups.leave(request.group_id, request.member_id, None)
        return LeaveGroupResponse()
    return Sliced(_leave_all(request, context))


def _leave_all(request: LeaveGroupRequest, context: RequestContext) -> Steps[LeaveGroupResponse]:
    members = yield from each(
        request.members, lambda member: _leave(request.group_id, member, context)
    )
    return LeaveGroupResponse(members=members)


def _leave(group_id: str, member: MemberIdentity, context: RequestContext) -> MemberResponse:
    response = MemberResponse(
        member_id=member.member_id, group_instance_id=member.group_instance_id
    )
    try:
        context.broker.groups.leave(group_id, member.member_id, member.group_instance_id)
    except ApiError as error:
        if error.code in _GROUP_ERRORS:
            raise
        response.error_code = int(error.code)
    return response
