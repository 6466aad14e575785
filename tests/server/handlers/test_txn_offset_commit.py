"""TxnOffsetCommit: offsets that count when their transaction commits."""

import pytest

from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.offset_fetch import OffsetFetchResponse
from barnabas.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from barnabas.wire.uuids import Uuid
from tests.server.admin import create, new_topic
from tests.server.group_requests import commit as commit_plainly
from tests.server.group_requests import fetch_request, offsets
from tests.server.names import unique
from tests.server.raw_client import RawClient
from tests.server.transaction_requests import V1, Id, Transactional, producer_of
from tests.server.waiting import wait_until

OLD, ABORTABLE, ADDING = 3, 4, 5


@pytest.fixture
def topic(client: RawClient) -> str:
    name = unique("orders")
    create(client, new_topic(name, 2))
    return name


def commit(
    client: RawClient,
    producer: Transactional,
    group: str,
    topic: str,
    *committed: int,
    version: int = ADDING,
    by: Id | None = None,
    generation: int = -1,
    member_id: str = "",
    text: str | None = "m",
) -> list[int]:
    """Commit an offset of each partition from 0 on; the error codes."""
    who = by or producer.id
    request = TxnOffsetCommitRequest(
        transactional_id=producer.name,
        group_id=group,
        producer_id=who.producer_id,
        producer_epoch=who.epoch,
        topics=[
            TxnOffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    TxnOffsetCommitRequestPartition(
                        partition_index=index, committed_offset=offset, committed_metadata=text
                    )
                    for index, offset in enumerate(committed)
                ],
            )
        ],
    )
    if version >= 3:
        request.generation_id_or_member_epoch = generation
        request.member_id = member_id
    (answer,) = client.call(request, version).topics
    return [partition.error_code for partition in answer.partitions]


def committed(client: RawClient, group: str, topic: str) -> int:
    return int(offsets(client, group, topic, 0)[topic, 0][0])


def stable_code(client: RawClient, group: str, topic: str) -> int:
    """What OffsetFetch answers who wants stable offsets only."""
    request = fetch_request(group, 7, topic, 0)
    request.require_stable = True
    answer: OffsetFetchResponse = client.call(request, 7)
    return int(answer.topics[0].partitions[0].error_code)


@pytest.mark.parametrize("version", range(5))
@pytest.mark.parametrize("is_commit", [True, False])
def test_offsets_count_with_the_commit(
    client: RawClient, topic: str, version: int, is_commit: bool
) -> None:
    group, producer = unique("g"), producer_of(client, V1)
    assert producer.add_offsets(group) == ErrorCode.NONE
    assert commit(client, producer, group, topic, 7, version=version) == [0]
    assert committed(client, group, topic) == -1
    assert stable_code(client, group, topic) == ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert producer.end(commit=is_commit) == ErrorCode.NONE
    wait_until(lambda: stable_code(client, group, topic) == ErrorCode.NONE)
    assert committed(client, group, topic) == (7 if is_commit else -1)


def test_from_v5_committing_adds_the_groups_partition(client: RawClient, topic: str) -> None:
    group, producer = unique("g"), producer_of(client)
    assert commit(client, producer, group, topic, 7, 8) == [0, 0]
    (added,) = producer.described.topics
    assert (producer.state, added.topic) == ("Ongoing", "__consumer_offsets")
    assert producer.end() == ErrorCode.NONE
    wait_until(lambda: committed(client, group, topic) == 7)


@pytest.mark.parametrize(
    ("version", "code"),
    [
        (0, ErrorCode.INVALID_TXN_STATE),
        (OLD, ErrorCode.INVALID_TXN_STATE),
        (ABORTABLE, ErrorCode.TRANSACTION_ABORTABLE),
    ],
)
def test_before_v5_it_must_have_been_added(
    client: RawClient, topic: str, version: int, code: ErrorCode
) -> None:
    group, producer = unique("g"), producer_of(client, V1)
    producer.add((topic, 0))
    assert commit(client, producer, group, topic, 7, version=version) == [code]
    assert stable_code(client, group, topic) == ErrorCode.NONE


def test_a_zombie_commits_nothing(client: RawClient, topic: str) -> None:
    group, producer = unique("g"), producer_of(client)
    zombie = producer.id
    producer.begin()
    refused = commit(client, producer, group, topic, 7, by=zombie)
    assert refused == [ErrorCode.INVALID_PRODUCER_EPOCH]
    assert stable_code(client, group, topic) == ErrorCode.NONE


def test_a_member_that_is_none_is_refused(client: RawClient, topic: str) -> None:
    group, producer = unique("g"), producer_of(client)

    def refused() -> list[int]:
        return commit(client, producer, group, topic, 7, generation=3, member_id="gone")

    assert refused() == [ErrorCode.ILLEGAL_GENERATION], "nor is there such a group"
    commit_plainly(client, group, topic, 1)
    assert refused() == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert stable_code(client, group, topic) == ErrorCode.NONE


def test_a_group_needs_a_name(client: RawClient, topic: str) -> None:
    assert commit(client, producer_of(client), "", topic, 7) == [ErrorCode.INVALID_GROUP_ID]


def test_what_cannot_be_stored_is_refused_alone(client: RawClient, topic: str) -> None:
    group, producer = unique("g"), producer_of(client)
    assert commit(client, producer, group, topic, 7, 8, 9) == [
        0, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]  # fmt: skip
    unknown = commit(client, producer, group, unique("nowhere"), 7)
    assert unknown == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    long = commit(client, producer, group, topic, 7, text="x" * 4097)
    assert long == [ErrorCode.OFFSET_METADATA_TOO_LARGE]
    assert producer.end() == ErrorCode.NONE
    wait_until(lambda: committed(client, group, topic) == 7)


def test_v6_names_topics_by_id(client: RawClient) -> None:
    name, group, producer = unique("orders"), unique("g"), producer_of(client)
    (made,) = create(client, new_topic(name, 1))
    partition = TxnOffsetCommitRequestPartition(
        partition_index=0, committed_offset=7, committed_metadata=None
    )
    request = TxnOffsetCommitRequest(
        transactional_id=producer.name,
        group_id=group,
        producer_id=producer.id.producer_id,
        producer_epoch=producer.id.epoch,
        topics=[
            TxnOffsetCommitRequestTopic(topic_id=topic_id, partitions=[partition])
            for topic_id in (made.topic_id, Uuid(b"?" * 16))
        ],
    )
    known, unknown = client.call(request, 6).topics
    assert known.topic_id == made.topic_id
    assert known.partitions[0].error_code == 0
    assert unknown.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert producer.end() == ErrorCode.NONE
    wait_until(lambda: committed(client, group, name) == 7)


def test_what_was_committed_outside_meanwhile_stays(client: RawClient, topic: str) -> None:
    """The later record wins, whenever the transaction ends."""
    group, producer = unique("g"), producer_of(client)
    assert commit(client, producer, group, topic, 7) == [0]
    assert commit_plainly(client, group, topic, 99) == [0]
    assert producer.end() == ErrorCode.NONE
    wait_until(lambda: stable_code(client, group, topic) == ErrorCode.NONE)
    assert committed(client, group, topic) == 99
