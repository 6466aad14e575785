"""DescribeGroups: state, protocol and members of classic groups.

* v3: authorized operations when asked for (KIP-430). v4: instance ids (KIP-345).
* v6: an unknown group is GROUP_ID_NOT_FOUND with a message (KIP-1043); before, it is "Dead".
* Metadata and assignments are shown of a Stable group only.
"""

from barnabas.server.core.errors import ApiError, shortened
from barnabas.server.core.turns import Sliced, each
from barnabas.server.groups.group import Group, GroupState
from barnabas.server.groups.protocols import metadata_for
from barnabas.server.handlers import Versions
from barnabas.server.requests.access import (
    GROUP_CONFIG_OPERATIONS,
    GROUP_OPERATIONS,
    Resource,
    ResourceKind,
)
from barnabas.server.requests.context import RequestContext
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)

VERSIONS = Versions(0, 6)


def handle(
    request: DescribeGroupsRequest, context: RequestContext
) -> Sliced[DescribeGroupsResponse]:
    """Describe each group, or say why not."""
    return Sliced(_describe_all(request, context))


def _describe_all(
    request: DescribeGroupsRequest, context: RequestContext
) -> Steps[DescribeGroupsResponse]:
    groups = yield from each(request.groups, lambda name: _describe(name, request, context))
    return DescribeGroupsResponse(groups=groups)


def _describe(
    group_id: str, request: DescribeGroupsRequest, context: RequestContext
) -> DescribedGroup:
    try:
        group = context.broker.groups.describe(group_id)
    except ApiError as error:
        return _nothing(group_id, error.code)
    if group is None:
        answer = _unknown(group_id, context)
    else:
        answer = _described(group)
    if request.include_authorized_operations and not answer.error_code:
        resource = Resource(ResourceKind.GROUP, group_id)
        answer.authorized_operations = context.authorized(GROUP_OPERATIONS, resource)
        if context.broker.config.release >= 4:
            answer.authorized_operations |= context.authorized(GROUP_CONFIG_OPERATIONS, resource)
    return answer


def _unknown(group_id: str, context: RequestContext) -> DescribedGroup:
    if context.api_version >= 6:
        answer = _nothing(group_id, ErrorCode.GROUP_ID_NOT_FOUND)
        answer.error_message = shortened(f"Group {group_id} not found.")
        answer.group_state = GroupState.DEAD.value
        return answer
    answer = _nothing(group_id, ErrorCode.NONE)
    answer.group_state = GroupState.DEAD.value
    return answer


def _nothing(group_id: str, error: ErrorCode) -> DescribedGroup:
    return DescribedGroup(
        error_code=int(error),
        group_id=group_id,
        group_state="",
        protocol_type="",
        protocol_data="",
    )


def _described(group: Group) -> DescribedGroup:
    is_stable = group.state is GroupState.STABLE
    protocol = (group.protocol_name or "") if is_stable else ""
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=protocol,
        members=[
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=metadata_for(member.protocols, protocol) if is_stable else b"",
                member_assignment=member.assignment if is_stable else b"",
            )
            for member in group.members.by_id.values()
        ],
    )


def refuse(request: DescribeGroupsRequest, code: ErrorCode) -> DescribeGroupsResponse:
    """Every group answers the error."""
    return DescribeGroupsResponse(groups=[_nothing(group_id, code) for group_id in request.groups])
