"""ListGroups: List the groups that a broker coordinates."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 all groups of the broker · v1 throttle_time_ms (KIP-124) ·
# v2 throttled responses are sent at once, the client waits (KIP-219) · v3 flexible (KIP-482) ·
# v4 states_filter, group_state (KIP-518) · v5 types_filter, group_type (KIP-848)


@message(ApiKey.LIST_GROUPS, versions=(0, 5), flexible=3)
class ListGroupsRequest(Message):
    """List the groups that a broker coordinates."""

    # empty for all
    states_filter: list[str] = field(Array(String), since=4, default_factory=list)
    # empty for all
    types_filter: list[str] = field(Array(String), since=5, default_factory=list)


@struct
class ListedGroup(Struct):
    group_id: str = field(String)
    protocol_type: str = field(String)
    group_state: str = field(String, since=4, ignorable=True, default="")
    group_type: str = field(String, since=5, ignorable=True, default="")


@message(ApiKey.LIST_GROUPS, versions=(0, 5), flexible=3)
class ListGroupsResponse(Message):
    """Ids, protocols, states and types of groups."""

    throttle_time_ms: int = field(Int32, since=1, ignorable=True, default=0)
    error_code: int = field(Int16, default=0)
    groups: list[ListedGroup] = field(Array(ListedGroup), default_factory=list)
