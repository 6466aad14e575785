"""A topic that is deleted, and another of its name: nothing of the first shows in the second.

What is kept by a topic's name, or by its id, and outlives the topic: fetch sessions, requests
that wait, producers' sequences, committed offsets, counts, settings, checkpoints. The codes are
those of Apache Kafka 3.9.1 and 4.4.0, asked the same.
"""

import threading
from itertools import count

import pytest

from barnabas.server.testing.broker import Broker
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
from barnabas.wire.uuids import Uuid
from tests.server.names import unique
from tests.server.raw_client import RawClient
from tests.server.records import batches_of, data_of, fetch, fetched, make_batch, produce
from tests.server.waiting import wait_until_watched

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
