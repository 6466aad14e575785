"""OffsetForLeaderEpoch: where epochs end, over restarts that begin new ones."""

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.server.raw_client import RawClient
from tests.server.records import make_batch, produce

NO_CHECK = -1


def end_of(
    client: RawClient,
    topic: str,
    epoch: int,
    current: int = NO_CHECK,
    partition: int = 0,
    version: int = 4,
) -> tuple[int, int, int]:
    """(error code, epoch, end offset)."""
    asked = OffsetForLeaderPartition(
        partition=partition, current_leader_epoch=current, leader_epoch=epoch
    )
    request = OffsetForLeaderEpochRequest(
        topics=[OffsetForLeaderTopic(topic=topic, partitions=[asked])]
    )
    (found,) = client.call(request, version).topics[0].partitions
    assert found.partition == partition
    return found.error_code, found.leader_epoch, found.end_offset


@pytest.mark.parametrize("version", range(5))
def test_the_epoch_that_goes_on_ends_where_the_log_does(
    broker: Broker, client: RawClient, version: int
) -> None:
    name = broker.create_topic(f"v{version}")
    assert end_of(client, name, 0, version=version)[2] == 0
    produce(client, name, make_batch(b"a", b"b"))
    epoch = 0 if version >= 1 else -1  # v0 does not say which epoch it found
    assert end_of(client, name, 0, version=version) == (0, epoch, 2)


def test_earlier_and_later_epochs() -> None:
    with Broker() as broker:
        broker.create_topic("t", settings={"retention.ms": -1})
        for _ in range(3):
            with RawClient(broker.port) as client:
                produce(client, "t", make_batch(b"a", b"b"))
            broker.restart()
        with RawClient(broker.port) as client:
            assert [end_of(client, "t", epoch) for epoch in range(5)] == [
                (0, 0, 2), (0, 1, 4), (0, 2, 6), (0, 3, 6), (0, -1, -1),
            ]  # fmt: skip
            assert end_of(client, "t", -1) == (0, -1, -1)


def test_the_clients_own_epoch_is_checked() -> None:
    with Broker() as broker:
        broker.create_topic("t")
        broker.restart()
        with RawClient(broker.port) as client:
            assert end_of(client, "t", 1, current=1)[0] == 0
            assert end_of(client, "t", 1, current=0) == (ErrorCode.FENCED_LEADER_EPOCH, -1, -1)
            assert end_of(client, "t", 1, current=2) == (ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1)


def test_partitions_that_are_not_there(broker: Broker, client: RawClient) -> None:
    broker.create_topic("there")
    assert end_of(client, "there", 0, partition=9) == (3, -1, -1)
    assert end_of(client, "nope", 0) == (3, -1, -1)
