"""Random members against the coordinator, by a clock that only moves when told to.

Eight clients of one group join, assign, beat, commit, leave, restart and fall silent in any
order, each doing what a client does with the answers it gets. After every step the group must
make sense, and at the end, once everybody alive behaves, all of them must be assigned.
"""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from barnabas.server.core.errors import ApiError
from barnabas.server.groups.group import TRANSITIONS, Group, GroupEvent, GroupState
from barnabas.wire.error_codes import ErrorCode

from .world import REBALANCE_MS, SESSION_MS, SUBSCRIBED_TO_ORDERS, Client, World

RANGE = ("range", SUBSCRIBED_TO_ORDERS)
STICKY = ("sticky", SUBSCRIBED_TO_ORDERS)
OTHER = ("other", b"")
# All speak two: a group that was loaded knows of its members' protocols only the chosen one.
PROTOCOLS = ((RANGE, STICKY), (RANGE, STICKY, OTHER), (STICKY, RANGE))
STEP_MS = 1_000
numbers = st.integers(0, 7)


class Groups(RuleBasedStateMachine):
    """The clients; those with an even number and above 4 are static."""

    world: World

    def __init__(self, below: Path) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(dir=below))
        self.clients: dict[int, Client] = {}
        self.generations: list[int] = []
        self.committed = -1

    @initialize(delay_ms=st.sampled_from((0, 3_000)))
    def start(self, delay_ms: int) -> None:
        self.world = World(self.directory, {"group.initial.rebalance.delay.ms": delay_ms})

    def teardown(self) -> None:
        if hasattr(self, "world"):
            try:
                self._everybody_behaves()
            finally:
                self.world.close()
        shutil.rmtree(self.directory)

    # What clients do.

    @rule(
        number=numbers,
        speaks=st.sampled_from(PROTOCOLS),
        version=st.sampled_from((3, 9)),
        session_ms=st.sampled_from((SESSION_MS, 2 * REBALANCE_MS)),
    )
    def join(
        self, number: int, speaks: tuple[tuple[str, bytes], ...], version: int, session_ms: int
    ) -> None:
        client = self.clients.get(number)
        if client is None:
            instance = f"instance-{number}" if number in (4, 6) else None
            client = self.clients[number] = Client(self.world, instance_id=instance)
        client.protocols, client.version, client.session_ms = speaks, version, session_ms
        self._join(client)

    @rule(number=numbers)
    def restart(self, number: int) -> None:
        """The process dies and comes back: a static member keeps its instance id, no more."""
        client = self.clients.get(number)
        if client is not None:
            again = Client(self.world, instance_id=client.instance_id)
            again.protocols = client.protocols
            self.clients[number] = again
            self._join(again)

    @rule(number=numbers)
    def go_silent(self, number: int) -> None:
        self.clients.pop(number, None)

    @rule(number=numbers)
    def sync(self, number: int) -> None:
        for client in self._client(number):
            self._sync(client)

    @rule(number=numbers)
    def heartbeat(self, number: int) -> None:
        for client in self._client(number):
            self._obey(client, client.heartbeat())

    @rule(number=numbers, offset=st.integers(0, 100))
    def commit(self, number: int, offset: int) -> None:
        for client in self._client(number):
            if client.generation < 0:
                continue
            code = self.world.commit(offset, client.committer)
            if code is ErrorCode.NONE:
                assert client.generation == self._group().generation
                self.committed = offset

    @rule(number=numbers)
    def leave(self, number: int) -> None:
        for client in self._client(number):
            client.leave()
            del self.clients[number]

    @rule()
    def settle(self) -> None:
        """All that are there behave for a while."""
        if self.clients:
            self._everybody_behaves()

    @rule()
    def move_the_coordinator(self) -> None:
        """Away and back: what was written is there again, rebalances have to start over."""
        self.world.reload()
        self.generations.clear()

    @rule()
    def delete_the_group(self) -> None:
        try:
            self.world.groups.delete_group("g")
        except ApiError as error:
            assert error.code in (ErrorCode.NON_EMPTY_GROUP, ErrorCode.GROUP_ID_NOT_FOUND)
        else:
            self.committed = -1
            self.generations.clear()

    @rule(ms=st.sampled_from((0, STEP_MS, SESSION_MS // 2, SESSION_MS, REBALANCE_MS)))
    def pass_time(self, ms: int) -> None:
        self.world.clock.advance(ms)

    # How clients take answers.

    def _client(self, number: int) -> Iterator[Client]:
        client = self.clients.get(number)
        if client is not None and client.member_id:
            yield client

    def _join(self, client: Client) -> None:
        code = client.join()
        if code is not None:
            self._obey(client, code)

    def _sync(self, client: Client) -> None:
        assignments = {}
        if client.joined is not None and client.leads:
            assignments = {m.member_id: m.member_id.encode() for m in client.joined.members}
        code = client.sync(assignments)
        if code is not None:
            self._obey(client, code)

    def _obey(self, client: Client, code: ErrorCode) -> None:
        """Errors that a client must act on before it asks for anything else."""
        if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID):
            client.member_id, client.generation, client.joined = "", -1, None

    # What must hold at any time.

    def _group(self) -> Group:
        return self.world.group()

    @invariant()
    def the_group_makes_sense(self) -> None:
        group = self.world.groups.describe("g") if hasattr(self, "world") else None
        if group is None:
            return
        members = group.members
        assert set(members.static.values()) <= set(members.by_id)
        assert members.to_sync <= set(members.by_id)
        assert not set(members.pending) & set(members.by_id)
        assert (members.leader_id in members.by_id) == bool(members.by_id)
        self._state_fits(group)
        self._nobody_is_forgotten(group)
        self._one_generation(group)
        assert self.world.committed() == self.committed

    def _state_fits(self, group: Group) -> None:
        joining = [m for m in group.members.by_id.values() if m.joining is not None]
        syncing = [m for m in group.members.by_id.values() if m.syncing is not None]
        if group.state is GroupState.EMPTY:
            assert not group.members.by_id
        elif group.state is GroupState.PREPARING_REBALANCE:
            assert group.join_timer is not None and group.join_timer.active
            assert not syncing
        elif group.state is GroupState.COMPLETING_REBALANCE:
            assert not joining
            assert group.sync_timer is not None and group.sync_timer.active
            assert group.members.leader_id in group.members.to_sync or syncing
        else:
            assert not joining and not syncing
            assert bool(group.members.to_sync) == (group.sync_timer is not None)

    def _nobody_is_forgotten(self, group: Group) -> None:
        """Every member has a timer that removes it, or a parked request under a timer."""
        for member in group.members.by_id.values():
            has_session = member.session is not None and member.session.active
            assert has_session or (member.is_waiting and not member.is_new)

    def _one_generation(self, group: Group) -> None:
        """Whoever waits for nothing is in the group's generation or will be told so."""
        if not self.generations or group.generation != self.generations[-1]:
            assert not self.generations or group.generation > self.generations[-1]
            self.generations.append(group.generation)
        if group.state is not GroupState.STABLE:
            return
        for client in self.clients.values():
            if client.member_id in group.members and client.generation == group.generation:
                if client.synced is not None and client.synced.error_code == 0:
                    assert client.synced.assignment in (client.member_id.encode(), b"") or (
                        client.instance_id is not None
                    )

    # What must come of it.

    def _everybody_behaves(self) -> None:
        """From here on all that are left do as clients do: then the group becomes stable."""
        for _ in range(6 * REBALANCE_MS // STEP_MS):
            for client in self.clients.values():
                self._behave(client)
            self.world.clock.advance(STEP_MS)
            if self._is_done():
                return
        states = [(c.member_id, c.generation, c.answers[-3:]) for c in self.clients.values()]
        raise AssertionError(f"never stable: {self._group().state} {states}")

    def _behave(self, client: Client) -> None:
        waits = client.joined is None and client.member_id in self._parked()
        if waits:
            return
        code = client.heartbeat() if client.generation >= 0 else ErrorCode.UNKNOWN_MEMBER_ID
        if code is not ErrorCode.NONE:
            self._obey(client, code)
            self._join(client)
        elif client.synced is None or client.synced.error_code:
            if client.member_id not in self._parked():
                self._sync(client)

    def _parked(self) -> set[str]:
        group = self.world.groups.describe("g")
        if group is None:
            return set()
        return {m.member_id for m in group.members.by_id.values() if m.is_waiting}

    def _is_done(self) -> bool:
        group = self.world.groups.describe("g")
        if not self.clients:
            return group is None or group.state is GroupState.EMPTY
        return (
            group is not None
            and group.state is GroupState.STABLE
            and set(group.members.by_id) == {c.member_id for c in self.clients.values()}
            and all(c.generation == group.generation for c in self.clients.values())
            and all(c.synced is not None for c in self.clients.values())
        )


# A hundred random histories now and then miss a transition; five hundred do not.
MOST_ROUNDS = 5


def test_groups_make_sense_whatever_members_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: set[tuple[GroupState, GroupEvent]] = set()
    move = Group.move

    def noted(group: Group, event: GroupEvent, now_ms: int) -> None:
        seen.add((group.state, event))
        move(group, event, now_ms)

    monkeypatch.setattr(Group, "move", noted)
    # Removal in every state is not left to chance: test_loading.
    for _ in range(MOST_ROUNDS):
        run_state_machine_as_test(
            lambda: Groups(tmp_path),
            settings=settings(
                max_examples=100,
                stateful_step_count=40,
                deadline=None,
                suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
            ),
        )
        unseen = {event for _, event in set(TRANSITIONS) - seen} - {GroupEvent.REMOVED}
        if not unseen:
            break
    assert not unseen
