"""JoinGroup: a new member, one that comes back, a static one that restarted.

A dynamic member that does not know its id yet is given one and sent back for it (KIP-394,
from version 4), so that a retried first join leaves no ghost behind. A static member that
restarts under its instance id takes its old place over; if the group is Stable and would
choose the same protocol, nobody else notices (KIP-345).
"""

from dataclasses import dataclass
from uuid import uuid4

from barnabas.server.coordinators.writer import Writer
from barnabas.server.core.delayed import Deferred
from barnabas.server.core.errors import ApiError
from barnabas.server.groups.group import Group, GroupState
from barnabas.server.groups.members import Member
from barnabas.server.groups.protocols import Protocols
from barnabas.server.groups.rebalance import Rebalance
from barnabas.server.groups.records import encode_group, encode_group_key
from barnabas.server.groups.responses import (
    join_refused,
    joined,
    joined_under_old_leader,
    sync_refused,
)
from barnabas.server.settings.config import BrokerConfig
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.join_group import JoinGroupResponse

Answer = JoinGroupResponse | Deferred[JoinGroupResponse]
LONGEST_PREFIX = 8_000  # of a member id, in characters: the whole of it has to fit a wire's string


@dataclass(frozen=True, slots=True)
class JoinAttempt:
    """A JoinGroup request without its versions; `deferred` is for an answer that comes later."""

    group_id: str
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: Protocols
    must_know_member_id: bool
    may_skip_assignment: bool
    deferred: Deferred[JoinGroupResponse]


class Joining:
    """Serves JoinGroup for one group at a time."""

    def __init__(self, config: BrokerConfig, rebalance: Rebalance, writer: Writer) -> None:
        self._config = config
        self._rebalance = rebalance
        self._writer = writer

    def join(self, group: Group, attempt: JoinAttempt) -> Answer:
        """Join, now or when the rebalance is over. Raises ApiError."""
        if not self._has_room(group, attempt.member_id):
            group.members.remove(attempt.member_id)
            answer: Answer = join_refused("", ErrorCode.GROUP_MAX_SIZE_REACHED)
        elif not attempt.member_id:
            answer = self._join_new(group, attempt)
        else:
            answer = self._join_known(group, attempt)
        self._rebalance.check(group)
        return answer

    def _has_room(self, group: Group, member_id: str) -> bool:
        """Whether `group.max.size` leaves room; during a rebalance the first to join have it."""
        size = self._config.group_max_size
        if group.state in (GroupState.EMPTY, GroupState.DEAD):
            return True
        member = group.members.by_id.get(member_id)
        if group.state is GroupState.PREPARING_REBALANCE:
            if member is not None and member.joining is not None:
                return True
            return group.members.joining_count < size
        return member is not None or len(group.members) < size

    def _check_protocols(self, group: Group, attempt: JoinAttempt) -> None:
        if group.is_dead:
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if not group.accepts(attempt.protocol_type, attempt.protocols):
            raise ApiError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)

    # Members that do not know their id.

    def _join_new(self, group: Group, attempt: JoinAttempt) -> Answer:
        self._check_protocols(group, attempt)
        instance_id = attempt.instance_id
        member_id = f"{(instance_id or attempt.client_id)[:LONGEST_PREFIX]}-{uuid4()}"
        if instance_id is not None and instance_id in group.members.static:
            return self._replace_static(group, instance_id, member_id, attempt)
        if instance_id is None and attempt.must_know_member_id:
            self._rebalance.sessions.pend(group, member_id, attempt.session_timeout_ms)
            return join_refused(member_id, ErrorCode.MEMBER_ID_REQUIRED)
        return self._add(group, member_id, attempt)

    def _add(self, group: Group, member_id: str, attempt: JoinAttempt) -> Answer:
        member = Member(
            member_id,
            attempt.instance_id,
            attempt.client_id,
            attempt.client_host,
            attempt.rebalance_timeout_ms,
            attempt.session_timeout_ms,
            attempt.protocols,
            is_new=True,
            joining=attempt.deferred,
        )
        if not group.members.by_id:
            group.protocol_type = attempt.protocol_type
        if group.initial_delay is not None:
            group.initial_delay.saw_new_member = True
        group.members.add(member)
        self._rebalance.sessions.bound_first_join(group, member)
        self._rebalance.prepare(group, "a new member joins")
        return attempt.deferred

    # Members that were here before.

    def _join_known(self, group: Group, attempt: JoinAttempt) -> Answer:
        self._check_protocols(group, attempt)
        if attempt.member_id in group.members.pending:
            if attempt.instance_id is not None:
                raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
            return self._add(group, attempt.member_id, attempt)
        member = group.require_member(attempt.member_id, attempt.instance_id)
        if self._need_not_rebalance(group, member, attempt):
            return joined(group, member)
        return self._rejoin(group, member, attempt)

    def _need_not_rebalance(self, group: Group, member: Member, attempt: JoinAttempt) -> bool:
        """Whether the member may have missed its answer, and nothing else has happened.

        The leader of a Stable group rejoins to have the group rebalanced.
        """
        if member.protocols != attempt.protocols:
            return False
        if group.state is GroupState.STABLE:
            return member.member_id != group.members.leader_id
        return group.state is GroupState.COMPLETING_REBALANCE

    def _rejoin(self, group: Group, member: Member, attempt: JoinAttempt) -> Answer:
        self._await(group, member, attempt)
        self._rebalance.prepare(group, "a member joins again")
        return attempt.deferred

    def _await(self, group: Group, member: Member, attempt: JoinAttempt) -> None:
        """Take over what the member says now; a join of it that still waits is answered."""
        member.answer_join(join_refused(member.member_id, ErrorCode.REBALANCE_IN_PROGRESS))
        group.members.update_protocols(member, attempt.protocols)
        member.rebalance_timeout_ms = attempt.rebalance_timeout_ms
        member.session_timeout_ms = attempt.session_timeout_ms
        member.joining = attempt.deferred

    # Static members that come back under a new id.

    def _replace_static(
        self, group: Group, instance_id: str, member_id: str, attempt: JoinAttempt
    ) -> Answer:
        old_leader_id = group.members.leader_id or ""
        old_id = group.members.static[instance_id]
        member = group.members.by_id[old_id]
        member.answer_join(join_refused(old_id, ErrorCode.FENCED_INSTANCE_ID))
        member.answer_sync(sync_refused(ErrorCode.FENCED_INSTANCE_ID))
        before = (member.protocols, member.rebalance_timeout_ms, member.session_timeout_ms)
        group.members.replace_static(old_id, member_id)
        self._await(group, member, attempt)
        self._rebalance.sessions.beat(group, member)
        if group.state is GroupState.STABLE and group.select_protocol() == group.protocol_name:
            self._store_replaced(group, member, old_id, old_leader_id, attempt, before)
        else:
            self._rebalance.prepare(group, "a static member joins again")
        return attempt.deferred

    def _store_replaced(
        self,
        group: Group,
        member: Member,
        old_id: str,
        old_leader_id: str,
        attempt: JoinAttempt,
        before: tuple[Protocols, int, int],
    ) -> None:
        """Write the member's new id down, then let it in without a rebalance."""
        new_id = member.member_id

        def written(error: ErrorCode, _: int) -> None:
            if member.member_id != new_id or group.is_dead:
                return
            if error is not ErrorCode.NONE:
                protocols, member.rebalance_timeout_ms, member.session_timeout_ms = before
                group.members.update_protocols(member, protocols)
                group.members.replace_static(new_id, old_id)
                member.answer_join(join_refused("", error))
            elif attempt.may_skip_assignment:
                leads = new_id == group.members.leader_id
                member.answer_join(joined(group, member, skip_assignment=leads))
            else:
                member.answer_join(joined_under_old_leader(group, member, old_leader_id))

        assignments = {each.member_id: each.assignment for each in group.members.by_id.values()}
        record = (encode_group_key(group.group_id), encode_group(group, assignments))
        self._writer.append(group.shard, [record], written)
