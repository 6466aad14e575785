"""LeaveGroup over the wire: one member, several, by instance."""

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from tests.server.group_requests import Member
from tests.server.names import unique
from tests.server.raw_client import RawClient


@pytest.mark.parametrize("version", range(3))
def test_one_member_leaves(broker: Broker, version: int) -> None:
    with Member(broker, unique("one")) as member:
        member.settle()
        request = LeaveGroupRequest(group_id=member.group, member_id="nobody")
        assert member.call(request, version).error_code == ErrorCode.UNKNOWN_MEMBER_ID
        request.member_id = member.member_id
        assert member.call(request, version).error_code == 0
        assert member.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", range(3, 6))
def test_each_of_several_has_its_error(broker: Broker, version: int) -> None:
    group = unique("several")
    with Member(broker, group, "i1") as member:
        member.settle()
        request = LeaveGroupRequest(
            group_id=group,
            members=[
                MemberIdentity(member_id="nobody"),
                MemberIdentity(member_id="other", group_instance_id="i1"),
                MemberIdentity(member_id="", group_instance_id="i1"),
                MemberIdentity(member_id="", group_instance_id="i1"),
            ],
        )
        response = member.call(request, version)
        assert response.error_code == 0
        assert [each.error_code for each in response.members] == [
            ErrorCode.UNKNOWN_MEMBER_ID,
            ErrorCode.FENCED_INSTANCE_ID,
            ErrorCode.NONE,
            ErrorCode.UNKNOWN_MEMBER_ID,
        ]
        assert [each.group_instance_id for each in response.members] == [None, "i1", "i1", "i1"]


def test_a_group_without_a_name_is_refused_as_a_whole(client: RawClient) -> None:
    request = LeaveGroupRequest(group_id="", members=[MemberIdentity(member_id="m")])
    response = client.call(request, 5)
    assert (response.error_code, response.members) == (ErrorCode.INVALID_GROUP_ID, [])
