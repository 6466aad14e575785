"""OffsetFetch over the wire; the case file's G6."""

import pytest

from barnabas.server.groups.commits import Committer, TransactionOf
from barnabas.server.groups.offsets import CommittedOffset
from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from barnabas.wire.uuids import Uuid
from tests.server.admin import create, new_topic
from tests.server.group_requests import commit, fetch_request, offsets
from tests.server.names import unique
from tests.server.raw_client import RawClient


@pytest.fixture
def topic(client: RawClient) -> str:
    name = unique("orders")
    create(client, new_topic(name, 3))
    return name


@pytest.mark.parametrize("version", range(1, 10))
def test_every_version_fetches(client: RawClient, topic: str, version: int) -> None:
    group = unique("all")
    commit(client, group, topic, 5, epoch=2, text="m")
    response = client.call(fetch_request(group, version, topic, 0, 1), version)
    found = response.groups[0].topics if version >= 8 else response.topics
    committed, none = found[0].partitions
    assert (committed.committed_offset, committed.metadata, committed.error_code) == (5, "m", 0)
    assert (none.committed_offset, none.metadata, none.error_code) == (-1, "", 0)
    assert committed.committed_leader_epoch == (2 if version >= 5 else -1)
    assert none.committed_leader_epoch == -1


def test_version_0_has_an_error_for_a_partition_without_an_offset(
    client: RawClient, topic: str
) -> None:
    assert offsets(client, unique("old"), topic, 0, version=0) == {
        (topic, 0): (-1, "", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    }


@pytest.mark.parametrize("version", range(2, 10))
def test_null_topics_ask_for_everything(client: RawClient, topic: str, version: int) -> None:
    group = unique("g6")
    assert offsets(client, group, None, version=version) == {}
    for partition in (0, 2):
        request = [0] * partition + [7 + partition]
        commit(client, group, topic, *request, text="m")
    assert offsets(client, group, None, version=version) == {
        (topic, 0): (0, "m", 0),
        (topic, 1): (0, "m", 0),
        (topic, 2): (9, "m", 0),
    }


def test_several_groups_in_one_request(client: RawClient, topic: str) -> None:
    first, second = unique("first"), unique("second")
    commit(client, first, topic, 1)
    groups = [OffsetFetchRequestGroup(group_id=group, topics=None) for group in (first, second)]
    one, two = client.call(OffsetFetchRequest(groups=groups), 8).groups
    assert (one.group_id, one.error_code, len(one.topics)) == (first, 0, 1)
    assert (two.group_id, two.error_code, two.topics) == (second, 0, [])


def test_version_10_names_topics_by_id(client: RawClient) -> None:
    group, name = unique("ids"), unique("identified")
    (made,) = create(client, new_topic(name))
    commit(client, group, name, 5)
    asked = [
        OffsetFetchRequestTopics(topic_id=topic_id, partition_indexes=[0])
        for topic_id in (made.topic_id, Uuid(b"?" * 16))
    ]
    groups = [OffsetFetchRequestGroup(group_id=group, topics=asked)]
    known, unknown = client.call(OffsetFetchRequest(groups=groups), 10).groups[0].topics
    assert (known.topic_id, known.partitions[0].committed_offset) == (made.topic_id, 5)
    assert unknown.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    groups = [OffsetFetchRequestGroup(group_id=group, topics=None)]
    (everything,) = client.call(OffsetFetchRequest(groups=groups), 10).groups[0].topics
    assert everything.topic_id == made.topic_id


def test_a_deleted_topic_has_no_offsets(broker: Broker, client: RawClient) -> None:
    group, gone, kept = unique("deleted"), unique("gone"), unique("kept")
    create(client, new_topic(gone), new_topic(kept))
    for name in (gone, kept):
        commit(client, group, name, 5)
    client.call(DeleteTopicsRequest(topic_names=[gone], timeout_ms=10_000), 5)
    assert offsets(client, group, None) == {(kept, 0): (5, "", 0)}
    create(client, new_topic(gone))
    assert offsets(client, group, gone, 0)[gone, 0][0] == -1


@pytest.mark.parametrize("version", [7, 9])
def test_an_offset_that_a_transaction_may_replace(
    broker: Broker, client: RawClient, topic: str, version: int
) -> None:
    group = unique("unstable")
    commit(client, group, topic, 5, 6)
    pending = {(topic, 0): CommittedOffset(7)}
    groups = broker.server.groups

    def commit_in_a_transaction() -> None:
        appender = groups.partition_for_offsets(group).log.appender
        guard = appender.start_transaction_verification(99, 0, -1, 0, can_bump_epoch=False)
        transaction = TransactionOf(99, 0, guard)
        groups.commit_in_transaction(group, Committer(), transaction, pending, lambda _: None)

    broker.call(commit_in_a_transaction)

    def fetch(stable: bool) -> list[tuple[int, int]]:
        request = fetch_request(group, version, topic, 0, 1, stable=stable)
        request.require_stable = stable
        response = client.call(request, version)
        found = response.groups[0].topics if version >= 8 else response.topics
        return [(p.committed_offset, p.error_code) for p in found[0].partitions]

    assert fetch(stable=True) == [(-1, ErrorCode.UNSTABLE_OFFSET_COMMIT), (6, 0)]
    assert fetch(stable=False) == [(5, 0), (6, 0)]
    broker.call(lambda: groups.end_transaction(99, range(4), True))
    assert fetch(stable=True) == [(7, 0), (6, 0)]


def test_a_group_that_is_not_coordinated_here(topic: str) -> None:
    """No leader for any partition: every version says so in its own place."""
    with Broker() as broker, RawClient(broker.port) as client:
        create(client, new_topic(topic))
        commit(client, "g", topic, 1)
        broker.call(broker.server.groups.leadership.resigned_all)
        code = int(ErrorCode.NOT_COORDINATOR)
        assert offsets(client, "g", topic, 0, version=1) == {(topic, 0): (-1, "", code)}
        old = client.call(fetch_request("g", 7, topic, 0), 7)
        assert (old.error_code, old.topics) == (code, [])
        new = client.call(fetch_request("g", 9, topic, 0), 9)
        assert (new.groups[0].error_code, new.groups[0].topics) == (code, [])
