"""SyncGroup over the wire; the case file's G4."""

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from tests.server.group_requests import Member
from tests.server.names import unique


@pytest.mark.parametrize("version", range(6))
def test_every_version_syncs(broker: Broker, version: int) -> None:
    with Member(broker, unique("all")) as member:
        member.join()
        response = member.sync(version, **{member.member_id: b"mine"})
        assert (response.error_code, response.assignment) == (0, b"mine")
        if version >= 5:
            assert (response.protocol_type, response.protocol_name) == ("consumer", "range")


@pytest.mark.parametrize(
    ("kind", "name"),
    [("consumer", "nope"), ("connect", "range"), (None, None), ("consumer", None), (None, "range")],
)
def test_both_names_are_mandatory_and_must_match(
    broker: Broker, kind: str | None, name: str | None
) -> None:
    with Member(broker, unique("g4")) as member:
        member.join()
        request = member.sync_request()
        request.protocol_type, request.protocol_name = kind, name
        response = member.call(request, 5)
        assert response.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        assert response.assignment == b""
        right = member.sync()
        assert (right.error_code, right.assignment) == (0, b""), "the leader left itself out"


def test_a_follower_waits_for_the_leader(broker: Broker) -> None:
    group = unique("wait")
    with Member(broker, group) as leader, Member(broker, group) as follower:
        leader.settle()
        follower.ask_in(leader)
        leader.join()
        follower.take(follower.receive())
        follower.send(follower.sync_request(), 5)
        leader.sync(**{leader.member_id: b"L", follower.member_id: b"F"})
        assert follower.receive().assignment == b"F"
