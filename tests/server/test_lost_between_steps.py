"""What a request served in steps has found is no longer so when it is answered.

Between two steps a partition may lose its leader or its topic: the answer says what is so then,
and says it at once.
"""

from collections.abc import Callable, Iterator
from errno import EIO
from pathlib import Path
from typing import Any

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.storage.manager.managed_log import ManagedLog
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from barnabas.wire.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from barnabas.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from barnabas.wire.uuids import ZERO_UUID
from tests.server.group_requests import commit, offsets
from tests.server.names import unique
from tests.server.raw_client import RawClient
from tests.server.records import make_batch, produce_request
from tests.server.stepping import FOREVER_MS, PARTITIONS, Stepping
from tests.server.transaction_requests import producer_of
from tests.server.transactions.transactional_client import batch_in_transaction
from tests.server.waiting import wait_until


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as made:
        yield made


@pytest.fixture
def stepping(broker: Broker) -> Stepping:
    return Stepping(broker)


@pytest.fixture
def client(broker: Broker) -> Iterator[RawClient]:
    with RawClient(broker.port, timeout_s=20.0) as made:
        yield made


# Produce.


def but_for_the_first(code: ErrorCode) -> dict[int, int]:
    return dict.fromkeys(range(PARTITIONS), int(ErrorCode.NONE)) | {0: int(code)}


@pytest.mark.parametrize(
    ("event", "acks", "code"),
    [
        (Stepping.loses_the_leadership, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        # Led again, it has another record at the offset, and that one is replicated.
        (Stepping.leads_again_with_another_record, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        # Its leader has written it, and its producer wants no more.
        (Stepping.loses_the_leadership, 1, ErrorCode.NONE),
    ],
    ids=["not waited for", "not acknowledged in another's place", "acknowledged by its leader"],
)
def test_an_append_whose_leader_went_between_two_steps(
    stepping: Stepping,
    client: RawClient,
    event: Callable[[Stepping], None],
    acks: int,
    code: ErrorCode,
) -> None:
    stepping.give_a_follower()
    codes = stepping.produced_while(client, lambda: event(stepping), acks)
    assert codes == but_for_the_first(code)


def test_a_partition_that_came_between_two_steps_is_asked_about_when_its_batch_comes_again(
    stepping: Stepping, client: RawClient
) -> None:
    """INVALID_TXN_STATE, which it was told, has the application abort its transaction."""
    producer = producer_of(client)
    stepping.give_a_follower()
    stepping.broker.call(stepping.loses_the_leadership)
    request = stepping.produce_everywhere()
    request.transactional_id = producer.name
    batch = batch_in_transaction(b"x", *producer.id)
    for data in request.topics[0].partitions:
        data.records = bytes(batch)
    request.topics[0].partitions.reverse()
    last = stepping.partition(PARTITIONS - 1)
    with stepping.between(stepping.leads_again, lambda: last.log.log_end_offset > 0):
        answer = client.call(request, 12)
    codes = {each.index: each.error_code for each in answer.responses[0].partition_responses}
    assert codes == but_for_the_first(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    again = produce_request(stepping.topic, batch, transactional_id=producer.name, acks=1)
    (answered,) = client.call(again, 12).responses[0].partition_responses
    assert answered.error_code == ErrorCode.NONE


def test_a_topic_made_again_takes_no_records_that_were_looked_into_for_the_one_before(
    stepping: Stepping, client: RawClient
) -> None:
    """The other one is compacted, and wants keys."""
    values = [b"no key"] * 10_000
    request = produce_request(stepping.topic, make_batch(*values))
    with stepping.between(stepping.is_another_topics, lambda: True):
        (answer,) = client.call(request, 9).responses[0].partition_responses
    assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    (answer,) = client.call(request, 9).responses[0].partition_responses
    assert answer.error_code == ErrorCode.INVALID_RECORD


@pytest.mark.broker_says("a data directory failed", "its partitions are offline")
def test_an_append_whose_disk_fails_as_it_is_flushed_is_not_waited_for(tmp_path: Path) -> None:
    """Failing, the directory wakes who waits for its partitions: nobody does so yet."""
    folders = f"{tmp_path / 'first'},{tmp_path / 'second'}"
    with Broker({"log.dirs": folders}) as broker, RawClient(broker.port, timeout_s=20.0) as client:
        topic = broker.create_topic("t", settings={"flush.messages": 1})
        disks = broker.server.disks

        def flush(log: ManagedLog, done: object = None) -> None:
            log.data_directory.fail(OSError(EIO, "no disk"))

        disks.flush = flush  # type: ignore[method-assign, assignment]
        request = produce_request(topic, make_batch(b"x"))
        request.timeout_ms = FOREVER_MS
        (answer,) = client.call(request, 9).responses[0].partition_responses
        assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR


# Fetch.


def test_a_fetch_whose_client_goes_between_two_steps_reads_no_more(
    stepping: Stepping, client: RawClient
) -> None:
    """A follower may be back by now, with less than its fetch says of the other partitions."""
    server, counts = stepping.broker.server, stepping.partition(0).counts
    wanted = [FetchPartition(partition=index) for index in range(PARTITIONS)]
    topics = [FetchTopic(topic=stepping.topic, partitions=wanted)]

    def goes() -> None:
        for connection in tuple(server.population.connections):
            connection.close("it is gone")

    with stepping.between(goes, lambda: counts.total_fetch_requests > 0):
        client.send(FetchRequest(max_wait_ms=0, topics=topics), 11)
        assert client.is_closed()
        wait_until(lambda: not server.dispatcher._tasks)
    assert counts.total_fetch_requests < PARTITIONS


# Committed offsets.


def offset_of_each(group: str, stepping: Stepping) -> OffsetCommitRequest:
    partitions = [
        OffsetCommitRequestPartition(partition_index=index, committed_offset=7)
        for index in range(PARTITIONS)
    ]
    topics = [OffsetCommitRequestTopic(name=stepping.topic, partitions=partitions)]
    return OffsetCommitRequest(group_id=group, topics=topics)


def test_no_offset_is_kept_of_a_topic_that_goes_between_two_steps(
    stepping: Stepping, client: RawClient
) -> None:
    """The group would tell it to who reads the next topic of the name."""
    commit(client, group := unique("g"), stepping.broker.create_topic("other"), 1)
    with stepping.between(stepping.loses_its_topic, lambda: True):
        answer = client.call(offset_of_each(group, stepping), 9)
    (topic,) = answer.topics
    codes = {each.error_code for each in topic.partitions}
    assert codes == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert set(offsets(client, group, None)) == {("other", 0)}


def test_no_transaction_keeps_an_offset_of_a_topic_that_goes_between_two_steps(
    stepping: Stepping, client: RawClient
) -> None:
    commit(client, group := unique("g"), stepping.broker.create_topic("other"), 1)
    producer = producer_of(client)
    committed = [
        TxnOffsetCommitRequestPartition(partition_index=index, committed_offset=7)
        for index in range(PARTITIONS)
    ]
    request = TxnOffsetCommitRequest(
        transactional_id=producer.name, group_id=group, producer_id=producer.id.producer_id,
        producer_epoch=producer.id.epoch,
        topics=[TxnOffsetCommitRequestTopic(name=stepping.topic, partitions=committed)],
    )  # fmt: skip
    with stepping.between(stepping.loses_its_topic, lambda: True):
        answer = client.call(request, 5)
    (topic,) = answer.topics
    codes = {each.error_code for each in topic.partitions}
    assert codes == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert producer.end() == ErrorCode.NONE
    assert set(offsets(client, group, None)) == {("other", 0)}


def test_an_offset_that_is_removed_between_two_steps_is_not_listed_as_none(
    stepping: Stepping, client: RawClient
) -> None:
    group = unique("g")
    client.call(offset_of_each(group, stepping), 8)
    with stepping.between(stepping.loses_its_topic, lambda: True):
        found = offsets(client, group, None)
    assert 0 < len(found) < PARTITIONS
    assert {offset for offset, _, _ in found.values()} == {7}


# Topics.


def test_a_topic_that_goes_between_two_steps_is_not_listed_as_unknown(
    stepping: Stepping, client: RawClient
) -> None:
    stepping.broker.create_topic("a", PARTITIONS)
    with stepping.between(stepping.loses_its_topic, lambda: True):
        answer = client.call(DescribeTopicPartitionsRequest(topics=[]), 0)
    assert [(each.name, each.error_code) for each in answer.topics] == [("a", 0)]


def test_a_topic_made_again_between_two_steps_is_not_the_one_to_be_deleted(
    stepping: Stepping, client: RawClient
) -> None:
    topics = [DeleteTopicState(name=None, topic_id=stepping.partition(0).topic_id)]
    topics += [DeleteTopicState(name=f"unknown-{n}", topic_id=ZERO_UUID) for n in range(PARTITIONS)]
    with stepping.between(stepping.has_its_topic_made_again, lambda: True):
        answer = client.call(DeleteTopicsRequest(topics=topics, timeout_ms=20_000), 6)
    assert answer.responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    marks = stepping.broker.server.registry.topics.is_marked_for_deletion(stepping.topic)
    assert not stepping.broker.run(marks)


def test_a_topic_made_again_before_it_is_looked_at_is_gone(
    broker: Broker, client: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the topics of a request each is waited for when those before it are gone."""
    topics = broker.server.topics
    wait = topics.wait_until_deleted

    async def slowly(name: str, *args: Any) -> bool:
        is_gone = await wait(name, *args)
        if name == "first" and await wait("second", 10_000):
            await topics.create("second", {0: [broker.server.broker_id]}, {})
            assert await topics.wait_until_served("second", 10_000)
        return is_gone

    for name in ("first", "second"):
        broker.create_topic(name)
    monkeypatch.setattr(topics, "wait_until_deleted", slowly)
    request = DeleteTopicsRequest(topic_names=["first", "second"], timeout_ms=10_000)
    codes = [each.error_code for each in client.call(request, 5).responses]
    assert codes == [ErrorCode.NONE, ErrorCode.NONE]


# What lies where.


@pytest.mark.parametrize("to", [0, 1], ids=["to the one looked at", "to the one not looked at yet"])
def test_a_replica_that_moves_between_two_steps_is_in_one_directory(
    tmp_path: Path, to: int
) -> None:
    folders = [tmp_path / "first", tmp_path / "second"]
    with (
        Broker({"log.dirs": ",".join(map(str, folders))}) as broker,
        RawClient(broker.port) as client,
    ):
        stepping = Stepping(broker)
        disks = broker.server.disks
        held = [stepping.partition(index) for index in range(PARTITIONS)]
        goal = disks.directories[to]
        moved = next(each for each in held if each.log.data_directory is not goal)
        future = broker.call(lambda: disks.futures.create(moved.log, goal, 0))

        def moves() -> None:
            source, moved.log = moved.log, future
            assert disks.futures.replace(source, future)
            disks.futures.retire(source, future)

        with stepping.between(moves, lambda: True):
            answer = client.call(DescribeLogDirsRequest(topics=None), 1)
    found = [
        each.is_future_key
        for result in answer.results
        for topic in result.topics
        for each in topic.partitions
        if (topic.name, each.partition_index) == moved.key
    ]
    assert sorted(found) == [False, True]
