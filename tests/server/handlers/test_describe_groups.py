"""DescribeGroups over the wire."""

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from tests.server.group_requests import SUBSCRIPTION, Member, find_coordinator
from tests.server.names import unique
from tests.server.raw_client import RawClient

NOT_ASKED_FOR = -(2**31)


@pytest.mark.parametrize("version", range(7))
def test_a_stable_group_is_told_in_full(broker: Broker, version: int) -> None:
    with Member(broker, unique("stable"), "i1") as member:
        member.settle()
        request = DescribeGroupsRequest(groups=[member.group])
        (group,) = member.call(request, version).groups
        assert (group.error_code, group.group_state) == (0, "Stable")
        assert (group.protocol_type, group.protocol_data) == ("consumer", "range")
        assert group.authorized_operations == NOT_ASKED_FOR
        (told,) = group.members
        assert (told.member_id, told.client_id) == (member.member_id, "probe")
        assert told.client_host == "/127.0.0.1"
        assert told.group_instance_id == ("i1" if version >= 4 else None)
        assert (told.member_metadata, told.member_assignment) == (SUBSCRIPTION, b"mine")


def test_a_group_on_its_way_keeps_its_members_secrets(broker: Broker) -> None:
    with Member(broker, unique("joining")) as member:
        member.join()
        (group,) = member.call(DescribeGroupsRequest(groups=[member.group]), 5).groups
        assert (group.group_state, group.protocol_data) == ("CompletingRebalance", "")
        assert (group.members[0].member_metadata, group.members[0].member_assignment) == (b"", b"")
        member.leave()
        (group,) = member.call(DescribeGroupsRequest(groups=[member.group]), 5).groups
        assert (group.group_state, group.protocol_type, group.members) == ("Empty", "consumer", [])


@pytest.mark.parametrize("version", range(7))
def test_a_group_nobody_knows(client: RawClient, version: int) -> None:
    name = unique("none")
    find_coordinator(client, name)
    (group,) = client.call(DescribeGroupsRequest(groups=[name]), version).groups
    assert group.group_state == "Dead"
    if version >= 6:
        assert group.error_code == ErrorCode.GROUP_ID_NOT_FOUND
        assert group.error_message == f"Group {name} not found."
    else:
        assert group.error_code == 0


def test_operations_are_told_when_asked_for(broker: Broker) -> None:
    with Member(broker, unique("operations")) as member:
        member.settle()
        request = DescribeGroupsRequest(groups=[member.group], include_authorized_operations=True)
        (group,) = member.call(request, 3).groups
        read, delete, describe = 3, 6, 8
        assert group.authorized_operations == sum(1 << bit for bit in (read, delete, describe))
