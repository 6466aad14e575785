"""DeleteTopics: by name and by id, and what becomes of those who wait."""

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.uuids import ZERO_UUID, Uuid
from tests.server.admin import create, create_code, new_topic
from tests.server.raw_client import RawClient
from tests.server.records import fetch_request, make_batch, produce
from tests.server.waiting import wait_until_watched

Outcome = list[tuple[str | None, int]]


def delete(client: RawClient, *names: str, version: int = 5, timeout_ms: int = 10_000) -> Outcome:
    request = DeleteTopicsRequest(topic_names=list(names), timeout_ms=timeout_ms)
    return [(r.name, r.error_code) for r in client.call(request, version).responses]


def delete_by(client: RawClient, *wanted: tuple[str | None, Uuid]) -> Outcome:
    topics = [DeleteTopicState(name=name, topic_id=topic_id) for name, topic_id in wanted]
    request = DeleteTopicsRequest(topics=topics, timeout_ms=10_000)
    return [(r.name, r.error_code) for r in client.call(request, 6).responses]


@pytest.mark.parametrize("version", range(6))
def test_every_version_deletes_by_name(client: RawClient, version: int) -> None:
    name = f"v{version}"
    create(client, new_topic(name, 2))
    assert delete(client, name, "nope", version=version) == [(name, 0), ("nope", 3)]
    topics = client.call(MetadataRequest(topics=None), 9).topics
    assert name not in [topic.name for topic in topics]


def test_v6_deletes_by_name_and_by_id(client: RawClient) -> None:
    first, _ = create(client, new_topic("six-a"), new_topic("six-b"))
    outcome = delete_by(client, (None, first.topic_id), ("six-b", ZERO_UUID))
    assert outcome == [("six-a", 0), ("six-b", 0)]
    assert delete_by(client, (None, first.topic_id)) == [(None, ErrorCode.UNKNOWN_TOPIC_ID)]


def test_a_name_together_with_an_id_refuses_the_whole_request(client: RawClient) -> None:
    (made,) = create(client, new_topic("named"))
    outcome = delete_by(client, ("named", made.topic_id), (None, made.topic_id))
    assert [code for _, code in outcome] == [ErrorCode.INVALID_REQUEST] * 2
    assert create_code(client, new_topic("named")) == ErrorCode.TOPIC_ALREADY_EXISTS


def test_neither_name_nor_id(client: RawClient) -> None:
    assert delete_by(client, (None, ZERO_UUID)) == [(None, ErrorCode.INVALID_REQUEST)]


def test_a_topic_named_twice_stays_and_others_go(client: RawClient) -> None:
    made, _ = create(client, new_topic("twice"), new_topic("once"))
    assert delete(client, "twice", "once", "twice") == [("twice", 42), ("once", 0), ("twice", 42)]
    outcome = delete_by(client, ("twice", ZERO_UUID), (None, made.topic_id))
    assert outcome == [("twice", 42), ("twice", 42)]
    assert delete(client, "twice") == [("twice", 0)]
    assert delete(client, "twice", "twice") == [("twice", 3), ("twice", 3)]


def test_without_time_to_wait_the_topic_goes_all_the_same(client: RawClient) -> None:
    create(client, new_topic("hurried"))
    assert delete(client, "hurried", timeout_ms=0) == [("hurried", ErrorCode.REQUEST_TIMED_OUT)]
    assert delete(client, "hurried") in ([("hurried", 0)], [("hurried", 3)])


@pytest.mark.parametrize(("version", "code"), [(2, 42), (3, 73), (5, 73)])
def test_deletion_switched_off(version: int, code: int) -> None:
    with Broker({"delete.topic.enable": "false"}) as broker, RawClient(broker.port) as client:
        create(client, new_topic("kept"))
        assert delete(client, "kept", version=version) == [("kept", code)]
        assert create_code(client, new_topic("kept")) == ErrorCode.TOPIC_ALREADY_EXISTS


def test_a_topic_made_again_is_another_one(client: RawClient) -> None:
    (first,) = create(client, new_topic("again"))
    assert produce(client, "again", make_batch(b"a")).base_offset == 0
    delete(client, "again")
    (second,) = create(client, new_topic("again"))
    assert first.topic_id != second.topic_id
    assert produce(client, "again", make_batch(b"b")).base_offset == 0


def test_a_fetch_that_waits_for_the_topic_is_answered(broker: Broker, client: RawClient) -> None:
    create(client, new_topic("awaited"))
    with RawClient(broker.port) as waiting:
        waiting.send(fetch_request("awaited", 0, max_wait_ms=60_000), 11)
        wait_until_watched(broker, "awaited")
        delete(client, "awaited")
        (partition,) = waiting.receive().responses[0].partitions
    assert partition.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_an_empty_name_is_that_of_no_topic(client: RawClient) -> None:
    unknown = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert delete(client, "") == [("", unknown)]
    assert delete_by(client, ("", ZERO_UUID)) == [("", unknown)]
