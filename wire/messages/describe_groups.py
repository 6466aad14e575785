"""DescribeGroups: Describe classic groups."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Boolean, Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import Bytes, String

# v0 groups by id · v1 throttle_time_ms (KIP-124) ·
# v2 throttled responses are sent at once, the client waits (KIP-219) ·
# v3 include_authorized_operations, authorized_operations (KIP-430) ·
# v4 group_instance_id of members (KIP-345) · v5 flexible (KIP-482) ·
# v6 error_message, error GROUP_ID_NOT_FOUND instead of a Dead group (KIP-1043)


@message(ApiKey.DESCRIBE_GROUPS, versions=(0, 6), flexible=5)
class DescribeGroupsRequest(Message):
    """Describe classic groups."""

    groups: list[str] = field(Array(String), default_factory=list)
    include_authorized_operations: bool = field(Boolean, since=3, default=False)


@struct
class DescribedGroupMember(Struct):
    member_id: str = field(String)
    group_instance_id: str | None = field(String, since=4, nullable=0, default=None, ignorable=True)
    client_id: str = field(String)
    client_host: str = field(String)
    member_metadata: bytes = field(Bytes)
    member_assignment: bytes = field(Bytes)


@struct
class DescribedGroup(Struct):
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, since=6, nullable=0, default=None)
    group_id: str = field(String)
    group_state: str = field(String)
    protocol_type: str = field(String)
    protocol_data: str = field(String)
    members: list[DescribedGroupMember] = field(Array(DescribedGroupMember), default_factory=list)
    # bit per operation; the smallest int32 if not asked for
    authorized_operations: int = field(Int32, since=3, default=-2147483648)


@message(ApiKey.DESCRIBE_GROUPS, versions=(0, 6), flexible=5)
class DescribeGroupsResponse(Message):
    """State, protocol and members of each classic group."""

    throttle_time_ms: int = field(Int32, since=1, ignorable=True, default=0)
    groups: list[DescribedGroup] = field(Array(DescribedGroup), default_factory=list)
