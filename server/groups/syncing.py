"""SyncGroup, Heartbeat and LeaveGroup: the life of a member after it has joined."""

from collections.abc import Mapping

from barnabas.server.coordinators.writer import Writer
from barnabas.server.core.clock import Clock
from barnabas.server.core.delayed import Deferred
from barnabas.server.core.errors import ApiError
from barnabas.server.groups.group import Group, GroupEvent, GroupState
from barnabas.server.groups.members import Member
from barnabas.server.groups.observe import GroupCounts
from barnabas.server.groups.rebalance import Rebalance
from barnabas.server.groups.records import encode_group, encode_group_key
from barnabas.server.groups.responses import sync_refused, synced
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

Answer = SyncGroupResponse | Deferred[SyncGroupResponse]

# What a failed write of the assignment tells the members.
_STORE_ERRORS = {
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.INVALID_COMMIT_OFFSET_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


class Syncing:
    """Serves members of a generation."""

    def __init__(
        self, clock: Clock, rebalance: Rebalance, writer: Writer, counts: GroupCounts
    ) -> None:
        self._counts = counts
        self._clock = clock
        self._rebalance = rebalance
        self._writer = writer

    def sync(self, group: Group, request: SyncGroupRequest) -> Answer:
        """The member's assignment, now or when the leader has sent it. Raises ApiError."""
        member = group.require_member(request.member_id, request.group_instance_id)
        group.require_generation(request.generation_id)
        _check_protocol(group, request)
        if group.state is GroupState.PREPARING_REBALANCE:
            raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS)
        self._rebalance.synced(group, member)
        if group.state is GroupState.STABLE:
            self._rebalance.sessions.beat(group, member)
            return synced(group, member)
        member.answer_sync(sync_refused(ErrorCode.REBALANCE_IN_PROGRESS))
        syncing: Deferred[SyncGroupResponse] = Deferred()
        member.syncing = syncing
        if member.member_id == group.members.leader_id:
            given = {each.member_id: each.assignment for each in request.assignments}
            self._store(group, {id_: given.get(id_, b"") for id_ in group.members.by_id})
        return syncing

    def _store(self, group: Group, assignments: Mapping[str, bytes]) -> None:
        """Write the assignments, then hand them out; members left out get an empty one."""
        generation = group.generation

        def written(error: ErrorCode, _: int) -> None:
            if group.state is not GroupState.COMPLETING_REBALANCE:
                return
            if generation != group.generation:
                return
            if error is ErrorCode.NONE:
                self._hand_out(group, assignments)
            else:
                self._rebalance.fail_syncs(group, _STORE_ERRORS.get(error, error))
                self._rebalance.prepare(group, f"the assignment was not stored: {error.name}")

        record = (encode_group_key(group.group_id), encode_group(group, assignments))
        self._writer.append(group.shard, [record], written)

    def _hand_out(self, group: Group, assignments: Mapping[str, bytes]) -> None:
        group.move(GroupEvent.ASSIGNED, self._clock.now_ms())
        self._counts.group_completed_rebalance_count += 1
        for member in tuple(group.members.by_id.values()):
            member.assignment = assignments.get(member.member_id, b"")
            if member.syncing is not None:
                self._rebalance.sessions.beat(group, member)
                member.answer_sync(synced(group, member))

    def heartbeat(
        self, group: Group, generation: int, member_id: str, instance_id: str | None
    ) -> None:
        """The member lives. Raises ApiError, REBALANCE_IN_PROGRESS if it is to join again."""
        member = group.require_member(member_id, instance_id)
        group.require_generation(generation)
        self._rebalance.sessions.beat(group, member)
        if group.state is GroupState.PREPARING_REBALANCE:
            raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS)

    def leave(self, group: Group, member_id: str, instance_id: str | None) -> None:
        """A member goes, or an administrator sends it. Raises ApiError."""
        if group.is_dead:
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if not member_id:
            member_id = group.members.static.get(instance_id or "", "")
        elif group.members.forget_pending(member_id):
            self._rebalance.check(group)
            return
        member: Member = group.require_member(member_id, instance_id)
        self._rebalance.remove(group, member, "a member leaves")


def _check_protocol(group: Group, request: SyncGroupRequest) -> None:
    """From version 5 both sides must mean the same protocol (KIP-559)."""
    for asked, actual in (
        (request.protocol_type, group.protocol_type),
        (request.protocol_name, group.protocol_name),
    ):
        if asked is not None and asked != actual:
            raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
