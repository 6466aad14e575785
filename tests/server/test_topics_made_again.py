"""A topic that is deleted, and another of its name: nothing of the first shows in the second.

What is kept by a topic's name, or by its id, and outlives the topic: fetch sessions, requests
that wait, producers' sequences, committed offsets, counts, settings, checkpoints. The codes are
those of Apache Kafka 3.9.1 and 4.4.0, asked the same.
"""

import threading
from itertools import count
from pathlib import Path

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.storage.batch.records import decode_batch
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest
from barnabas.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
)
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from barnabas.wire.uuids import Uuid
from tests.server.admin import TOPIC, value
from tests.server.group_requests import commit, find_coordinator, offsets
from tests.server.names import unique
from tests.server.raw_client import RawClient
from tests.server.records import (
    Producer,
    batches_of,
    data_of,
    fetch,
    fetched,
    make_batch,
    produce,
    read,
)
from tests.server.waiting import wait_until, wait_until_watched

LONG_MS = 60_000
SOON_S = 30.0  # long before a wait of LONG_MS is over


def topic_id_of(client: RawClient, topic: str) -> Uuid:
    (known,) = client.call(MetadataRequest(topics=[MetadataRequestTopic(name=topic)]), 12).topics
    found: Uuid = known.topic_id
    return found


def made_again(broker: Broker, client: RawClient, topic: str) -> None:
    """Delete a topic, make another of its name, with six records."""
    delete(client, topic)
    broker.create_topic(topic, 1, {"retention.ms": -1})
    for _ in range(6):
        produce(client, topic, make_batch(b"another topic's"))


def delete(client: RawClient, topic: str) -> None:
    (answer,) = client.call(DeleteTopicsRequest(topic_names=[topic], timeout_ms=5000), 4).responses
    assert answer.error_code == 0


def fetch_by_id(
    client: RawClient,
    *wanted: tuple[Uuid, int],
    session: tuple[int, int] = (0, -1),
    forgotten: Uuid | None = None,
    max_wait_ms: int = 0,
    version: int = 13,
) -> FetchResponse:
    """Fetch the first partition of topics by (id, offset)."""
    request = FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        session_id=session[0],
        session_epoch=session[1],
        topics=[
            FetchTopic(
                topic_id=topic_id,
                partitions=[
                    FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
                ],
            )
            for topic_id, offset in wanted
        ],
        forgotten_topics_data=[
            ForgottenTopic(topic_id=topic_id, partitions=[0])
            for topic_id in (forgotten,)
            if topic_id is not None
        ],
    )
    answer: FetchResponse = client.call(request, version)
    return answer


def told(answer: FetchResponse) -> dict[Uuid, tuple[int, int]]:
    """Error code and number of batches by topic id."""
    assert answer.error_code == 0
    return {
        topic.topic_id: (partition.error_code, len(batches_of(partition)))
        for topic in answer.responses
        for partition in topic.partitions
    }


@pytest.fixture
def remade(broker: Broker, client: RawClient) -> str:
    """A topic with three records, that may be deleted."""
    topic = broker.create_topic(unique("remade"), 1, {"retention.ms": -1})
    for _ in range(3):
        produce(client, topic, make_batch(b"the first topic's"))
    return topic


@pytest.mark.parametrize("version", range(13, 19))
@pytest.mark.parametrize("is_deletion_seen", [True, False])
def test_a_session_by_topic_id_never_reads_the_next_topic_of_the_name(
    broker: Broker, client: RawClient, remade: str, version: int, is_deletion_seen: bool
) -> None:
    old = topic_id_of(client, remade)
    opened = fetch_by_id(client, (old, 0), session=(0, 0), version=version)
    epochs = count(1)

    def ask(
        *wanted: tuple[Uuid, int], forgotten: Uuid | None = None
    ) -> dict[Uuid, tuple[int, int]]:
        session = opened.session_id, next(epochs)
        return told(
            fetch_by_id(client, *wanted, session=session, forgotten=forgotten, version=version)
        )

    assert told(opened) == {old: (0, 3)}
    assert ask((old, 3)) == {}
    if is_deletion_seen:
        delete(client, remade)
        unknown = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        assert [ask(), ask()] == [{old: (unknown, 0)}] * 2
        broker.create_topic(remade, 1, {"retention.ms": -1})
        for _ in range(6):
            produce(client, remade, make_batch(b"another topic's"))
    else:
        made_again(broker, client, remade)
    new = topic_id_of(client, remade)
    other = int(ErrorCode.INCONSISTENT_TOPIC_ID)
    assert [ask(), ask(), ask((old, 3))] == [{old: (other, 0)}] * 3
    assert ask((new, 0)) == {old: (other, 0), new: (0, 6)}
    assert ask((new, 6), forgotten=old) == {}
    named = fetch_by_id(client, (old, 0), version=version)
    assert told(named) == {old: (int(ErrorCode.UNKNOWN_TOPIC_ID), 0)}


def test_a_session_by_name_reads_whichever_topic_bears_it(
    broker: Broker, client: RawClient, remade: str
) -> None:
    # As Kafka does: a client that names no id cannot mean one topic rather than the other.
    session_id = fetch(client, (remade, 0, 4, 1 << 20), session=(0, 0), version=12).session_id
    made_again(broker, client, remade)
    again = fetched(fetch(client, session=(session_id, 1), version=12))[remade, 0]
    assert [each.base_offset for each in batches_of(again)] == [4, 5]
    told_once = fetch(client, (remade, 0, 6, 1 << 20), session=(session_id, 2), version=12)
    assert told_once.responses == []


@pytest.mark.parametrize("version", [12, 13, 16])
def test_a_fetch_that_waits_is_answered_when_its_topic_is_deleted(
    broker: Broker, client: RawClient, remade: str, version: int
) -> None:
    old = topic_id_of(client, remade)
    answers = []

    def wait() -> None:
        with RawClient(broker.port, timeout_s=SOON_S) as waiting:
            if version >= 13:
                answers.append(fetch_by_id(waiting, (old, 3), max_wait_ms=LONG_MS, version=version))
            else:
                answers.append(
                    fetch(waiting, (remade, 0, 3, 1000), max_wait_ms=LONG_MS, version=version)
                )

    thread = threading.Thread(target=wait)
    thread.start()
    wait_until_watched(broker, remade)
    made_again(broker, client, remade)
    thread.join(SOON_S)
    (answer,) = answers
    (partition,) = answer.responses[0].partitions
    assert partition.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert data_of(partition) == b""


# Requests that wait, producers, offsets, counts, settings.


def hold_back(broker: Broker, topic: str) -> None:
    """Let a partition want a replica that there is none of: nothing in it is committed."""

    def want() -> None:
        partition = broker.server.replicas.require(topic, 0)
        partition.isr = partition.replicas = (0, 1)

    broker.call(want)


def test_a_produce_that_waits_is_told_of_the_deletion_of_its_topic(
    broker: Broker, client: RawClient, remade: str
) -> None:
    kept = broker.create_topic(unique("kept"), 1, {"retention.ms": -1})
    hold_back(broker, remade)
    hold_back(broker, kept)
    records = bytes(make_batch(b"x"))
    client.send(
        ProduceRequest(
            acks=-1,
            timeout_ms=LONG_MS,
            topics=[
                TopicProduceData(
                    name=topic, partitions=[PartitionProduceData(index=0, records=records)]
                )
                for topic in (remade, kept)
            ],
        ),
        9,
    )
    waiting = broker.server.produces
    wait_until(lambda: broker.call(lambda: waiting.is_watched((kept, 0))))
    with RawClient(broker.port) as other:
        made_again(broker, other, remade)
    assert broker.call(lambda: waiting.is_watched((kept, 0))), "the other topic may yet be settled"

    def settle() -> None:
        partition = broker.server.replicas.require(kept, 0)
        partition.log.maybe_increment_high_watermark(partition.log.log_end_offset)
        waiting.complete(partition.key)

    broker.call(settle)
    answers = [topic.partition_responses[0] for topic in client.receive().responses]
    unknown = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert [(each.error_code, each.base_offset) for each in answers] == [(unknown, 3), (0, 0)]


def test_a_producers_sequence_begins_anew(broker: Broker, client: RawClient, remade: str) -> None:
    producer = Producer(4711)
    for sequence in range(3):
        produce(client, remade, make_batch(b"x", producer=producer, sequence=sequence))
    made_again(broker, client, remade)
    answers = [
        produce(client, remade, make_batch(b"x", producer=producer, sequence=sequence))
        for sequence in (1, 2, 2, 1, 7)
    ]
    out_of_order = int(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert [(each.error_code, each.base_offset) for each in answers] == [
        (0, 6), (0, 7), (0, 7), (0, 6), (out_of_order, -1)
    ]  # fmt: skip


def test_a_groups_offset_goes_with_the_topic(
    broker: Broker, client: RawClient, remade: str
) -> None:
    group = unique("g")
    find_coordinator(client, group)
    assert commit(client, group, remade, 3) == [0]
    made_again(broker, client, remade)
    assert offsets(client, group, remade, 0)[remade, 0] == (-1, "", 0)
    assert commit(client, group, remade, 1) == [0]
    assert offsets(client, group, remade, 0)[remade, 0] == (1, "", 0)


def test_counts_and_settings_begin_anew(broker: Broker, client: RawClient) -> None:
    topic = broker.create_topic(unique("set"), 1, {"max.message.bytes": 1000, "retention.ms": -1})
    produce(client, topic, make_batch(b"x"))
    assert produce(client, topic, make_batch(b"x" * 1000)).error_code
    made_again(broker, client, topic)
    counts = broker.server.metrics.topic(topic)
    assert broker.call(lambda: (counts.messages_in, counts.total_produce_requests)) == (6, 6)
    assert value(client, TOPIC, topic, "max.message.bytes") == "1048588"
    assert produce(client, topic, make_batch(b"x" * 1000)).error_code == 0


def test_an_id_that_was_is_unknown_wherever_it_is_named(
    broker: Broker, client: RawClient, remade: str
) -> None:
    old = topic_id_of(client, remade)
    made_again(broker, client, remade)
    new = topic_id_of(client, remade)
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=None, topic_id=old)])
    (described,) = client.call(asked, 12).topics
    data = PartitionProduceData(index=0, records=bytes(make_batch(b"x")))
    wanted = [TopicProduceData(topic_id=each, partitions=[data]) for each in (old, new)]
    produced = client.call(ProduceRequest(acks=-1, timeout_ms=5000, topics=wanted), 13).responses
    unknown = int(ErrorCode.UNKNOWN_TOPIC_ID)
    assert described.error_code == unknown
    assert [each.partition_responses[0].error_code for each in produced] == [unknown, 0]


# A snapshot of the test's broker holds the topic that was, whole, and nothing of the next.


def test_going_back_to_a_snapshot_brings_the_first_topic_back(tmp_path: Path) -> None:
    with Broker({"log.retention.ms": -1, "log.segment.bytes": 200}) as broker:
        broker.create_topic("t")
        with RawClient(broker.port) as client:
            for _ in range(5):
                produce(client, "t", make_batch(b"the first topic's"))
            find_coordinator(client, "g")
            wait_until(lambda: commit(client, "g", "t", 4) == [0])
            old = topic_id_of(client, "t")
        broker.snapshot(tmp_path / "snapshot")
        with RawClient(broker.port) as client:
            made_again(broker, client, "t")
            session_id = fetch(client, ("t", 0, 0, 1 << 20), session=(0, 0)).session_id
        broker.restore(tmp_path / "snapshot")
        with RawClient(broker.port) as client:
            assert topic_id_of(client, "t") == old
            gone = fetch(client, session=(session_id, 1))
            assert gone.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
            loading = int(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
            wait_until(lambda: offsets(client, "g", "t", 0, version=5)["t", 0][2] != loading)
            assert offsets(client, "g", "t", 0, version=5)["t", 0] == (4, "", 0)
            assert contents(client, "t") == [b"the first topic's"] * 5
            assert produce(client, "t", make_batch(b"more")).base_offset == 5


def contents(client: RawClient, topic: str) -> list[bytes | None]:
    """The values of a topic's records."""
    values: list[bytes | None] = []
    while batches := batches_of(found := read(client, topic, len(values))):
        data = data_of(found)
        values += [record.value for each in batches for record in decode_batch(data, each)]
    return values
