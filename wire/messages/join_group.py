"""JoinGroup: Join a classic group with the protocols a member speaks."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Boolean, Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import Bytes, String

# v0 one timeout for session and rebalance · v1 rebalance_timeout_ms (KIP-62) ·
# v2 throttle_time_ms (KIP-124) ·
# v3 throttled responses are sent at once, the client waits (KIP-219) ·
# v4 a new member is sent back with its id, error MEMBER_ID_REQUIRED (KIP-394) ·
# v5 group_instance_id: static members (KIP-345) · v6 flexible (KIP-482) ·
# v7 protocol_type in the response, protocol_name nullable (KIP-559) · v8 reason (KIP-800) ·
# v9 skip_assignment: a leader that need not assign (KIP-814)


@struct
class JoinGroupRequestProtocol(Struct):
    name: str = field(String)
    # for consumers: ConsumerProtocolSubscription after its int16 version
    metadata: bytes = field(Bytes)


@message(ApiKey.JOIN_GROUP, versions=(0, 9), flexible=6)
class JoinGroupRequest(Message):
    """Join a classic group with the protocols a member speaks."""

    group_id: str = field(String)
    session_timeout_ms: int = field(Int32)
    # -1 (v0): the session timeout holds
    rebalance_timeout_ms: int = field(Int32, since=1, default=-1, ignorable=True)
    # empty on the first join
    member_id: str = field(String)
    group_instance_id: str | None = field(String, since=5, nullable=0, default=None)
    protocol_type: str = field(String)
    # in order of preference
    protocols: list[JoinGroupRequestProtocol] = field(
        Array(JoinGroupRequestProtocol), default_factory=list
    )
    reason: str | None = field(String, since=8, nullable=0, default=None, ignorable=True)


@struct
class JoinGroupResponseMember(Struct):
    member_id: str = field(String)
    group_instance_id: str | None = field(String, since=5, nullable=0, default=None, ignorable=True)
    metadata: bytes = field(Bytes)


@message(ApiKey.JOIN_GROUP, versions=(0, 9), flexible=6)
class JoinGroupResponse(Message):
    """Generation, protocol, leader and, for the leader, the members."""

    throttle_time_ms: int = field(Int32, since=2, ignorable=True, default=0)
    error_code: int = field(Int16, default=0)
    # -1 on error
    generation_id: int = field(Int32, default=-1)
    protocol_type: str | None = field(String, since=7, nullable=0, default=None, ignorable=True)
    protocol_name: str | None = field(String, nullable=7)
    leader: str = field(String)
    skip_assignment: bool = field(Boolean, since=9, default=False)
    member_id: str = field(String)
    # filled for the leader only
    members: list[JoinGroupResponseMember] = field(
        Array(JoinGroupResponseMember), default_factory=list
    )
