"""What JoinGroup and SyncGroup are answered, made in one place."""

from barnabas.server.groups.group import Group
from barnabas.server.groups.members import Member
from barnabas.server.groups.protocols import metadata_for
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from barnabas.wire.messages.sync_group import SyncGroupResponse


def joined(group: Group, member: Member, *, skip_assignment: bool = False) -> JoinGroupResponse:
    """The member is in the current generation; the leader is told who else is."""
    leader_id = group.members.leader_id or ""
    return JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=leader_id,
        skip_assignment=skip_assignment,
        member_id=member.member_id,
        members=_metadata(group) if member.member_id == leader_id else [],
    )


def joined_under_old_leader(group: Group, member: Member, leader_id: str) -> JoinGroupResponse:
    """For a restarted static member that cannot skip the assignment: it must not think it leads."""
    response = joined(group, member)
    response.leader = leader_id
    response.members = []
    return response


def join_refused(member_id: str, error: ErrorCode) -> JoinGroupResponse:
    """No."""
    return JoinGroupResponse(
        error_code=int(error), member_id=member_id, leader="", protocol_name=None
    )


def synced(group: Group, member: Member) -> SyncGroupResponse:
    """The member's assignment."""
    return SyncGroupResponse(
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        assignment=member.assignment,
    )


def sync_refused(error: ErrorCode) -> SyncGroupResponse:
    """No."""
    return SyncGroupResponse(error_code=int(error), assignment=b"")


def _metadata(group: Group) -> list[JoinGroupResponseMember]:
    protocol = group.protocol_name or ""
    return [
        JoinGroupResponseMember(
            member_id=member.member_id,
            group_instance_id=member.instance_id,
            metadata=metadata_for(member.protocols, protocol),
        )
        for member in group.members.by_id.values()
    ]
