"""LeaveGroup: Remove members from a classic group."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 one member_id · v1 throttle_time_ms (KIP-124) ·
# v2 throttled responses are sent at once, the client waits (KIP-219) ·
# v3 members, each by member_id or group_instance_id (KIP-345) · v4 flexible (KIP-482) ·
# v5 reason (KIP-800)


@struct
class MemberIdentity(Struct):
    member_id: str = field(String)
    group_instance_id: str | None = field(String, nullable=0, default=None)
    reason: str | None = field(String, since=5, nullable=0, default=None, ignorable=True)


@message(ApiKey.LEAVE_GROUP, versions=(0, 5), flexible=4)
class LeaveGroupRequest(Message):
    """Remove members from a classic group."""

    group_id: str = field(String)
    member_id: str = field(String, until=2, default="")
    members: list[MemberIdentity] = field(Array(MemberIdentity), since=3, default_factory=list)


@struct
class MemberResponse(Struct):
    member_id: str = field(String)
    group_instance_id: str | None = field(String, nullable=0)
    error_code: int = field(Int16, default=0)


@message(ApiKey.LEAVE_GROUP, versions=(0, 5), flexible=4)
class LeaveGroupResponse(Message):
    """Per member, whether it left."""

    throttle_time_ms: int = field(Int32, since=1, ignorable=True, default=0)
    error_code: int = field(Int16, default=0)
    members: list[MemberResponse] = field(Array(MemberResponse), since=3, default_factory=list)
