"""CreatePartitions: growing topics, and what Apache Kafka 3.9.1 says where they cannot grow."""

import pytest

from barnabas.server.registry.topics import Topic
from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.server.admin import create, new_topic
from tests.server.raw_client import RawClient
from tests.server.records import make_batch, produce
from tests.server.waiting import wait_until

Manual = list[list[int]] | None


def grow(
    client: RawClient,
    *topics: tuple[str, int, Manual],
    version: int = 3,
    timeout_ms: int = 10_000,
    validate_only: bool = False,
) -> list[tuple[str, int, str | None]]:
    request = CreatePartitionsRequest(
        topics=[
            CreatePartitionsTopic(
                name=name,
                count=count,
                assignments=manual
                if manual is None
                else [CreatePartitionsAssignment(broker_ids=each) for each in manual],
            )
            for name, count, manual in topics
        ],
        timeout_ms=timeout_ms,
        validate_only=validate_only,
    )
    results = client.call(request, version).results
    return [(r.name, r.error_code, r.error_message) for r in results]


def leaders(client: RawClient, topic: str) -> list[int]:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
    return [p.leader_id for p in client.call(request, 9).topics[0].partitions]


@pytest.mark.parametrize("version", range(4))
def test_every_version_grows_a_topic(client: RawClient, version: int) -> None:
    name = f"v{version}"
    create(client, new_topic(name))
    produce(client, name, make_batch(b"before"))
    assert grow(client, (name, 4, None), version=version) == [(name, 0, None)]
    assert leaders(client, name) == [0] * 4
    for partition, offset in ((0, 1), (3, 0)):
        answer = produce(client, name, make_batch(b"after"), partition=partition)
        assert answer.base_offset == offset


def test_replicas_can_be_given(client: RawClient) -> None:
    create(client, new_topic("manual"))
    assert grow(client, ("manual", 3, [[0], [0]])) == [("manual", 0, None)]
    assert leaders(client, "manual") == [0] * 3


@pytest.mark.parametrize(
    ("count", "manual", "code", "message"),
    [
        (3, None, ErrorCode.INVALID_PARTITIONS, "Topic already has 3 partitions."),
        (
            1, None, ErrorCode.INVALID_PARTITIONS,
            "Topic currently has 3 partitions, which is higher than the requested 1.",
        ),
        (
            -1, None, ErrorCode.INVALID_PARTITIONS,
            "Topic currently has 3 partitions, which is higher than the requested -1.",
        ),
        (
            4, [], ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Increasing the number of partitions by 1 but 0 assignments provided.",
        ),
        (
            5, [[0]], ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Increasing the number of partitions by 2 but 1 assignments provided.",
        ),
        (
            4, [[77]], ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Unknown broker(s) in replica assignment: 77.",
        ),
        (
            4, [[0, 0]], ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Duplicate brokers not allowed in replica assignment: 0, 0 for partition id 3.",
        ),
        (
            4, [[]], ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "Cannot have replication factor of 0 for partition id 3.",
        ),
    ],
)  # fmt: skip
def test_refusals(
    client: RawClient, count: int, manual: Manual, code: ErrorCode, message: str
) -> None:
    create(client, new_topic("three", 3))
    assert grow(client, ("three", count, manual)) == [("three", code, message)]
    assert len(leaders(client, "three")) == 3


def test_an_unknown_topic_and_one_named_twice(client: RawClient) -> None:
    create(client, new_topic("known"), new_topic("twice"))
    outcome = grow(client, ("nope", 2, None), ("known", 2, None))
    assert outcome == [("nope", 3, "The topic 'nope' does not exist."), ("known", 0, None)]
    outcome = grow(client, ("twice", 2, None), ("twice", 3, None))
    assert outcome == [("twice", ErrorCode.INVALID_REQUEST, "Duplicate topic in request.")]
    assert len(leaders(client, "twice")) == 1


def test_validate_only_grows_nothing(client: RawClient) -> None:
    create(client, new_topic("dry"))
    assert grow(client, ("dry", 5, None), validate_only=True) == [("dry", 0, None)]
    assert len(leaders(client, "dry")) == 1


def test_without_time_to_wait_it_grows_all_the_same(client: RawClient) -> None:
    create(client, new_topic("hurried"))
    outcome = grow(client, ("hurried", 2, None), timeout_ms=0)
    assert outcome == [("hurried", ErrorCode.REQUEST_TIMED_OUT, None)]
    assert grow(client, ("hurried", 2, None))[0][1] == ErrorCode.INVALID_PARTITIONS


def test_new_partitions_survive_a_restart() -> None:
    with Broker() as broker:
        with RawClient(broker.port) as client:
            create(client, new_topic("kept"))
            assert grow(client, ("kept", 3, None)) == [("kept", 0, None)]
            produce(client, "kept", make_batch(b"a"), partition=2)
        broker.restart()
        with RawClient(broker.port) as client:
            assert leaders(client, "kept") == [0] * 3
            assert produce(client, "kept", make_batch(b"b"), partition=2).base_offset == 1


def test_more_partitions_than_one_request_may_add(client: RawClient) -> None:
    create(client, new_topic("large"), new_topic("larger"))
    grown = grow(client, ("large", 5_001, None), ("larger", 5_002, None), validate_only=True)
    assert [code for _, code, _ in grown] == [ErrorCode.POLICY_VIOLATION] * 2
    grown = grow(client, ("large", 5_001, None), ("larger", 5_001, None), validate_only=True)
    assert [code for _, code, _ in grown] == [0, 0]


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\0b", "x" * 250])
def test_a_name_that_no_topic_can_have(client: RawClient, name: str) -> None:
    outcome = grow(client, (name, 3, None))
    unknown = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert outcome == [(name, unknown, f"The topic '{name}' does not exist.")]


@pytest.mark.parametrize(("others", "code"), [(2, 0), (3, ErrorCode.INVALID_PARTITIONS)])
def test_what_another_broker_adds_at_the_same_time_counts(
    broker: Broker, client: RawClient, monkeypatch: pytest.MonkeyPatch, others: int, code: int
) -> None:
    name = f"shared-{others}"
    create(client, new_topic(name))
    topics, counts = broker.server.registry.topics, [others]
    read, write = topics.read, topics.write_assignment

    async def after_another(name: str, changed: Topic, epoch: None = None) -> None:
        if counts:
            count, found = counts.pop(), await read(name)
            assert found is not None
            grown = found.assignment._replace(replicas={index: [0] for index in range(count)})
            await write(name, found._replace(assignment=grown))
        await write(name, changed, epoch)

    monkeypatch.setattr(topics, "write_assignment", after_another)
    ((_, answer, _),) = grow(client, (name, 3, None))
    assert answer == code
    wait_until(lambda: leaders(client, name) == [0] * 3)
