"""The members of a classic group, those that are only about to be, and how long they live.

pending   has been given a member id and is to join with it (KIP-394); holds no vote
member    has joined; `joining` is its unanswered JoinGroup, `syncing` its SyncGroup
static    a member with an instance id, which keeps its place when it restarts (KIP-345)

Every heartbeat, commit and finished join or sync puts the member's session timer off. A member
with a parked request lives whatever the timer says, unless it is new: nobody can tell a new member
that went away from one that waits, so its first join is bounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.server.core.clock import Clock, Timer
from barnabas.server.core.delayed import Deferred
from barnabas.server.groups.protocols import Protocols, names_of
from barnabas.wire.messages.join_group import JoinGroupResponse
from barnabas.wire.messages.sync_group import SyncGroupResponse

if TYPE_CHECKING:
    from barnabas.server.groups.group import Group

NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000


@dataclass(slots=True)
class Member:
    """One member.

    `is_new` until its first generation: it cannot send heartbeats before it knows its id, so
    only its join is timed. `session` is the timer that removes it.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: Protocols
    assignment: bytes = b""
    is_new: bool = False
    joining: Deferred[JoinGroupResponse] | None = None
    syncing: Deferred[SyncGroupResponse] | None = None
    session: Timer | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether a request of it is parked: then it lives, whatever its heartbeats."""
        return self.joining is not None or self.syncing is not None

    def answer_join(self, response: JoinGroupResponse) -> None:
        """Answer its parked JoinGroup, if there is one."""
        joining, self.joining = self.joining, None
        if joining is not None:
            joining.give(response)

    def answer_sync(self, response: SyncGroupResponse) -> None:
        """Answer its parked SyncGroup, if there is one."""
        syncing, self.syncing = self.syncing, None
        if syncing is not None:
            syncing.give(response)

    def end_session(self) -> None:
        """Stop the timer that would remove it."""
        if self.session is not None:
            self.session.cancel()
            self.session = None


class Members:
    """All members of a group by id, in the order in which they came."""

    def __init__(self) -> None:
        self.by_id: dict[str, Member] = {}
        self.static: dict[str, str] = {}
        self.pending: dict[str, Timer] = {}
        # Members of the new generation whose SyncGroup has not come yet.
        self.to_sync: set[str] = set()
        self.leader_id: str | None = None
        self._speakers: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self.by_id)

    def __contains__(self, member_id: object) -> bool:
        return member_id in self.by_id

    def add(self, member: Member) -> None:
        """A new member; the first one leads."""
        self.forget_pending(member.member_id)
        if member.instance_id is not None:
            self.static[member.instance_id] = member.member_id
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.by_id[member.member_id] = member
        self._speakers.update(names_of(member.protocols))

    def update_protocols(self, member: Member, protocols: Protocols) -> None:
        """A member speaks something else now."""
        self._speakers.subtract(names_of(member.protocols))
        member.protocols = protocols
        self._speakers.update(names_of(protocols))

    def remove(self, member_id: str) -> Member | None:
        """Forget a member, pending or not; the eldest leads if it was the leader."""
        self.forget_pending(member_id)
        self.to_sync.discard(member_id)
        member = self.by_id.pop(member_id, None)
        if member is not None:
            member.end_session()
            self._speakers.subtract(names_of(member.protocols))
            if member.instance_id is not None and self.static.get(member.instance_id) == member_id:
                del self.static[member.instance_id]
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.by_id), None)
        return member

    def replace_static(self, old_id: str, new_id: str) -> Member:
        """Give a static member another id; it keeps its rank and its place as leader."""
        member = self.by_id[old_id]
        member.member_id = new_id
        self.by_id = {new_id if key == old_id else key: each for key, each in self.by_id.items()}
        if member.instance_id is not None:
            self.static[member.instance_id] = new_id
        if self.leader_id == old_id:
            self.leader_id = new_id
        if old_id in self.to_sync:
            self.to_sync.discard(old_id)
            self.to_sync.add(new_id)
        return member

    def forget_pending(self, member_id: str) -> bool:
        """Drop a pending member's id; whether it was one."""
        timer = self.pending.pop(member_id, None)
        if timer is None:
            return False
        timer.cancel()
        return True

    @property
    def joining_count(self) -> int:
        """How many wait for the answer to their JoinGroup."""
        return sum(member.joining is not None for member in self.by_id.values())

    @property
    def have_all_joined(self) -> bool:
        """Whether nobody is missing, pending members included."""
        return not self.pending and all(m.joining is not None for m in self.by_id.values())

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest that any member asks for."""
        return max((m.rebalance_timeout_ms for m in self.by_id.values()), default=0)

    def elect_joined_leader(self) -> bool:
        """Keep the leader if it has joined, else take one that has; False if nobody has."""
        leader = self.by_id.get(self.leader_id or "")
        if leader is not None and leader.joining is not None:
            return True
        joined = next((m for m in self.by_id.values() if m.joining is not None), None)
        if joined is None:
            return False
        self.leader_id = joined.member_id
        return True

    def can_speak(self, protocols: Protocols) -> bool:
        """Whether one of the protocols is known to all members."""
        return any(self._speakers[name] == len(self.by_id) for name, _ in protocols)


class Sessions:
    """The timers of members. `on_failed(group, member)` is told of each that ran out."""

    def __init__(
        self,
        clock: Clock,
        on_failed: Callable[[Group, Member], object],
        on_pending_expired: Callable[[Group, str], object],
    ) -> None:
        self._clock = clock
        self._on_failed = on_failed
        self._on_pending_expired = on_pending_expired

    def beat(self, group: Group, member: Member) -> None:
        """The member has shown that it lives."""
        self._arm(group, member, member.session_timeout_ms)

    def bound_first_join(self, group: Group, member: Member) -> None:
        """A new member's join does not wait for ever."""
        self._arm(group, member, NEW_MEMBER_JOIN_TIMEOUT_MS)

    def pend(self, group: Group, member_id: str, timeout_ms: int) -> None:
        """A member id has been given out; it is good for so long."""
        timer = self._clock.call_later(timeout_ms, lambda: self._pending_expired(group, member_id))
        group.members.pending[member_id] = timer

    def _arm(self, group: Group, member: Member, timeout_ms: int) -> None:
        session = member.session
        if session is not None and session.active:
            session.reset(timeout_ms)
        else:
            member.session = self._clock.call_later(
                timeout_ms, lambda: self._expired(group, member)
            )

    def _expired(self, group: Group, member: Member) -> None:
        if group.members.by_id.get(member.member_id) is not member:
            return
        if member.is_waiting and not member.is_new:
            return
        self._on_failed(group, member)

    def _pending_expired(self, group: Group, member_id: str) -> None:
        if group.members.forget_pending(member_id):
            self._on_pending_expired(group, member_id)
