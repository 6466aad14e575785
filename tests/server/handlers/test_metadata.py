"""Metadata: which topics, creation on request, ids."""

import time

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from barnabas.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from barnabas.wire.uuids import ZERO_UUID, Uuid
from tests.server.raw_client import RawClient
from tests.server.records import make_batch, produce
from tests.server.waiting import PATIENCE_S

UNASKED = -(2**31)


def metadata(
    client: RawClient, names: list[str] | None, version: int = 9, *, create: bool = False
) -> MetadataResponse:
    topics = names if names is None else [MetadataRequestTopic(name=name) for name in names]
    request = MetadataRequest(topics=topics)
    if version >= 4:
        request.allow_auto_topic_creation = create
    answer: MetadataResponse = client.call(request, version)
    return answer


def names(answer: MetadataResponse) -> set[str | None]:
    return {topic.name for topic in answer.topics}


def by_id(client: RawClient, topic_id: Uuid) -> MetadataResponseTopic:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=None, topic_id=topic_id)])
    (topic,) = client.call(request, 12).topics
    found: MetadataResponseTopic = topic
    return found


@pytest.mark.parametrize("version", range(14))
def test_one_topic_in_every_version(broker: Broker, client: RawClient, version: int) -> None:
    name = broker.create_topic(f"v{version}", 2)
    answer = metadata(client, [name], version)
    assert [(b.node_id, b.port) for b in answer.brokers] == [(0, broker.port)]
    (topic,) = answer.topics
    assert (topic.error_code, topic.name) == (0, name)
    assert [(p.partition_index, p.leader_id) for p in topic.partitions] == [(0, 0), (1, 0)]
    assert [(p.replica_nodes, p.isr_nodes) for p in topic.partitions] == [([0], [0])] * 2
    assert version < 1 or answer.controller_id == 0
    assert version < 2 or answer.cluster_id
    assert version < 7 or [p.leader_epoch for p in topic.partitions] == [0, 0]
    assert version < 10 or topic.topic_id != ZERO_UUID


@pytest.mark.parametrize("version", range(14))
def test_all_topics_and_none(broker: Broker, client: RawClient, version: int) -> None:
    broker.create_topic(f"all{version}")
    everything = metadata(client, [] if version == 0 else None, version)
    assert f"all{version}" in names(everything)
    if version >= 1:
        nothing = metadata(client, [], version)
        assert (nothing.topics, nothing.controller_id) == ([], 0)
        assert len(nothing.brokers) == 1


@pytest.mark.parametrize("version", [0, 3, 4, 9, 13])
def test_a_missing_topic_is_made_and_the_client_asks_again(client: RawClient, version: int) -> None:
    name = f"made-{version}"
    (first,) = metadata(client, [name], version, create=True).topics
    assert (first.error_code, first.is_internal) == (ErrorCode.LEADER_NOT_AVAILABLE, False)
    deadline = time.monotonic() + PATIENCE_S
    while (topic := metadata(client, [name], version, create=True).topics[0]).error_code:
        assert time.monotonic() < deadline
    assert [p.leader_id for p in topic.partitions] == [0]
    assert produce(client, name, make_batch(b"x")).error_code == 0


@pytest.mark.parametrize(
    ("pose", "code"),
    [
        ("3.9", ErrorCode.LEADER_NOT_AVAILABLE),
        ("4.4", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_the_first_answer_about_a_topic_that_is_being_made(pose: str, code: ErrorCode) -> None:
    """ZooKeeper mode waits for the registry, KRaft tells the controller and answers at once."""
    with Broker({"offsets.topic.num.partitions": 1}, pose_as=pose) as broker:
        with RawClient(broker.port) as client:
            for name in ("t", "__consumer_offsets"):
                (first,) = metadata(client, [name], 9, create=True).topics
                assert (first.error_code, first.is_internal) == (code, name != "t")
                (second,) = metadata(client, [name], 9, create=True).topics
                assert (second.error_code, second.is_internal) == (0, name != "t")


def test_an_internal_topic_that_is_not_there_is_internal_all_the_same() -> None:
    with Broker() as broker, RawClient(broker.port) as client:
        (topic,) = metadata(client, ["__transaction_state"], 9).topics
        assert (topic.error_code, topic.is_internal) == (3, True)


def test_nothing_is_made_that_nobody_wants(client: RawClient) -> None:
    assert metadata(client, ["unwanted"]).topics[0].error_code == 3
    assert metadata(client, ["bad name!"], create=True).topics[0].error_code == 17
    assert produce(client, "unwanted", make_batch(b"x")).error_code == 3
    metadata(client, None, create=True)
    assert not {"unwanted", "bad name!"} & names(metadata(client, None))


def test_creation_switched_off() -> None:
    with Broker({"auto.create.topics.enable": "false"}) as broker:
        with RawClient(broker.port) as client:
            assert metadata(client, ["t"], create=True).topics[0].error_code == 3
            assert names(metadata(client, None)) == set()


def test_ids_stay_and_are_known(broker: Broker, client: RawClient) -> None:
    broker.create_topic("identified")
    (first,) = metadata(client, ["identified"], 12).topics
    (second,) = metadata(client, ["identified"], 12).topics
    assert first.topic_id == second.topic_id != ZERO_UUID
    found = by_id(client, first.topic_id)
    assert (found.error_code, found.name) == (0, "identified")
    unknown = by_id(client, Uuid(b"\x07" * 16))
    assert (unknown.error_code, unknown.topic_id) == (
        ErrorCode.UNKNOWN_TOPIC_ID,
        Uuid(b"\x07" * 16),
    )


def test_operations_on_request(broker: Broker, client: RawClient) -> None:
    broker.create_topic("allowed")
    topics = [MetadataRequestTopic(name="allowed")]
    answer = client.call(MetadataRequest(topics=topics), 8)
    assert answer.cluster_authorized_operations == UNASKED
    assert answer.topics[0].topic_authorized_operations == UNASKED
    request = MetadataRequest(
        topics=topics,
        include_cluster_authorized_operations=True,
        include_topic_authorized_operations=True,
    )
    answer = client.call(request, 8)
    assert answer.cluster_authorized_operations == 8096
    assert answer.topics[0].topic_authorized_operations == 3576


@pytest.mark.parametrize("version", [0, 9, 12])
def test_no_topic_has_an_empty_name(client: RawClient, version: int) -> None:
    (topic,) = metadata(client, [""], version, create=True).topics
    assert (topic.name, topic.error_code) == ("", ErrorCode.INVALID_TOPIC_EXCEPTION)


def test_a_topic_is_described_and_encoded_once_for_each_of_its_states(
    broker: Broker, client: RawClient
) -> None:
    """Every answer to every client is of the same bytes, until the topic changes."""
    name = broker.create_topic("kept", 3)
    topics = broker.server.metadata.topics
    asked = [metadata(client, None), metadata(client, [name]), metadata(client, None, 4)]
    found = [topic for answer in asked for topic in answer.topics if topic.name == name]
    assert [len(topic.partitions) for topic in found] == [3, 3, 3]
    kept = broker.call(lambda: dict(topics[name].answers))
    assert sorted(kept) == [(4, False), (9, False)]
    assert metadata(client, [name]).topics == found[1:2]
    assert broker.call(lambda: topics[name].answers[9, False]) is kept[9, False]
    grown = [CreatePartitionsTopic(name=name, count=5, assignments=None)]
    client.call(CreatePartitionsRequest(topics=grown, timeout_ms=10_000), 3)
    (topic,) = metadata(client, [name]).topics
    assert [p.partition_index for p in topic.partitions] == [0, 1, 2, 3, 4]
    assert broker.call(lambda: topics[name].answers[9, False]) is not kept[9, False]


def test_more_topics_than_may_be_created_by_asking_for_them(client: RawClient) -> None:
    many = [f"asked-{n}" for n in range(10_001)]
    answer = metadata(client, many, create=True)
    assert {topic.error_code for topic in answer.topics} == {ErrorCode.POLICY_VIOLATION}
    assert names(metadata(client, None)).isdisjoint(many)
