"""Bodies byte for byte: what Kafka wrote is read and written again without a difference."""

import json
from collections.abc import Callable

import pytest

from barnabas.server.registry import bodies
from barnabas.server.registry.bodies import (
    ControllerBody,
    PartitionState,
    ProducerIdBlock,
    ProtocolVersion,
    TopicAssignment,
)
from barnabas.wire.uuids import Uuid
from tests.server.registry import golden

TOPIC_ID = Uuid.from_text("eT2hBKwtSvWy6LjS36LLOw")


AGAIN: dict[str, Callable[[bytes], bytes]] = {
    "/state": lambda data: bodies.encode_partition_state(bodies.decode_partition_state(data)),
    "/brokers/topics/": lambda data: bodies.encode_topic(bodies.decode_topic(data)),
    "/config/changes/": lambda data: bodies.encode_config_change(bodies.decode_config_change(data)),
    "/config/": lambda data: bodies.encode_config(bodies.decode_config(data)),
    "/controller_epoch": lambda data: bodies.encode_number(bodies.decode_number(data)),
    "/controller": lambda data: bodies.encode_controller(bodies.decode_controller(data)),
    "/consumers/": lambda data: bodies.encode_number(bodies.decode_number(data)),
    "/cluster/id": lambda data: bodies.encode_cluster_id(bodies.decode_cluster_id(data)),
    "/latest_producer_id_block": lambda data: bodies.encode_producer_id_block(
        bodies.decode_producer_id_block(data)
    ),
}
ELSEWHERE = ("/brokers/ids/", "/feature", "/kafka-acl", "/delegation_token")


@pytest.mark.parametrize("protocol", golden.PROTOCOLS, ids=str)
def test_every_body_of_a_cluster_is_written_as_kafka_wrote_it(protocol: ProtocolVersion) -> None:
    counts = dict.fromkeys(AGAIN, 0)
    for path, data in golden.bodies_of(protocol):
        if path.startswith(ELSEWHERE):
            continue
        kind = next(kind for kind in AGAIN if path.endswith(kind) or path.startswith(kind))
        counts[kind] += 1
        assert AGAIN[kind](data) == data, path
    assert all(counts.values()), counts


def test_feature_by_protocol() -> None:
    for protocol in ((3, 9), (3, 3)):
        assert bodies.encode_feature(protocol) == b'{"features":{},"version":2,"status":1}'
    for protocol in ((3, 2), (2, 7)):
        assert bodies.encode_feature(protocol) == b'{"features":{},"version":1,"status":1}'
    assert bodies.encode_feature((2, 6)) == b'{"features":{},"version":1,"status":0}'


def test_feature_as_seen() -> None:
    for protocol in golden.PROTOCOLS:
        (seen,) = {data for path, data in golden.bodies_of(protocol) if path == "/feature"}
        assert bodies.encode_feature(protocol) == seen


def test_partitions_stand_by_number() -> None:
    thirteen = TopicAssignment({partition: [1] for partition in reversed(range(13))}, TOPIC_ID)
    listed = list(json.loads(bodies.encode_topic(thirteen))["partitions"])
    assert listed == list(map(str, range(13)))
    assert bodies.decode_topic(bodies.encode_topic(thirteen)) == thirteen


def test_an_assignment_on_the_move() -> None:
    data = (
        b'{"partitions":{"0":[3,1,2]},"topic_id":"eT2hBKwtSvWy6LjS36LLOw",'
        b'"adding_replicas":{"0":[1]},"removing_replicas":{"0":[2]},"version":3}'
    )
    topic = TopicAssignment({0: [3, 1, 2]}, TOPIC_ID, {0: [1]}, {0: [2]})
    assert bodies.encode_topic(topic) == data
    assert bodies.decode_topic(data) == topic


def test_the_oldest_topics_have_partitions_only() -> None:
    assert bodies.decode_topic(b'{"version":1,"partitions":{"1":[2]}}') == TopicAssignment({1: [2]})


def test_a_leader_that_still_recovers() -> None:
    state = PartitionState(1, 5, [1, 2], 7, leader_recovery_state=1)
    data = (
        b'{"controller_epoch":7,"leader":1,"version":1,"leader_recovery_state":1,'
        b'"leader_epoch":5,"isr":[1,2]}'
    )
    assert bodies.encode_partition_state(state) == data
    assert bodies.decode_partition_state(data) == state


def test_configs_that_are_no_configs() -> None:
    assert bodies.decode_config(None) == {}
    assert bodies.decode_config(b"") == {}
    assert bodies.decode_config(b'{"version":1}') == {}


def test_text_is_written_as_utf_8() -> None:
    data = '{"version":1,"config":{"a\\"b":"é\u2028/"}}'.encode()
    assert bodies.encode_config({'a"b': "é\u2028/"}) == data
    assert bodies.decode_config(data) == {'a"b': "é\u2028/"}


def test_config_changes_of_long_ago() -> None:
    data = b'{"version":1,"entity_type":"topics","entity_name":"t1"}'
    assert bodies.decode_config_change(data) == "topics/t1"


def test_blocks_of_another_size() -> None:
    block = ProducerIdBlock(3, 5000, 10)
    data = bodies.encode_producer_id_block(block)
    assert data == b'{"version":1,"broker":3,"block_start":"5000","block_end":"5009"}'
    assert bodies.decode_producer_id_block(data) == block


def test_controllers_before_kraft() -> None:
    data = b'{"version":1,"brokerid":4,"timestamp":"17"}'
    assert bodies.decode_controller(data) == ControllerBody(4, 17)


@pytest.mark.parametrize("data", [None, b"", b"x"])
def test_what_is_no_number(data: bytes | None) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        bodies.decode_number(data)
