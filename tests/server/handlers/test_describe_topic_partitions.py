"""DescribeTopicPartitions: pages and cursors, as Apache Kafka 4.4 turns them."""

from collections.abc import Iterator, Sequence

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.describe_topic_partitions import (
    CursorRequest,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from tests.server.raw_client import RawClient

Page = list[tuple[str | None, int, list[int]]]
Cursor = tuple[str, int] | None


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as made:
        made.create_topic("a", 3)
        made.create_topic("b", 4)
        yield made


def page(
    client: RawClient, names: Sequence[str], limit: int = 2000, cursor: Cursor = None
) -> tuple[Page, Cursor]:
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=cursor and CursorRequest(topic_name=cursor[0], partition_index=cursor[1]),
    )
    answer = client.call(request, 0)
    following = answer.next_cursor
    return (
        [(t.name, t.error_code, [p.partition_index for p in t.partitions]) for t in answer.topics],
        following and (following.topic_name, following.partition_index),
    )


@pytest.mark.parametrize(
    ("names", "limit", "cursor", "topics", "following"),
    [
        (["b", "a"], 2000, None, [("a", 0, [0, 1, 2]), ("b", 0, [0, 1, 2, 3])], None),
        ([], 2000, None, [("a", 0, [0, 1, 2]), ("b", 0, [0, 1, 2, 3])], None),
        (["b", "a"], 2, None, [("a", 0, [0, 1])], ("a", 2)),
        (["b", "a"], 3, None, [("a", 0, [0, 1, 2])], ("b", 0)),
        (["b", "a"], 0, None, [("a", 0, [0])], ("a", 1)),
        (["b", "a"], 2, ("a", 2), [("a", 0, [2]), ("b", 0, [0])], ("b", 1)),
        ([], 4, ("a", 1), [("a", 0, [1, 2]), ("b", 0, [0, 1])], ("b", 2)),
        ([], 4, ("aa", 1), [("b", 0, [0, 1, 2, 3])], None),
        (["a", "b"], 4, ("a", 99), [("a", 0, []), ("b", 0, [0, 1, 2, 3])], None),
        (["a", "a"], 2, None, [("a", 0, [0, 1])], ("a", 2)),
        (["nope", "a", "not good"], 9, None,
         [("a", 0, [0, 1, 2]), ("nope", 3, []), ("not good", 17, [])], None),
        (["a", "b"], 4, ("0", 1), [("a", 42, []), ("b", 42, [])], None),
        (["a"], 4, ("a", -1), [("a", 42, [])], None),
    ],
)  # fmt: skip
def test_pages(
    client: RawClient,
    names: list[str],
    limit: int,
    cursor: Cursor,
    topics: Page,
    following: Cursor,
) -> None:
    assert page(client, names, limit, cursor) == (topics, following)


def test_going_on_from_the_cursor_sees_everything_once(client: RawClient) -> None:
    seen: list[tuple[str | None, int]] = []
    topics, cursor = page(client, [], 2)
    while True:
        seen += [(name, index) for name, _, indexes in topics for index in indexes]
        if cursor is None:
            break
        topics, cursor = page(client, [], 2, cursor)
    assert seen == [("a", n) for n in range(3)] + [("b", n) for n in range(4)]


def test_the_brokers_own_limit() -> None:
    with Broker({"max.request.partition.size.limit": 2}) as broker:
        broker.create_topic("t", 5)
        with RawClient(broker.port) as client:
            assert page(client, ["t"]) == ([("t", 0, [0, 1])], ("t", 2))


def test_a_partition(client: RawClient) -> None:
    answer = client.call(DescribeTopicPartitionsRequest(topics=[TopicRequest(name="a")]), 0)
    (topic,) = answer.topics
    assert (topic.is_internal, topic.topic_authorized_operations) == (False, 3576)
    first = topic.partitions[0]
    assert (first.error_code, first.leader_id, first.leader_epoch) == (ErrorCode.NONE, 0, 0)
    assert first.replica_nodes == first.isr_nodes == [0]
    assert (first.eligible_leader_replicas, first.last_known_elr, first.offline_replicas) == (
        [], [], [],
    )  # fmt: skip
