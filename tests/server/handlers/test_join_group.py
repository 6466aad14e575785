"""JoinGroup over the wire; the case file's G1 and G2, and what versions differ in."""

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.wire.connection import ClientConnection
from barnabas.wire.error_codes import ErrorCode
from tests.server.group_requests import Member
from tests.server.names import unique


@pytest.mark.parametrize("version", range(10))
def test_every_version_joins(broker: Broker, version: int) -> None:
    with Member(broker, unique("all")) as member:
        response = member.join(version)
        assert response.error_code == 0
        assert (response.generation_id, response.protocol_name) == (1, "range")
        assert response.leader == response.member_id == response.members[0].member_id
        assert response.protocol_type == ("consumer" if version >= 7 else None)


@pytest.mark.parametrize("version", range(10))
def test_every_version_refuses(broker: Broker, version: int) -> None:
    with Member(broker, unique("refused")) as member:
        member.member_id = "made-up"
        response = member.call(member.join_request(), version)
        assert response.error_code == ErrorCode.UNKNOWN_MEMBER_ID
        assert (response.generation_id, response.member_id) == (-1, "made-up")


@pytest.mark.parametrize("version", [3, 4, 9])
def test_only_from_version_4_a_member_is_sent_back_for_its_id(broker: Broker, version: int) -> None:
    with Member(broker, unique("g1")) as member:
        first = member.take(member.call(member.join_request(), version))
        if version < 4:
            assert first.error_code == 0
            return
        assert first.error_code == ErrorCode.MEMBER_ID_REQUIRED
        assert first.member_id and first.generation_id == -1
        second = member.call(member.join_request(), version)
        assert second.error_code == 0
        assert second.member_id == second.leader == first.member_id
        assert [each.member_id for each in second.members] == [first.member_id]


def test_static_membership_restart_keeps_the_assignment_and_fences(broker: Broker) -> None:
    group = unique("g2")
    with Member(broker, group, "i1") as old, Member(broker, group, "i1") as new:
        old.settle()
        response = new.join()
        assert (response.error_code, response.generation_id) == (0, old.generation)
        assert response.member_id != old.member_id
        assert response.skip_assignment
        assert new.sync().assignment == b"mine"
        assert new.heartbeat() == 0
        assert old.heartbeat() == ErrorCode.FENCED_INSTANCE_ID


def test_members_wait_for_each_other(broker: Broker) -> None:
    group = unique("two")
    with Member(broker, group) as first, Member(broker, group) as second:
        first.settle()
        second.ask_in(first)
        told = first.join()
        assert second.take(second.receive()).generation_id == told.generation_id == 2
        assert len(told.members) == 2


def test_a_member_whose_connection_breaks_is_still_expected(broker: Broker) -> None:
    """As in Kafka: it may come back on another connection until its session ends."""
    group = unique("broken")
    with Member(broker, group) as stays:
        stays.settle()
        with Member(broker, group, session_timeout_ms=6_000) as goes:
            goes.ask_in(stays)
        stays.send(stays.join_request(), 9)
        assert stays.take(stays.receive()).generation_id == 2
        stays.sync(**{stays.member_id: b""})
        broker.clock.advance("6 s")
        assert stays.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize("instance_id", [None, "\N{SNOWMAN}" * 10_922])
def test_a_member_id_is_never_too_long_to_be_told(broker: Broker, instance_id: str | None) -> None:
    with Member(broker, unique("long"), instance_id) as member:
        member.wire = ClientConnection("x" * 32_767)
        assert member.join().error_code == 0
        assert member.sync(**{member.member_id: b"all"}).error_code == 0
