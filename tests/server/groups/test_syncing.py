"""SyncGroup, Heartbeat, LeaveGroup, and the timers behind them."""

import pytest

from barnabas.server.groups.group import GroupState
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.sync_group import SyncGroupRequest

from .world import Client, World, stable


def test_followers_wait_for_the_leaders_assignment(world: World) -> None:
    leader, follower = Client(world), Client(world)
    leader.join()
    follower.join()
    world.clock.advance(0)
    assert follower.sync() is None
    assert world.group().state is GroupState.COMPLETING_REBALANCE
    assert leader.sync({leader.member_id: b"L", follower.member_id: b"F"}) is ErrorCode.NONE
    assert world.group().state is GroupState.STABLE
    assert leader.synced is not None and follower.synced is not None
    assert (leader.synced.assignment, follower.synced.assignment) == (b"L", b"F")
    assert (leader.synced.protocol_type, leader.synced.protocol_name) == ("consumer", "range")
    assert follower.sync() is ErrorCode.NONE, "once more, as after a lost answer"
    assert follower.synced.assignment == b"F"


def test_a_member_that_the_leader_left_out_gets_an_empty_assignment(world: World) -> None:
    leader, follower = Client(world), Client(world)
    leader.join()
    follower.join()
    world.clock.advance(0)
    follower.sync()
    assert leader.sync({}) is ErrorCode.NONE
    assert follower.synced is not None and follower.synced.assignment == b""


def test_sync_is_refused_outside_its_generation(world: World) -> None:
    client = Client(world)
    assert client.sync() is ErrorCode.UNKNOWN_MEMBER_ID
    stable(world, client)
    client.generation += 1
    assert client.sync() is ErrorCode.ILLEGAL_GENERATION
    client.generation -= 1
    Client(world).join()
    assert client.sync() is ErrorCode.REBALANCE_IN_PROGRESS
    client.member_id = "made-up"
    assert client.sync() is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("kind", "name"), [("connect", "range"), ("consumer", "other"), ("", ""), (None, "other")]
)
def test_a_sync_about_another_protocol_is_refused(
    world: World, kind: str | None, name: str
) -> None:
    client = Client(world)
    client.join()
    world.clock.advance(0)
    request = SyncGroupRequest(
        group_id="g", generation_id=1, member_id=client.member_id, protocol_type=kind,
        protocol_name=name,
    )  # fmt: skip
    with pytest.raises(Exception, match="INCONSISTENT_GROUP_PROTOCOL"):
        world.groups.sync(request)


def test_a_rebalance_sends_members_that_wait_for_an_assignment_back(world: World) -> None:
    leader, follower = Client(world), Client(world)
    leader.join()
    follower.join()
    world.clock.advance(0)
    follower.sync()
    Client(world).join()
    assert follower.answers[-1] == "sync REBALANCE_IN_PROGRESS"
    assert world.group().state is GroupState.PREPARING_REBALANCE


def test_a_second_sync_of_a_member_answers_the_first(world: World) -> None:
    leader, follower = Client(world), Client(world)
    leader.join()
    follower.join()
    world.clock.advance(0)
    follower.sync()
    follower.sync()
    assert follower.answers[-1] == "sync REBALANCE_IN_PROGRESS"
    leader.sync({follower.member_id: b"F"})
    assert follower.answers[-1] == "sync NONE"


def test_heartbeats_need_the_member_and_its_generation(world: World) -> None:
    client = Client(world)
    assert client.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    stable(world, client)
    assert client.heartbeat() is ErrorCode.NONE
    client.generation = 7
    assert client.heartbeat() is ErrorCode.ILLEGAL_GENERATION
    client.instance_id = "nobody"
    assert client.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_silent_member_is_removed_and_the_others_rebalance(world: World) -> None:
    silent, alive = Client(world), Client(world)
    stable(world, silent, alive)
    for _ in range(3):
        world.clock.advance(4_000)
        alive.heartbeat()
    assert silent.member_id not in world.group().members
    assert alive.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert alive.join() is ErrorCode.NONE
    assert alive.leads


def test_commits_are_signs_of_life(world: World) -> None:
    client = Client(world)
    stable(world, client)
    for _ in range(5):
        world.clock.advance(9_000)
        assert world.commit(1, client.committer) is ErrorCode.NONE
    world.clock.advance(10_000)
    assert world.group().state is GroupState.EMPTY


def test_waiting_is_a_sign_of_life(world: World) -> None:
    """A member whose join is parked sends no heartbeats; its session must not end."""
    first, second = Client(world, rebalance_ms=300_000), Client(world, session_ms=200_000)
    stable(world, first, second)
    first.join()
    world.clock.advance(100_000)
    assert first.member_id in world.group().members
    second.join()
    assert first.joined is not None and first.generation == 2
    assert first.sync({}) is ErrorCode.NONE


def test_a_new_member_waits_five_minutes_and_no_longer(world: World) -> None:
    """Nobody can tell a new member that went away from one that waits."""
    first = Client(world, rebalance_ms=1_800_000, session_ms=1_000_000)
    stable(world, first)
    second = Client(world)
    second.join()
    world.clock.advance(5 * 60_000 - 1)
    assert second.joined is None
    world.clock.advance(1)
    assert second.answers[-1] == "join UNKNOWN_MEMBER_ID"
    assert second.joined is not None and second.joined.member_id == ""


def test_who_does_not_sync_in_time_is_out(world: World) -> None:
    leader, follower = Client(world, session_ms=200_000), Client(world, session_ms=200_000)
    leader.join()
    follower.join()
    world.clock.advance(0)
    follower.sync()
    world.clock.advance(59_999)
    assert len(world.group().members) == 2
    world.clock.advance(1)
    assert follower.answers[-1] == "sync REBALANCE_IN_PROGRESS"
    assert list(world.group().members.by_id) == [follower.member_id]
    assert follower.join() is ErrorCode.NONE
    assert follower.leads


def test_who_does_not_sync_is_out_even_of_a_stable_group(world: World) -> None:
    leader, follower = Client(world, session_ms=200_000), Client(world, session_ms=200_000)
    leader.join()
    follower.join()
    world.clock.advance(0)
    leader.sync({})
    assert world.group().state is GroupState.STABLE
    world.clock.advance(60_000)
    assert list(world.group().members.by_id) == [leader.member_id]
    assert world.group().state is GroupState.PREPARING_REBALANCE


def test_who_syncs_in_time_stays(world: World) -> None:
    first, second = Client(world, session_ms=200_000), Client(world, session_ms=200_000)
    stable(world, first, second)
    world.clock.advance(120_000)
    assert world.group().state is GroupState.STABLE


def test_the_last_to_leave_leaves_the_group_empty(world: World) -> None:
    first, second = Client(world), Client(world)
    stable(world, first, second)
    assert first.leave() is ErrorCode.NONE
    assert first.leave() is ErrorCode.UNKNOWN_MEMBER_ID
    assert second.leave() is ErrorCode.NONE
    group = world.group()
    assert group.state is GroupState.EMPTY
    assert (group.generation, group.protocol_type, group.protocol_name) == (2, "consumer", None)
    assert world.clock.timer_count() == 1, "only the check for expired offsets is left"


def test_a_member_that_leaves_while_it_joins_is_answered(world: World) -> None:
    first, second = Client(world), Client(world)
    stable(world, first)
    second.join()
    first.join(follow=False)
    third = Client(world)
    third.join()
    world.groups.leave("g", third.member_id, None)
    assert third.answers[-1] == "join UNKNOWN_MEMBER_ID"


def test_an_administrator_removes_a_static_member_by_its_instance(world: World) -> None:
    client = Client(world, instance_id="i")
    stable(world, client)
    world.groups.leave("g", "", "i")
    assert world.group().state is GroupState.EMPTY
    with pytest.raises(Exception, match="UNKNOWN_MEMBER_ID"):
        world.groups.leave("g", "", "i")
    with pytest.raises(Exception, match="UNKNOWN_MEMBER_ID"):
        world.groups.leave("g", "", None)


def test_a_pending_member_may_leave(world: World) -> None:
    stayer, pending = Client(world), Client(world)
    stable(world, stayer)
    pending.join(follow=False)
    Client(world).join()
    stayer.join()
    assert stayer.joined is None
    assert pending.leave() is ErrorCode.NONE
    assert stayer.generation == 2


def test_a_session_goes_on_after_a_long_wait_for_the_assignment(world: World) -> None:
    leader, follower = Client(world, session_ms=120_000), Client(world)
    leader.join()
    follower.join()
    world.clock.advance(0)
    follower.sync()
    world.clock.advance(20_000)
    leader.sync({})
    assert follower.synced is not None and follower.synced.error_code == 0
    world.clock.advance(9_999)
    assert follower.member_id in world.group().members
    world.clock.advance(1)
    assert follower.member_id not in world.group().members
