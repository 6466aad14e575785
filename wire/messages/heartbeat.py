"""Heartbeat: Show that a member of a classic group lives."""

from barnabas.wire.api import ApiKey
from barnabas.wire.primitives import Int16, Int32
from barnabas.wire.schema import Message, field, message
from barnabas.wire.strings import String

# v0 group_id, generation_id, member_id · v1 throttle_time_ms (KIP-124) ·
# v2 throttled responses are sent at once, the client waits (KIP-219) ·
# v3 group_instance_id (KIP-345) · v4 flexible (KIP-482)


@message(ApiKey.HEARTBEAT, versions=(0, 4), flexible=4)
class HeartbeatRequest(Message):
    """Show that a member of a classic group lives."""

    group_id: str = field(String)
    generation_id: int = field(Int32)
    member_id: str = field(String)
    group_instance_id: str | None = field(String, since=3, nullable=0, default=None)


@message(ApiKey.HEARTBEAT, versions=(0, 4), flexible=4)
class HeartbeatResponse(Message):
    """Whether the member may go on or must rejoin."""

    throttle_time_ms: int = field(Int32, since=1, ignorable=True, default=0)
    error_code: int = field(Int16, default=0)
