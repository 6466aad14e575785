"""AddOffsetsToTxn: the group's partition joins the transaction."""

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from tests.server.raw_client import RawClient
from tests.server.transaction_requests import V1, Id, Transactional


@pytest.mark.parametrize("version", range(5))
def test_the_groups_partition_joins(broker: Broker, client: RawClient, version: int) -> None:
    producer = Transactional(client, f"offsets-{version}", V1).begin()
    assert producer.add_offsets("group", version=version) == 0
    (topic,) = producer.described.topics
    index = broker.server.groups.partition_of("group")
    assert (topic.topic, topic.partitions) == ("__consumer_offsets", [index])
    assert producer.state == "Ongoing"
    assert producer.end() == 0


def test_the_first_group_waits_for_its_topic() -> None:
    with Broker() as broker, RawClient(broker.port) as client:
        producer = Transactional(client, "first", V1).begin()
        assert producer.add_offsets("group") == 0
        assert "__consumer_offsets" in broker.server.metadata.topics


@pytest.mark.parametrize(
    ("version", "code"),
    [(1, ErrorCode.INVALID_PRODUCER_EPOCH), (2, ErrorCode.PRODUCER_FENCED)],
)
def test_who_may_not(client: RawClient, version: int, code: ErrorCode) -> None:
    producer = Transactional(client, f"not-{version}", V1).begin()
    producer_id, epoch = producer.id
    producer.id = Id(producer_id, epoch + 1)
    assert producer.add_offsets("group", version=version) == code
    producer.id = Id(producer_id + 1, epoch)
    mapping = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert producer.add_offsets("group", version=version) == mapping
    assert Transactional(client, "unknown").add_offsets("group", version=version) == mapping
