"""DeleteRecords: boundaries, refusals, and what Fetch and ListOffsets say afterwards."""

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from tests.server.admin import create, new_topic
from tests.server.raw_client import RawClient, batch, fetch_request, produce_request

LATEST, EARLIEST = -1, -2


def delete(
    client: RawClient, topic: str, offset: int, partition: int = 0, version: int = 2
) -> tuple[int, int]:
    """(error code, low watermark)."""
    wanted = DeleteRecordsPartition(partition_index=partition, offset=offset)
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsTopic(name=topic, partitions=[wanted])], timeout_ms=5000
    )
    (answer,) = client.call(request, version).topics[0].partitions
    return answer.error_code, answer.low_watermark


def offset_of(client: RawClient, topic: str, timestamp: int) -> int:
    wanted = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
    request = ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[wanted])]
    )
    found: int = client.call(request, 5).topics[0].partitions[0].offset
    return found


@pytest.fixture
def filled(client: RawClient, request: pytest.FixtureRequest) -> str:
    """A topic with five batches of one record."""
    name = f"t{abs(hash(request.node.name))}"
    create(client, new_topic(name))
    for _ in range(5):
        client.call(produce_request(name, batch(b"x")), 7)
    return name


@pytest.mark.parametrize("version", range(3))
def test_the_log_begins_later(client: RawClient, filled: str, version: int) -> None:
    assert delete(client, filled, 3, version=version) == (0, 3)
    assert (offset_of(client, filled, EARLIEST), offset_of(client, filled, LATEST)) == (3, 5)
    below = client.call(fetch_request(filled, 2, max_wait_ms=60_000), 11).responses[0].partitions[0]
    assert below.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    above = client.call(fetch_request(filled, 3), 11).responses[0].partitions[0]
    assert (above.error_code, above.log_start_offset) == (0, 3)
    assert int.from_bytes(bytes(above.records or b"")[:8], "big") == 3


def test_what_is_gone_already_is_fine(client: RawClient, filled: str) -> None:
    assert delete(client, filled, 3) == (0, 3)
    for offset in (3, 2, 0):
        assert delete(client, filled, offset) == (0, 3)


def test_minus_one_is_the_high_watermark(client: RawClient, filled: str) -> None:
    assert delete(client, filled, -1) == (0, 5)
    assert offset_of(client, filled, EARLIEST) == offset_of(client, filled, LATEST) == 5
    answer = client.call(produce_request(filled, batch(b"y")), 7)
    part = answer.responses[0].partition_responses[0]
    assert (part.base_offset, part.log_start_offset) == (5, 5)


@pytest.mark.parametrize("offset", [6, 99, 2**63 - 1, -2, -(2**63)])
def test_offsets_out_of_range(client: RawClient, filled: str, offset: int) -> None:
    assert delete(client, filled, offset) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert offset_of(client, filled, EARLIEST) == 0


def test_an_empty_partition(client: RawClient) -> None:
    create(client, new_topic("empty"))
    assert delete(client, "empty", 0) == (0, 0)
    assert delete(client, "empty", -1) == (0, 0)


def test_partitions_that_are_not_there(client: RawClient, filled: str) -> None:
    assert delete(client, "nope", 0) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert delete(client, filled, 0, partition=9) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)


@pytest.mark.parametrize(("policy", "code"), [("compact", 44), ("compact,delete", 0)])
def test_compacted_topics(client: RawClient, policy: str, code: int) -> None:
    create(client, new_topic(policy.replace(",", "-"), settings={"cleanup.policy": policy}))
    assert delete(client, policy.replace(",", "-"), 0)[0] == code


def test_kafkas_own_topics(client: RawClient) -> None:
    assert delete(client, "__transaction_state", 0)[0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    create(client, new_topic("__transaction_state"))
    assert delete(client, "__transaction_state", 0)[0] == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_it_survives_a_restart() -> None:
    with Broker() as broker:
        with RawClient(broker.port) as client:
            create(client, new_topic("kept", settings={"retention.ms": "-1"}))
            for _ in range(5):
                client.call(produce_request("kept", batch(b"x")), 7)
            assert delete(client, "kept", 4) == (0, 4)
        broker.restart()
        with RawClient(broker.port) as client:
            assert (offset_of(client, "kept", EARLIEST), offset_of(client, "kept", LATEST)) == (
                4,
                5,
            )
