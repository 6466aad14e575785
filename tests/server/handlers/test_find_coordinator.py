"""FindCoordinator: the first question makes the topic; keys one by one and several."""

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.metadata import MetadataRequest
from tests.server.raw_client import RawClient


def describe_topic(client: RawClient, topic: str, *names: str) -> list[str | None]:
    """The values of a topic's settings."""
    resource = DescribeConfigsResource(
        resource_type=2, resource_name=topic, configuration_keys=list(names)
    )
    (answer,) = client.call(DescribeConfigsRequest(resources=[resource]), 4).results
    values = {config.name: config.value for config in answer.configs}
    return [values[name] for name in names]


@pytest.mark.parametrize("version", range(4))
def test_one_group(client: RawClient, broker: Broker, version: int) -> None:
    response = client.call(FindCoordinatorRequest(key="g"), version)
    assert (response.error_code, response.node_id) == (0, 0)
    assert (response.host, response.port) == ("127.0.0.1", broker.port)
    assert response.error_message == ("NONE" if version else ""), "as Kafka says"


@pytest.mark.parametrize("version", range(4, 7))
def test_several_groups(client: RawClient, broker: Broker, version: int) -> None:
    response = client.call(FindCoordinatorRequest(coordinator_keys=["g", "h"]), version)
    found = [(c.key, c.error_code, c.node_id, c.host, c.port) for c in response.coordinators]
    assert found == [(key, 0, 0, "127.0.0.1", broker.port) for key in ("g", "h")]


def test_kinds_of_coordinators_that_are_not_here(client: RawClient) -> None:
    for kind in (2, 9):
        request = FindCoordinatorRequest(key_type=kind, coordinator_keys=["g"])
        (found,) = client.call(request, 6).coordinators
        assert (found.error_code, found.node_id) == (ErrorCode.INVALID_REQUEST, -1)


def test_many_first_questions_at_once() -> None:
    with Broker({"offsets.topic.num.partitions": 50}) as broker:
        clients = [RawClient(broker.port) for _ in range(8)]
        for client in clients:
            client.send(FindCoordinatorRequest(key="g"), 2)
        assert [client.receive().error_code for client in clients] == [0] * 8
        for client in clients:
            client.sock.close()


def test_the_first_question_makes_the_topic() -> None:
    with Broker({"offsets.topic.num.partitions": 7}) as broker, RawClient(broker.port) as client:
        assert client.call(MetadataRequest(topics=None), 9).topics == []
        assert client.call(FindCoordinatorRequest(key="g"), 2).error_code == 0
        (topic,) = client.call(MetadataRequest(topics=None), 9).topics
        assert (topic.name, topic.is_internal) == ("__consumer_offsets", True)
        assert len(topic.partitions) == 7


@pytest.mark.parametrize("version", range(1, 7))
def test_transactional_ids(client: RawClient, broker: Broker, version: int) -> None:
    if version < 4:
        answer = client.call(FindCoordinatorRequest(key="t", key_type=1), version)
        found = (answer.error_code, answer.node_id, answer.host, answer.port)
        assert answer.error_message == "NONE"
    else:
        request = FindCoordinatorRequest(coordinator_keys=["t"], key_type=1)
        (one,) = client.call(request, version).coordinators
        found = (one.error_code, one.node_id, one.host, one.port)
    assert found == (0, 0, "127.0.0.1", broker.port)


def test_the_first_question_for_a_transactional_id_makes_its_topic() -> None:
    with Broker({"transaction.state.log.num.partitions": 7}) as broker:
        with RawClient(broker.port) as client:
            request = FindCoordinatorRequest(key="t", key_type=1)
            assert client.call(request, 2).error_code == 0
            (topic,) = client.call(MetadataRequest(topics=None), 9).topics
            assert (topic.name, topic.is_internal) == ("__transaction_state", True)
            assert len(topic.partitions) == 7
            names = (
                "cleanup.policy", "compression.type", "min.insync.replicas", "segment.bytes",
                "unclean.leader.election.enable",
            )  # fmt: skip
            settings = describe_topic(client, "__transaction_state", *names)
            assert settings == ["compact", "uncompressed", "2", "104857600", "false"]
