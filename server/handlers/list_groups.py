"""ListGroups: the groups that this broker coordinates.

* v4: only those in some states (KIP-518); v5: only those of some types (KIP-848), by name, in
  any case. While a partition is being loaded: COORDINATOR_LOAD_IN_PROGRESS beside what is known.
"""

from barnabas.server.core.turns import Sliced
from barnabas.server.groups.group import Group
from barnabas.server.handlers import Versions
from barnabas.server.requests.context import RequestContext
from barnabas.wire.compiler import Steps
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)

VERSIONS = Versions(0, 5)
CLASSIC = "classic"


def handle(request: ListGroupsRequest, context: RequestContext) -> Sliced[ListGroupsResponse]:
    """Every group that the filters leave."""
    return Sliced(_list(request, context))


def _list(request: ListGroupsRequest, context: RequestContext) -> Steps[ListGroupsResponse]:
    states = {state.lower() for state in request.states_filter}
    types = {kind.lower() for kind in request.types_filter}
    groups = context.broker.groups
    response = ListGroupsResponse()
    if groups.shards.is_loading:
        response.error_code = int(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    if not types or CLASSIC in types:
        for group in tuple(groups.all_groups()):
            if not states or group.state.value.lower() in states:
                response.groups.append(_listed(group))
            yield
    return response


def _listed(group: Group) -> ListedGroup:
    return ListedGroup(
        group_id=group.group_id,
        protocol_type=group.protocol_type or "",
        group_state=group.state.value,
        group_type=CLASSIC,
    )
