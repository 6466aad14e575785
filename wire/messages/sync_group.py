"""SyncGroup: Hand in the leader's assignment, or wait for one's own."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import Bytes, String

# v0 assignments · v1 throttle_time_ms (KIP-124) ·
# v2 throttled responses are sent at once, the client waits (KIP-219) ·
# v3 group_instance_id (KIP-345) · v4 flexible (KIP-482) ·
# v5 protocol_type, protocol_name on both sides (KIP-559)


@struct
class SyncGroupRequestAssignment(Struct):
    member_id: str = field(String)
    assignment: bytes = field(Bytes)


@message(ApiKey.SYNC_GROUP, versions=(0, 5), flexible=4)
class SyncGroupRequest(Message):
    """Hand in the leader's assignment, or wait for one's own."""

    group_id: str = field(String)
    generation_id: int = field(Int32)
    member_id: str = field(String)
    group_instance_id: str | None = field(String, since=3, nullable=0, default=None)
    protocol_type: str | None = field(String, since=5, nullable=0, default=None, ignorable=True)
    protocol_name: str | None = field(String, since=5, nullable=0, default=None, ignorable=True)
    # filled by the leader only
    assignments: list[SyncGroupRequestAssignment] = field(
        Array(SyncGroupRequestAssignment), default_factory=list
    )


@message(ApiKey.SYNC_GROUP, versions=(0, 5), flexible=4)
class SyncGroupResponse(Message):
    """The member's assignment."""

    throttle_time_ms: int = field(Int32, since=1, ignorable=True, default=0)
    error_code: int = field(Int16, default=0)
    protocol_type: str | None = field(String, since=5, nullable=0, default=None, ignorable=True)
    protocol_name: str | None = field(String, since=5, nullable=0, default=None, ignorable=True)
    # for consumers: ConsumerProtocolAssignment after its int16 version
    assignment: bytes = field(Bytes)
