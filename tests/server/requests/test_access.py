"""Who may do what: everybody everything, until an authorizer says otherwise."""

from collections.abc import Iterator

import pytest

from barnabas.server.network.principal import ANONYMOUS, Principal
from barnabas.server.requests.access import AllowEverything, Operation, Resource, ResourceKind
from barnabas.server.testing.broker import Broker
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from barnabas.wire.messages.describe_topic_partitions import TopicRequest as Described
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.server.group_requests import find_coordinator
from tests.server.raw_client import RawClient


class ReadOnly:
    """Lets everybody look, and notes who asked about what."""

    def __init__(self) -> None:
        self.asked: set[tuple[str, Resource]] = set()

    def may(self, principal: Principal, operation: Operation, resource: Resource) -> bool:
        self.asked.add((str(principal), resource))
        return operation is Operation.DESCRIBE


@pytest.fixture
def read_only(broker: Broker) -> Iterator[ReadOnly]:
    made = ReadOnly()
    broker.server.authorizer = made
    yield made
    broker.server.authorizer = AllowEverything()


DESCRIBE_ONLY = 1 << Operation.DESCRIBE


def bits(client: RawClient, topic: str) -> list[int]:
    """The authorized operations of every answer that has some."""
    metadata = client.call(
        MetadataRequest(
            topics=[MetadataRequestTopic(name=topic)],
            include_cluster_authorized_operations=True,
            include_topic_authorized_operations=True,
        ),
        9,
    )
    cluster = client.call(DescribeClusterRequest(include_cluster_authorized_operations=True), 0)
    groups = client.call(DescribeGroupsRequest(groups=["g"], include_authorized_operations=True), 4)
    page = client.call(DescribeTopicPartitionsRequest(topics=[Described(name=topic)]), 0)
    return [
        metadata.cluster_authorized_operations,
        metadata.topics[0].topic_authorized_operations,
        cluster.cluster_authorized_operations,
        groups.groups[0].authorized_operations,
        page.topics[0].topic_authorized_operations,
    ]


def test_everybody_may_everything(broker: Broker, client: RawClient) -> None:
    find_coordinator(client, "g")
    topic = broker.create_topic("open-to-all")
    assert bits(client, topic) == [8096, 3576, 8096, 328, 3576]


def test_answers_tell_what_an_authorizer_lets_the_client_do(
    broker: Broker, client: RawClient, read_only: ReadOnly
) -> None:
    find_coordinator(client, "g")
    topic = broker.create_topic("looked-at")
    assert bits(client, topic) == [DESCRIBE_ONLY] * 5
    who = str(ANONYMOUS)
    assert who == "User:ANONYMOUS"
    assert read_only.asked == {
        (who, Resource(ResourceKind.CLUSTER, "kafka-cluster")),
        (who, Resource(ResourceKind.TOPIC, topic)),
        (who, Resource(ResourceKind.GROUP, "g")),
    }


def test_what_one_client_may_is_not_told_to_another(broker: Broker, client: RawClient) -> None:
    """A topic's answer is kept; not for those who may do other things."""
    topic = broker.create_topic("kept-for-each")
    before = bits(client, topic)
    broker.server.authorizer = ReadOnly()
    assert bits(client, topic)[1] == DESCRIBE_ONLY
    broker.server.authorizer = AllowEverything()
    assert bits(client, topic) == before


def test_a_listener_knows_its_security_protocol() -> None:
    settings = {
        "listeners": "IN://127.0.0.1:0,OUT://127.0.0.1:0",
        "listener.security.protocol.map": "IN:PLAINTEXT,OUT:PLAINTEXT",
        "inter.broker.listener.name": "IN",
    }
    with Broker(settings) as broker:
        known = [(each.name, each.security_protocol) for each in broker.server.listeners]
    assert known == [("IN", "PLAINTEXT"), ("OUT", "PLAINTEXT")]
