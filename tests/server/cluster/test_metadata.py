"""What a broker knows of its cluster, and tells."""

from __future__ import annotations

import pytest

import barnabas
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.server.raw_client import RawClient
from tests.server.waiting import wait_until


@pytest.mark.parametrize("topics", [None, ["t"]], ids=["all topics", "one topic"])
def test_a_broker_that_was_not_told_anything_yet_tells_nothing(topics: list[str] | None) -> None:
    """Beside Apache Kafka's controller, librdkafka hung: it was told of one broker, which was not
    the controller, and never looked for that again."""
    asked = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
    with barnabas.Cluster(2, {"num.partitions": 1}) as cluster:
        controller = cluster.controller
        other = cluster[1 - controller.broker_id]
        cluster.create_topic("t", replicas=1)
        other.stop()
        cluster.cut(controller, other, one_way=True)
        other.start()
        with RawClient(other.port) as client:
            answer = client.call(MetadataRequest(topics=asked), 9)
            assert (answer.brokers, answer.controller_id) == ([], -1)
            assert {topic.error_code for topic in answer.topics} <= {
                int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            }
            described = client.call(DescribeClusterRequest(), 0)
            assert (described.brokers, described.controller_id) == ([], -1)
            cluster.heal(controller, other)
            wait_until(lambda: client.call(MetadataRequest(topics=asked), 9).brokers != [])
            answer = client.call(MetadataRequest(topics=asked), 9)
        assert sorted(broker.node_id for broker in answer.brokers) == [0, 1]
        assert answer.controller_id == controller.broker_id
        assert [topic.name for topic in answer.topics] == ["t"]
