"""Whether a request's member is who it says, in the generation it says."""

from barnabas.server.core.errors import ApiError
from barnabas.server.groups.group import Group
from barnabas.server.groups.members import Member
from barnabas.wire.error_codes import ErrorCode


def require_member(group: Group, member_id: str, instance_id: str | None) -> Member:
    """The member of these ids.

    Raises ApiError COORDINATOR_NOT_AVAILABLE (the group is dead), UNKNOWN_MEMBER_ID, or
    FENCED_INSTANCE_ID when somebody else has the instance id now (KIP-345).
    """
    if group.is_dead:
        raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if instance_id is not None:
        current_id = group.members.static.get(instance_id)
        if current_id is None:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
        if current_id != member_id:
            raise ApiError(ErrorCode.FENCED_INSTANCE_ID)
    member = group.members.by_id.get(member_id)
    if member is None:
        raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
    return member


def require_generation(group: Group, generation: int) -> None:
    """Raises ApiError ILLEGAL_GENERATION unless it is the group's."""
    if generation != group.generation:
        raise ApiError(ErrorCode.ILLEGAL_GENERATION)
