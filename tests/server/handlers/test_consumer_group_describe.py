"""ConsumerGroupDescribe: a classic group is none of its groups."""

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from tests.server.group_requests import Member
from tests.server.names import unique


@pytest.mark.parametrize("version", range(2))
def test_classic_and_unknown_groups(broker: Broker, version: int) -> None:
    with Member(broker, unique("classic")) as member:
        member.settle()
        request = ConsumerGroupDescribeRequest(group_ids=[member.group, "none"])
        classic, unknown = member.call(request, version).groups
        assert classic.error_code == unknown.error_code == ErrorCode.GROUP_ID_NOT_FOUND
        assert classic.error_message == f"Group {member.group} is not a consumer group."
        assert unknown.error_message == "Group none not found."
