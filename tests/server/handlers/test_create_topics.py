"""CreateTopics: codes and words of Apache Kafka 3.9.1, asked of a running one."""

import time

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.create_topics import CreateTopicsRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.uuids import ZERO_UUID
from tests.server.admin import (
    TOPIC,
    assigned_topic,
    create,
    create_code,
    describe,
    new_topic,
    setting,
)
from tests.server.raw_client import RawClient


def topic_names(client: RawClient) -> set[str]:
    return {topic.name for topic in client.call(MetadataRequest(topics=None), 9).topics}


@pytest.mark.parametrize("version", range(8))
def test_every_version_creates_a_topic_that_is_led(client: RawClient, version: int) -> None:
    name = f"v{version}"
    (result,) = create(
        client, new_topic(name, 3, settings={"retention.ms": "1234"}), version=version
    )
    assert result.error_code == 0
    answer = client.call(MetadataRequest(topics=[MetadataRequestTopic(name=name)]), 9)
    partitions = answer.topics[0].partitions
    assert [(p.error_code, p.leader_id) for p in partitions] == [(0, 0)] * 3
    assert setting(client, TOPIC, name, "retention.ms").value == "1234"


def test_v5_describes_the_new_topic(client: RawClient) -> None:
    (result,) = create(client, new_topic("told", 2, settings={"segment.ms": "99"}), version=5)
    assert (result.num_partitions, result.replication_factor) == (2, 1)
    described = describe(client, TOPIC, "told").configs
    assert [(c.name, c.value, c.config_source) for c in result.configs or []] == [
        (c.name, c.value, c.config_source) for c in described
    ]
    (segment_ms,) = [c for c in result.configs or [] if c.name == "segment.ms"]
    assert (segment_ms.value, segment_ms.config_source) == ("99", 1)


def test_v7_names_the_id_that_metadata_names(client: RawClient) -> None:
    (result,) = create(client, new_topic("identified"))
    (topic,) = client.call(
        MetadataRequest(topics=[MetadataRequestTopic(name="identified")]), 12
    ).topics
    assert result.topic_id == topic.topic_id != ZERO_UUID


def test_minus_one_takes_the_brokers_defaults() -> None:
    with Broker({"num.partitions": 4}) as broker, RawClient(broker.port) as client:
        (result,) = create(client, new_topic("plain", -1, -1))
        assert (result.error_code, result.num_partitions, result.replication_factor) == (0, 4, 1)


@pytest.mark.parametrize(
    ("partitions", "factor", "code", "message"),
    [
        (0, 1, ErrorCode.INVALID_PARTITIONS, "Number of partitions must be larger than 0."),
        (-2, 1, ErrorCode.INVALID_PARTITIONS, "Number of partitions must be larger than 0."),
        (0, 9, ErrorCode.INVALID_PARTITIONS, "Number of partitions must be larger than 0."),
        (1, 0, ErrorCode.INVALID_REPLICATION_FACTOR, "Replication factor must be larger than 0."),
        (1, -2, ErrorCode.INVALID_REPLICATION_FACTOR, "Replication factor must be larger than 0."),
        (
            1, 5, ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor: 5 larger than available brokers: 1.",
        ),
    ],
)  # fmt: skip
def test_impossible_shapes(
    client: RawClient, partitions: int, factor: int, code: ErrorCode, message: str
) -> None:
    (result,) = create(client, new_topic("shape", partitions, factor))
    assert (result.error_code, result.error_message) == (code, message)
    assert (result.num_partitions, result.replication_factor, result.configs) == (-1, -1, [])
    assert "shape" not in topic_names(client)


@pytest.mark.parametrize("name", ["", ".", "..", "bad name!", "x" * 250, "snow☃"])
def test_impossible_names(client: RawClient, name: str) -> None:
    (result,) = create(client, new_topic(name))
    assert result.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert (result.error_message or "").startswith("Topic name is invalid: ")


def test_the_longest_name(client: RawClient) -> None:
    assert create_code(client, new_topic("y" * 249)) == 0


def test_a_name_whose_metrics_would_be_those_of_another(client: RawClient) -> None:
    assert create_code(client, new_topic("dotted.name")) == 0
    (result,) = create(client, new_topic("dotted_name"))
    assert result.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert result.error_message == (
        "Topic 'dotted_name' collides with existing topics: dotted.name"
    )


def test_a_topic_that_exists(client: RawClient) -> None:
    assert create_code(client, new_topic("there")) == 0
    (result,) = create(client, new_topic("there"))
    assert (result.error_code, result.error_message) == (
        ErrorCode.TOPIC_ALREADY_EXISTS,
        "Topic 'there' already exists.",
    )
    assert create_code(client, new_topic("there"), validate_only=True) == 36


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("no.such.key", "1", "Unknown topic config name: no.such.key"),
        ("retention.ms", None, "Null value not supported for topic configs: retention.ms"),
        (
            "cleanup.policy", "compactt",
            "Invalid value compactt for configuration cleanup.policy: "
            "String must be one of: compact, delete",
        ),
        (
            "retention.ms", "abc",
            "Invalid value abc for configuration retention.ms: Not a number of type LONG",
        ),
        (
            "min.insync.replicas", "0",
            "Invalid value 0 for configuration min.insync.replicas: Value must be at least 1",
        ),
        (
            "segment.bytes", "1",
            "Invalid value 1 for configuration segment.bytes: Value must be at least 14",
        ),
        (
            "preallocate", "maybe",
            "Invalid value maybe for configuration preallocate: "
            "Expected value to be either true or false",
        ),
    ],
)  # fmt: skip
def test_impossible_settings(client: RawClient, name: str, value: str | None, message: str) -> None:
    (result,) = create(client, new_topic("settings", settings={name: value}))
    assert (result.error_code, result.error_message) == (ErrorCode.INVALID_CONFIG, message)
    assert "settings" not in topic_names(client)


def test_settings_that_contradict_each_other(client: RawClient) -> None:
    settings: dict[str, str | None] = {
        "min.compaction.lag.ms": "10",
        "max.compaction.lag.ms": "5",
    }
    assert create_code(client, new_topic("lags", settings=settings)) == ErrorCode.INVALID_CONFIG


def test_manual_assignments(client: RawClient) -> None:
    (result,) = create(client, assigned_topic("manual", [0], [0]))
    assert (result.error_code, result.num_partitions, result.replication_factor) == (0, 2, 1)


@pytest.mark.parametrize(
    ("replicas", "message"),
    [
        ([[0, 0]], "Duplicate replica assignment found: {0: [0, 0]}"),
        ([[0], [0, 0]], "All partitions should have the same number of replicas"),
        ([[0], []], "All partitions should have the same number of replicas"),
        ([[]], "A partition needs at least one replica"),
        ([[77]], "Unknown broker(s) in replica assignment: 77."),
    ],
)
def test_impossible_assignments(client: RawClient, replicas: list[list[int]], message: str) -> None:
    (result,) = create(client, assigned_topic("assigned", *replicas))
    assert (result.error_code, result.error_message) == (
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        message,
    )


def test_a_partition_that_is_assigned_twice(client: RawClient) -> None:
    topic = assigned_topic("assigned", [0], [0])
    topic.assignments[1].partition_index = 0
    (result,) = create(client, topic)
    assert result.error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert "assigned" not in topic_names(client)


@pytest.mark.parametrize("first", [1, -1])
def test_assigned_partitions_are_numbered_from_0(client: RawClient, first: int) -> None:
    (result,) = create(client, assigned_topic("gap", [0], [0], first=first))
    assert result.error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert result.error_message == "partitions should be a consecutive 0-based integer sequence"


def test_an_assignment_beside_counts(client: RawClient) -> None:
    topic = assigned_topic("both", [0])
    topic.num_partitions = 1
    assert create_code(client, topic) == ErrorCode.INVALID_REQUEST


def test_each_topic_succeeds_or_fails_on_its_own(client: RawClient) -> None:
    results = create(client, new_topic("twice"), new_topic("good"), new_topic("twice"))
    assert [(r.name, r.error_code) for r in results] == [("twice", 42), ("good", 0), ("twice", 42)]
    assert results[0].error_message == "Found multiple entries for this topic."
    assert "good" in topic_names(client) and "twice" not in topic_names(client)


@pytest.mark.parametrize("timeout_ms", [0, 10_000])
def test_validate_only_creates_nothing(client: RawClient, timeout_ms: int) -> None:
    (result,) = create(client, new_topic("dry", 2), validate_only=True, timeout_ms=timeout_ms)
    assert (result.error_code, result.num_partitions, result.topic_id) == (0, 2, ZERO_UUID)
    assert "dry" not in topic_names(client)


def test_without_time_to_wait_the_topic_is_made_all_the_same(client: RawClient) -> None:
    (result,) = create(client, new_topic("hurried"), timeout_ms=0)
    assert (result.error_code, result.num_partitions) == (ErrorCode.REQUEST_TIMED_OUT, -1)
    assert create_code(client, new_topic("hurried")) == ErrorCode.TOPIC_ALREADY_EXISTS


def test_the_topic_of_a_kraft_cluster(client: RawClient) -> None:
    assert create_code(client, new_topic("__cluster_metadata")) == ErrorCode.INVALID_REQUEST


def test_many_topics_in_one_request(client: RawClient) -> None:
    results = create(client, *(new_topic(f"many-{n}", 3) for n in range(40)), timeout_ms=30_000)
    assert {result.error_code for result in results} == {0}


def test_more_partitions_than_one_request_may_ask_for(client: RawClient) -> None:
    """Kafka 4.x: neither the first topic nor the second, though either alone could be."""
    half = [new_topic(f"half-{n}", 5_000) for n in range(2)]
    results = create(client, *half, new_topic("one"), validate_only=True)
    assert {(r.error_code, r.error_message) for r in results} == {
        (
            ErrorCode.POLICY_VIOLATION,
            "Excessively large number of partitions per request.",
        )
    }
    assert {r.error_code for r in create(client, *half, validate_only=True)} == {0}


def test_a_million_partitions_are_refused_unplanned(broker: Broker, client: RawClient) -> None:
    spent_s = broker.call(time.thread_time)
    (result,) = create(client, new_topic("huge", 1_000_000), validate_only=True)
    assert result.error_code == ErrorCode.POLICY_VIOLATION
    assert broker.call(time.thread_time) - spent_s < 0.5


@pytest.mark.parametrize("names", [("c.d", "c_d"), ("c_e", "c.e"), ("c.f_g", "c_f.g", "c_f_g")])
def test_names_with_equal_metrics_collide_within_one_request(
    client: RawClient, names: tuple[str, ...]
) -> None:
    results = create(client, *map(new_topic, names))
    refused = int(ErrorCode.INVALID_TOPIC_EXCEPTION)
    assert [each.error_code for each in results] == [0] + [refused] * (len(names) - 1)
    assert results[1].error_message == (
        f"Topic '{names[1]}' collides with existing topics: {names[0]}"
    )
    assert topic_names(client) & set(names) == {names[0]}


def test_and_between_requests_at_the_same_time(broker: Broker) -> None:
    names = ("h.i", "h_i")
    with RawClient(broker.port) as first, RawClient(broker.port) as second:
        clients = (first, second)
        for client, name in zip(clients, names, strict=True):
            client.send(CreateTopicsRequest(topics=[new_topic(name)], timeout_ms=10_000), 7)
        codes = [client.receive().topics[0].error_code for client in clients]
        assert sorted(codes) == [0, ErrorCode.INVALID_TOPIC_EXCEPTION]
        assert topic_names(first) & set(names) == {names[codes.index(0)]}


def test_a_refusal_that_repeats_a_long_name_is_cut(client: RawClient) -> None:
    for name in ("x" * 32_767, "\N{SNOWMAN}" * 10_922):
        (result,) = create(client, new_topic(name))
        assert result.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
        assert result.error_message is not None
        assert result.error_message.startswith("Topic name is invalid: ")
        assert result.error_message.endswith("…")
