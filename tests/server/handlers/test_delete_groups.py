"""DeleteGroups over the wire."""

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest
from tests.server.admin import create, new_topic
from tests.server.group_requests import Member, commit, offsets
from tests.server.names import unique


@pytest.mark.parametrize("version", range(4))
def test_groups_are_deleted_one_by_one(broker: Broker, version: int) -> None:
    empty, topic = unique("empty"), unique("t")
    with Member(broker, unique("busy")) as member:
        create(member, new_topic(topic))
        member.settle()
        commit(member, empty, topic, 5)
        request = DeleteGroupsRequest(groups_names=[empty, member.group, "none", empty])
        results = member.call(request, version).results
        assert [(each.group_id, each.error_code) for each in results] == [
            (empty, 0),
            (member.group, ErrorCode.NON_EMPTY_GROUP),
            ("none", ErrorCode.GROUP_ID_NOT_FOUND),
        ]
        assert offsets(member, empty, topic, 0)[topic, 0][0] == -1
        assert member.heartbeat() == 0
