"""DeleteRecords: boundaries, refusals, and what Fetch and ListOffsets say afterwards."""

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tests.server.admin import create, new_topic
from tests.server.names import unique
from tests.server.raw_client import RawClient
from tests.server.records import (
    EARLIEST,
    LATEST,
    batches_of,
    fetch_request,
    fetched,
    list_offset,
    make_batch,
    produce,
    read,
)


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


def bounds(client: RawClient, topic: str) -> tuple[int, int]:
    """Where the log begins and ends."""
    first, last = (list_offset(client, topic, when).offset for when in (EARLIEST, LATEST))
    return first, last


@pytest.fixture
def filled(client: RawClient) -> str:
    """A topic with five batches of one record."""
    name = unique("filled")
    create(client, new_topic(name))
    for _ in range(5):
        produce(client, name, make_batch(b"x"))
    return name


@pytest.mark.parametrize("version", range(3))
def test_the_log_begins_later(client: RawClient, filled: str, version: int) -> None:
    assert delete(client, filled, 3, version=version) == (0, 3)
    assert bounds(client, filled) == (3, 5)
    below = fetched(client.call(fetch_request(filled, 2, max_wait_ms=60_000), 11))[filled, 0]
    assert below.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    above = read(client, filled, 3)
    assert (above.error_code, above.log_start_offset) == (0, 3)
    assert batches_of(above)[0].base_offset == 3


def test_what_is_gone_already_is_fine(client: RawClient, filled: str) -> None:
    assert delete(client, filled, 3) == (0, 3)
    for offset in (3, 2, 0):
        assert delete(client, filled, offset) == (0, 3)


def test_minus_one_is_the_high_watermark(client: RawClient, filled: str) -> None:
    assert delete(client, filled, -1) == (0, 5)
    assert bounds(client, filled) == (5, 5)
    answer = produce(client, filled, make_batch(b"y"))
    assert (answer.base_offset, answer.log_start_offset) == (5, 5)


@pytest.mark.parametrize("offset", [6, 99, 2**63 - 1, -2, -(2**63)])
def test_offsets_out_of_range(client: RawClient, filled: str, offset: int) -> None:
    assert delete(client, filled, offset) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert bounds(client, filled) == (0, 5)


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
                produce(client, "kept", make_batch(b"x"))
            assert delete(client, "kept", 4) == (0, 4)
        broker.restart()
        with RawClient(broker.port) as client:
            assert bounds(client, "kept") == (4, 5)
