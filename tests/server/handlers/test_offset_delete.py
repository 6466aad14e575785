"""OffsetDelete over the wire."""

from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tests.server.admin import create, new_topic
from tests.server.group_requests import Member, commit, find_coordinator, offsets
from tests.server.names import unique
from tests.server.raw_client import RawClient


def _delete(client: RawClient, group: str, **topics: int) -> tuple[int, list[list[int]]]:
    request = OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequestTopic(
                name=name,
                partitions=[OffsetDeleteRequestPartition(partition_index=i) for i in range(count)],
            )
            for name, count in topics.items()
        ],
    )
    response = client.call(request, 0)
    return response.error_code, [[p.error_code for p in t.partitions] for t in response.topics]


def test_offsets_of_a_group_without_members(client: RawClient) -> None:
    group, name = unique("empty"), unique("t")
    create(client, new_topic(name))
    unknown = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    commit(client, group, name, 5)
    assert _delete(client, group, **{name: 2, "nowhere": 1}) == (0, [[0, unknown], [unknown]])
    assert offsets(client, group, name, 0)[name, 0][0] == -1


def test_a_group_that_is_not_there(client: RawClient) -> None:
    name = unique("t")
    create(client, new_topic(name))
    find_coordinator(client, "any")
    assert _delete(client, unique("none"), **{name: 1}) == (ErrorCode.GROUP_ID_NOT_FOUND, [])
    assert _delete(client, "", **{name: 1})[0] == ErrorCode.INVALID_GROUP_ID


def test_topics_that_a_member_reads(broker: Broker, client: RawClient) -> None:
    create(client, new_topic("orders"), new_topic("audit"))
    with Member(broker, unique("busy")) as member:
        member.settle()
        who = {
            "generation_id_or_member_epoch": member.generation,
            "member_id": member.member_id,
        }
        for name in ("orders", "audit"):
            commit(client, member.group, name, 5, **who)
        answer = _delete(client, member.group, orders=1, audit=1)
        assert answer == (0, [[ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC], [0]])
