"""ListGroups over the wire: states, types, filters."""

from collections.abc import Iterator

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.wire.messages.list_groups import ListGroupsRequest
from tests.server.admin import create, new_topic
from tests.server.group_requests import Member, commit
from tests.server.raw_client import RawClient


@pytest.fixture(scope="module")
def busy(broker: Broker) -> Iterator[RawClient]:
    """A broker with one stable group, and one that is only offsets."""
    with Member(broker, "stable") as member:
        create(member, new_topic("orders"))
        commit(member, "simple", "orders", 1)
        member.settle()
        yield member


@pytest.mark.parametrize("version", range(6))
def test_every_group_is_listed(busy: RawClient, version: int) -> None:
    response = busy.call(ListGroupsRequest(), version)
    assert response.error_code == 0
    groups = {group.group_id: group for group in response.groups}
    assert {name: group.protocol_type for name, group in groups.items()} == {
        "simple": "",
        "stable": "consumer",
    }
    if version >= 4:
        assert (groups["simple"].group_state, groups["stable"].group_state) == ("Empty", "Stable")
    if version >= 5:
        assert {group.group_type for group in groups.values()} == {"classic"}


@pytest.mark.parametrize(
    ("states", "types", "expected"),
    [
        (["Stable"], [], {"stable"}),
        (["STABLE", "empty"], [], {"stable", "simple"}),
        (["Dead"], [], set()),
        ([], ["Classic"], {"stable", "simple"}),
        ([], ["consumer"], set()),
        (["Stable"], ["classic", "share"], {"stable"}),
    ],
)
def test_filters(busy: RawClient, states: list[str], types: list[str], expected: set[str]) -> None:
    request = ListGroupsRequest(states_filter=states, types_filter=types)
    assert {group.group_id for group in busy.call(request, 5).groups} == expected
