"""JoinGroup: ids, limits, generations, static members."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.server.groups.group import GroupState
from barnabas.server.groups.records import decode_group
from barnabas.wire.error_codes import ErrorCode

from .world import SESSION_MS, Client, World, stable

OTHER_PROTOCOL = (("roundrobin", b""),)
BOTH_PROTOCOLS = (("roundrobin", b""), ("range", b""))


def test_a_new_member_is_sent_back_with_an_id_that_is_then_its_own(world: World) -> None:
    client = Client(world)
    client.join()
    assert client.answers == ["join MEMBER_ID_REQUIRED"]
    assert client.member_id.startswith("client-")
    world.clock.advance(0)
    assert client.answers == ["join MEMBER_ID_REQUIRED", "join NONE"]
    assert client.generation == 1
    assert client.leads


def test_old_clients_and_static_members_are_not_sent_back(world: World) -> None:
    for client in (Client(world, "old", version=3), Client(world, "static", instance_id="i")):
        client.join()
        world.clock.advance(0)
        assert client.answers == ["join NONE"]


def test_an_id_that_is_not_used_in_time_is_forgotten(world: World) -> None:
    ghost, first = Client(world), Client(world, version=3)
    ghost.join(follow=False)
    assert first.join() is None
    world.clock.advance(0)
    assert first.generation == 1, "the first rebalance of a group waits for nobody"
    first.sync({})
    second = Client(world)
    second.join()
    first.join()
    assert second.joined is None, "any other waits for the one that has the id"
    world.clock.advance(9_999)
    assert second.joined is None
    world.clock.advance(1)
    assert second.generation == 2
    assert ghost.join() is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_invented_id_is_refused(world: World) -> None:
    assert Client(world, member_id="made-up").join() is ErrorCode.UNKNOWN_MEMBER_ID
    stable(world, Client(world))
    assert Client(world, member_id="made-up").join() is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("session_ms", [5_999, 1_800_001])
def test_session_timeouts_have_limits(world: World, session_ms: int) -> None:
    client = Client(world, session_ms=session_ms)
    assert client.join() is ErrorCode.INVALID_SESSION_TIMEOUT


def test_members_must_have_a_protocol_in_common(world: World) -> None:
    assert Client(world, "none", protocols=()).join() is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert Client(world, "no-type", protocol_type="").join() is (
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    )
    first = Client(world)
    stable(world, first)
    assert Client(world, protocols=OTHER_PROTOCOL).join() is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert Client(world, protocol_type="connect").join() is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    second = Client(world, protocols=BOTH_PROTOCOLS)
    assert second.join() is None
    first.join()
    assert second.joined is not None and second.joined.protocol_name == "range"
    assert second.joined.protocol_type == "consumer"


def test_a_group_needs_a_name(world: World) -> None:
    assert Client(world, "").join() is ErrorCode.INVALID_GROUP_ID


def test_a_second_member_has_the_first_one_join_again(world: World) -> None:
    first, second = Client(world), Client(world)
    stable(world, first)
    assert first.heartbeat() is ErrorCode.NONE
    assert second.join() is None
    assert first.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert first.join() is ErrorCode.NONE
    assert (first.generation, second.generation) == (2, 2)
    assert first.joined is not None and second.joined is not None
    assert first.leads and second.joined.leader == first.member_id
    assert [m.member_id for m in first.joined.members] == [first.member_id, second.member_id]
    assert second.joined.members == []


def test_who_missed_its_answer_gets_it_again(world: World) -> None:
    first, second = Client(world), Client(world)
    stable(world, first, second)
    generation = world.group().generation
    assert second.join() is ErrorCode.NONE
    assert second.generation == generation
    assert world.group().state is GroupState.STABLE
    # The leader joins again to have everything assigned anew.
    assert first.join() is None
    assert world.group().state is GroupState.PREPARING_REBALANCE
    assert second.join() is ErrorCode.NONE
    for client in (first, second):
        assert client.join() is ErrorCode.NONE, "in CompletingRebalance everybody may ask again"
    assert world.group().generation == generation + 1


def test_a_join_repeated_on_another_connection_answers_the_first(world: World) -> None:
    first, second = Client(world), Client(world)
    stable(world, first)
    second.join()
    second.answers.clear()
    second.join()
    assert second.answers == ["join REBALANCE_IN_PROGRESS"]
    first.join()
    assert second.answers == ["join REBALANCE_IN_PROGRESS", "join NONE"]


# The first rebalance.


@pytest.fixture
def patient(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path, {"group.initial.rebalance.delay.ms": 3_000, "group.max.size": 2})
    yield made
    made.close()


def test_an_empty_group_waits_for_more_members(patient: World) -> None:
    first, second = Client(patient), Client(patient)
    first.join()
    patient.clock.advance(2_000)
    second.join()
    patient.clock.advance(1_000)
    assert first.joined is None, "put off once more: somebody came"
    patient.clock.advance(2_999)
    assert first.joined is None
    patient.clock.advance(1)
    assert (first.generation, second.generation) == (1, 1)


def test_waiting_for_more_ends_with_the_rebalance_timeout(patient: World) -> None:
    first = Client(patient, rebalance_ms=4_000)
    first.join()
    patient.clock.advance(2_000)
    Client(patient, rebalance_ms=4_000).join()
    patient.clock.advance(1_999)
    assert first.joined is None
    patient.clock.advance(1)
    assert first.generation == 1


def test_a_group_has_a_greatest_size(patient: World) -> None:
    first, second, third = (Client(patient) for _ in range(3))
    first.join()
    second.join()
    assert third.join() is ErrorCode.GROUP_MAX_SIZE_REACHED
    patient.clock.advance("10 s")
    for client in (first, second):
        client.sync({})
    assert third.join() is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert second.join() is ErrorCode.NONE, "members may always join again"
    second.leave()
    assert third.join() is None


# Static members.


def test_a_static_member_takes_its_place_over_unnoticed(world: World) -> None:
    old, other = Client(world, instance_id="i"), Client(world)
    stable(world, old, other)
    world.clock.advance(SESSION_MS - 1)
    other.heartbeat()
    generation, assignment = world.group().generation, old.synced and old.synced.assignment
    new = Client(world, instance_id="i")
    assert new.join() is ErrorCode.NONE
    assert new.member_id not in ("", old.member_id)
    assert new.generation == generation
    assert new.sync() is ErrorCode.NONE
    assert new.synced is not None and new.synced.assignment == assignment
    assert other.heartbeat() is ErrorCode.NONE
    assert old.heartbeat() is ErrorCode.FENCED_INSTANCE_ID
    assert old.join() is ErrorCode.FENCED_INSTANCE_ID
    assert old.sync() is ErrorCode.FENCED_INSTANCE_ID
    assert old.leave() is ErrorCode.FENCED_INSTANCE_ID
    assert world.commit(1, old.committer) is ErrorCode.FENCED_INSTANCE_ID
    world.clock.advance(SESSION_MS - 1)
    other.heartbeat()
    world.clock.advance(1)
    assert new.member_id not in world.group().members
    stored = world.records()[-1][1].value
    assert stored is not None
    assert new.member_id in [member.member_id for member in decode_group(stored).members]


@pytest.mark.parametrize(("version", "knows"), [(8, False), (9, True)])
def test_a_static_leader_that_restarts_must_not_assign(
    world: World, version: int, knows: bool
) -> None:
    old = Client(world, instance_id="i")
    stable(world, old)
    new = Client(world, instance_id="i", version=version)
    assert new.join() is ErrorCode.NONE
    assert new.joined is not None
    assert new.joined.skip_assignment is knows
    assert new.leads is knows
    assert len(new.joined.members) == int(knows)
    assert world.group().members.leader_id == new.member_id


def test_a_static_member_with_another_protocol_causes_a_rebalance(world: World) -> None:
    old = Client(world, instance_id="i")
    stable(world, old)
    new = Client(world, instance_id="i", protocols=OTHER_PROTOCOL)
    new.protocols = (("roundrobin", b""), ("range", b"changed"))
    assert new.join() is ErrorCode.NONE
    assert new.generation == 2


def test_a_static_member_waiting_in_a_rebalance_is_fenced_by_its_successor(world: World) -> None:
    first, old = Client(world), Client(world, instance_id="i")
    stable(world, first)
    assert old.join() is None
    new = Client(world, instance_id="i")
    assert new.join() is None
    assert old.answers == ["join FENCED_INSTANCE_ID"]
    first.join()
    assert new.generation == 2
    assert new.sync() is None
    newer = Client(world, instance_id="i")
    assert newer.join() is None, "during CompletingRebalance everybody starts over"
    assert new.answers[-1] == "sync FENCED_INSTANCE_ID"
    assert first.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS


def test_static_members_survive_a_rebalance_they_miss(world: World) -> None:
    static, dynamic = Client(world, instance_id="i", session_ms=120_000), Client(world)
    stable(world, static, dynamic)
    third = Client(world)
    third.join()
    dynamic.join()
    assert third.joined is None
    world.clock.advance(60_000)
    assert third.joined is not None
    assert static.member_id in world.group().members
    assert dynamic.member_id in world.group().members


def test_the_eldest_that_joined_leads_when_the_leader_is_missing(world: World) -> None:
    leader, second, third = Client(world, instance_id="i"), Client(world), Client(world)
    stable(world, leader, second)
    assert leader.leads
    third.join()
    second.join()
    world.clock.advance(60_000)
    assert second.joined is not None and second.joined.leader == second.member_id


def test_nobody_joins_again_until_sessions_end(world: World) -> None:
    static = Client(world, instance_id="i", session_ms=300_000, rebalance_ms=1_000)
    dynamic = Client(world, rebalance_ms=1_000)
    stable(world, static, dynamic)
    assert dynamic.leave() is ErrorCode.NONE
    assert world.group().state is GroupState.PREPARING_REBALANCE
    world.clock.advance("4 minutes")
    assert world.group().state is GroupState.PREPARING_REBALANCE
    world.clock.advance("1 minute")
    assert world.group().state is GroupState.EMPTY
