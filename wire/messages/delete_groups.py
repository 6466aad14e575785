"""DeleteGroups: Delete empty groups and their offsets."""

from barnabas.wire.api import ApiKey
from barnabas.wire.arrays import Array
from barnabas.wire.primitives import Int16, Int32
from barnabas.wire.schema import Message, Struct, field, message, struct
from barnabas.wire.strings import String

# v0 (KIP-229) · v1 throttled responses are sent at once, the client waits (KIP-219) ·
# v2 flexible (KIP-482) · v3 error_message of each group, error GROUP_DELETION_FAILED


@message(ApiKey.DELETE_GROUPS, versions=(0, 3), flexible=2)
class DeleteGroupsRequest(Message):
    """Delete empty groups and their offsets."""

    groups_names: list[str] = field(Array(String), default_factory=list)


@struct
class DeletableGroupResult(Struct):
    group_id: str = field(String)
    error_code: int = field(Int16, default=0)
    error_message: str | None = field(String, since=3, nullable=0, default=None, ignorable=True)


@message(ApiKey.DELETE_GROUPS, versions=(0, 3), flexible=2)
class DeleteGroupsResponse(Message):
    """Per group, whether it was deleted."""

    throttle_time_ms: int = field(Int32, default=0)
    results: list[DeletableGroupResult] = field(Array(DeletableGroupResult), default_factory=list)
