"""Heartbeat over the wire."""

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from tests.server.group_requests import Member
from tests.server.names import unique


@pytest.mark.parametrize("version", range(5))
def test_every_version_beats(broker: Broker, version: int) -> None:
    with Member(broker, unique("all")) as member:
        member.settle()
        assert member.heartbeat(version) == 0
        member.generation += 1
        assert member.heartbeat(version) == ErrorCode.ILLEGAL_GENERATION
        member.member_id = "made-up"
        assert member.heartbeat(version) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_needs_a_name(broker: Broker) -> None:
    with Member(broker, "") as member:
        assert member.heartbeat() == ErrorCode.INVALID_GROUP_ID
