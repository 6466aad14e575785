"""Sessions: a member that is silent for its session timeout is removed.

Every heartbeat, commit and finished join or sync puts the member's timer off. A member with a
parked request lives whatever the timer says, unless it is new: nobody can tell a new member
that went away from one that waits, so its first join is bounded.
"""

from collections.abc import Callable

from barnabas.server.core.clock import Clock
from barnabas.server.groups.group import Group
from barnabas.server.groups.members import Member

NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60 * 1000


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
