"""A rebalance: who has joined again, when it is over, and what happens to the rest.

    prepare    a reason to rebalance came up: every member has the rebalance timeout to join again
    complete   all have joined, or time is up: dynamic members that are missing are out, static
               ones stay, a generation begins and every JoinGroup is answered
    sync       the members have the rebalance timeout once more to ask for their assignment

The first rebalance of an empty group is put off by `group.initial.rebalance.delay.ms`, and as
long again whenever a member came meanwhile, so that a group that starts up is assigned once.
"""

from barnabas.server.coordinators.writer import Writer
from barnabas.server.core.clock import Clock
from barnabas.server.groups.group import Group, GroupEvent, GroupState, InitialDelay
from barnabas.server.groups.members import Member, Sessions
from barnabas.server.groups.records import encode_group, encode_group_key
from barnabas.server.groups.responses import join_refused, joined, sync_refused
from barnabas.server.observing.logs import Log
from barnabas.server.settings.config import BrokerConfig
from barnabas.wire.error_codes import ErrorCode


class Rebalance:
    """Carries groups through their rebalances."""

    def __init__(self, config: BrokerConfig, clock: Clock, writer: Writer, log: Log) -> None:
        self._config = config
        self._clock = clock
        self._writer = writer
        self._log = log
        self.sessions = Sessions(clock, self._member_failed, lambda group, _: self.check(group))

    def prepare(self, group: Group, reason: str) -> None:
        """Begin a rebalance, unless one is under way."""
        if not group.can_rebalance:
            return
        if group.state is GroupState.COMPLETING_REBALANCE:
            self.fail_syncs(group, ErrorCode.REBALANCE_IN_PROGRESS)
        self._end_sync_phase(group)
        was_empty = group.state is GroupState.EMPTY
        group.move(GroupEvent.REBALANCE, self._clock.now_ms())
        self._log.debug(
            "rebalance", group=group.group_id, generation=group.generation, reason=reason
        )
        if was_empty:
            delay_ms = self._config.group_initial_rebalance_delay_ms
            remaining_ms = max(0, group.members.rebalance_timeout_ms - delay_ms)
            group.initial_delay = InitialDelay(remaining_ms)
            group.join_timer = self._clock.call_later(delay_ms, lambda: self._delay_over(group))
        elif group.members.have_all_joined:
            self._complete(group)
        else:
            self._await_joins(group)

    def check(self, group: Group) -> None:
        """Somebody joined or is gone: complete the rebalance if nobody is missing now."""
        if (
            group.state is GroupState.PREPARING_REBALANCE
            and group.initial_delay is None
            and group.members.have_all_joined
        ):
            self._complete(group)

    def remove(self, group: Group, member: Member, reason: str) -> None:
        """Take a member out; the others rebalance."""
        member.answer_join(join_refused("", ErrorCode.UNKNOWN_MEMBER_ID))
        member.answer_sync(sync_refused(ErrorCode.UNKNOWN_MEMBER_ID))
        group.members.remove(member.member_id)
        self.prepare(group, reason)
        self.check(group)

    def fail_syncs(self, group: Group, error: ErrorCode) -> None:
        """No assignment for anybody: whoever waits for one is told why."""
        for member in group.members.by_id.values():
            member.assignment = b""
            if member.syncing is not None:
                member.answer_sync(sync_refused(error))
                self.sessions.beat(group, member)

    def synced(self, group: Group, member: Member) -> None:
        """A member of the new generation has asked for its assignment."""
        group.members.to_sync.discard(member.member_id)
        if not group.members.to_sync:
            self._end_sync_phase(group)

    def unload(self, group: Group) -> None:
        """Another broker coordinates the group now; whoever waits here is sent there."""
        self.stop(group)
        group.move(GroupEvent.REMOVED, self._clock.now_ms())
        for member in tuple(group.members.by_id.values()):
            member.answer_join(join_refused(member.member_id, ErrorCode.NOT_COORDINATOR))
            member.answer_sync(sync_refused(ErrorCode.NOT_COORDINATOR))

    def stop(self, group: Group) -> None:
        """The group is gone from here: no timer of it must ring any more."""
        self._end_join_phase(group)
        self._end_sync_phase(group)
        for member in group.members.by_id.values():
            member.end_session()
        for member_id in tuple(group.members.pending):
            group.members.forget_pending(member_id)

    def _member_failed(self, group: Group, member: Member) -> None:
        self._log.info("member failed", group=group.group_id, member=member.member_id)
        self.remove(group, member, "a member's session timed out")

    # The time in which members join.

    def _await_joins(self, group: Group) -> None:
        timeout_ms = group.members.rebalance_timeout_ms
        group.join_timer = self._clock.call_later(timeout_ms, lambda: self._complete(group))

    def _delay_over(self, group: Group) -> None:
        delay = group.initial_delay
        assert delay is not None
        if delay.saw_new_member and delay.remaining_ms > 0:
            step_ms = min(self._config.group_initial_rebalance_delay_ms, delay.remaining_ms)
            delay.saw_new_member = False
            delay.remaining_ms -= step_ms
            group.join_timer = self._clock.call_later(step_ms, lambda: self._delay_over(group))
        else:
            self._complete(group)

    def _end_join_phase(self, group: Group) -> None:
        group.initial_delay = None
        if group.join_timer is not None:
            group.join_timer.cancel()
            group.join_timer = None

    def _complete(self, group: Group) -> None:
        self._end_join_phase(group)
        self._remove_missing(group)
        if group.members.by_id and not group.members.elect_joined_leader():
            # Only static members are left and none has come: their sessions decide.
            self._await_joins(group)
            return
        group.begin_generation(self._clock.now_ms())
        if group.state is GroupState.EMPTY:
            self._log.info("group is empty", group=group.group_id, generation=group.generation)
            self._store_empty(group)
        else:
            self._log.info(
                "generation begins", group=group.group_id, generation=group.generation,
                members=len(group.members), protocol=group.protocol_name,
            )  # fmt: skip
            self._answer_joins(group)

    def _remove_missing(self, group: Group) -> None:
        for member in tuple(group.members.by_id.values()):
            if member.joining is None and member.instance_id is None:
                group.members.remove(member.member_id)

    def _answer_joins(self, group: Group) -> None:
        for member in tuple(group.members.by_id.values()):
            member.is_new = False
            group.members.to_sync.add(member.member_id)
            self.sessions.beat(group, member)
        generation = group.generation
        group.sync_timer = self._clock.call_later(
            group.members.rebalance_timeout_ms, lambda: self._sync_expired(group, generation)
        )
        for member in tuple(group.members.by_id.values()):
            member.answer_join(joined(group, member))

    def _store_empty(self, group: Group) -> None:
        def written(error: ErrorCode, _: int) -> None:
            # Harmless: the generation before comes back at the next load, and times out.
            if error is not ErrorCode.NONE:
                self._log.warn("empty group not stored", group=group.group_id, error=error.name)

        record = (encode_group_key(group.group_id), encode_group(group, {}))
        self._writer.append(group.shard, [record], written)

    # The time in which members ask for their assignments.

    def _end_sync_phase(self, group: Group) -> None:
        group.members.to_sync.clear()
        if group.sync_timer is not None:
            group.sync_timer.cancel()
            group.sync_timer = None

    def _sync_expired(self, group: Group, generation: int) -> None:
        if group.generation != generation or not group.members.to_sync:
            return
        for member_id in tuple(group.members.to_sync):
            member = group.members.remove(member_id)
            if member is not None:
                self._log.info("member did not sync", group=group.group_id, member=member_id)
        self.prepare(group, "members did not sync in time")
