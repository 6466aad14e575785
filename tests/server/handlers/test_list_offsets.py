"""ListOffsets: specials, times, leader epochs."""

import pytest

from barnabas.server.testing.broker import Broker
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.server.names import unique
from tests.server.raw_client import RawClient
from tests.server.records import (
    EARLIEST,
    LATEST,
    NOW_MS,
    batches_of,
    list_offset,
    make_batch,
    produce,
    read,
)

MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -3, -4, -5, -6


@pytest.fixture
def topic(broker: Broker) -> str:
    return broker.create_topic(unique("t"), 3, {"retention.ms": -1})


def found(client: RawClient, topic: str, timestamp: int, version: int = 5) -> tuple[int, int, int]:
    """(error code, offset, timestamp)."""
    answer = list_offset(client, topic, timestamp, version=version)
    return answer.error_code, answer.offset, answer.timestamp


@pytest.mark.parametrize("version", range(1, 12))
def test_ends_in_every_version(client: RawClient, topic: str, version: int) -> None:
    for _ in range(4):
        produce(client, topic, make_batch(b"x"))
    assert found(client, topic, LATEST, version) == (0, 4, -1)
    assert found(client, topic, EARLIEST, version) == (0, 0, -1)


def test_v0_lists_where_segments_begin(client: RawClient, topic: str) -> None:
    for _ in range(4):
        produce(client, topic, make_batch(b"x"))

    def listed(timestamp: int, most: int) -> list[int]:
        asked = ListOffsetsPartition(partition_index=0, timestamp=timestamp, max_num_offsets=most)
        request = ListOffsetsRequest(
            replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[asked])]
        )
        (answer,) = client.call(request, 0).topics[0].partitions
        offsets: list[int] = answer.old_style_offsets
        return offsets

    assert listed(LATEST, 10) == [4, 0]
    assert listed(LATEST, 1) == [4]
    assert listed(EARLIEST, 10) == [0]


@pytest.mark.parametrize(
    ("after_ms", "offset", "at_ms"),
    [(0, 0, 2), (2, 0, 2), (3, 1, 4), (5, 2, 6), (8, 3, 8), (9, -1, None), (10**9, -1, None)],
)
def test_the_first_record_at_or_after_a_time(
    client: RawClient, topic: str, after_ms: int, offset: int, at_ms: int | None
) -> None:
    for later in (2, 4, 6, 8):
        produce(client, topic, make_batch(b"x", timestamps=[NOW_MS + later]))
    timestamp = -1 if at_ms is None else NOW_MS + at_ms
    assert found(client, topic, NOW_MS + after_ms) == (0, offset, timestamp)


def test_times_out_of_order(client: RawClient, topic: str) -> None:
    for timestamps in ([NOW_MS + 5, NOW_MS + 1], [NOW_MS + 3, NOW_MS + 9], [NOW_MS + 7]):
        produce(client, topic, make_batch(*[b"x"] * len(timestamps), timestamps=timestamps))
    assert found(client, topic, NOW_MS + 4) == (0, 0, NOW_MS + 5)
    assert found(client, topic, NOW_MS + 6) == (0, 3, NOW_MS + 9)


def test_an_empty_partition(client: RawClient, topic: str) -> None:
    assert found(client, topic, NOW_MS) == (0, -1, -1)
    assert found(client, topic, LATEST) == found(client, topic, EARLIEST) == (0, 0, -1)
    assert found(client, topic, MAX_TIMESTAMP, 7) == (0, -1, -1)


def test_a_time_in_many_partitions_at_once(client: RawClient, topic: str) -> None:
    produce(client, topic, make_batch(b"a", timestamps=[NOW_MS]), partition=0)
    produce(client, topic, make_batch(b"b", timestamps=[NOW_MS + 20]), partition=1)
    request = ListOffsetsRequest(
        replica_id=-1,
        topics=[
            ListOffsetsTopic(
                name=topic,
                partitions=[
                    ListOffsetsPartition(partition_index=index, timestamp=NOW_MS + 10)
                    for index in range(3)
                ],
            )
        ],
    )
    (answer,) = client.call(request, 5).topics
    assert [(p.partition_index, p.error_code, p.offset) for p in answer.partitions] == [
        (0, 0, -1), (1, 0, 0), (2, 0, -1),
    ]  # fmt: skip


def test_later_specials(client: RawClient, topic: str) -> None:
    produce(client, topic, make_batch(b"a", b"b", timestamps=[NOW_MS + 9, NOW_MS]))
    produce(client, topic, make_batch(b"c", timestamps=[NOW_MS + 1]))
    assert found(client, topic, MAX_TIMESTAMP, 7) == (0, 0, NOW_MS + 9)
    assert found(client, topic, EARLIEST_LOCAL, 8) == (0, 0, -1)
    assert found(client, topic, LATEST_TIERED, 9) == (0, -1, -1)
    assert found(client, topic, EARLIEST_PENDING_UPLOAD, 11) == (0, -1, -1)


@pytest.mark.parametrize(
    ("special", "version"),
    [(MAX_TIMESTAMP, 6), (EARLIEST_LOCAL, 7), (LATEST_TIERED, 8), (EARLIEST_PENDING_UPLOAD, 10)],
)
def test_specials_before_their_version(
    client: RawClient, topic: str, special: int, version: int
) -> None:
    code = list_offset(client, topic, special, version=version).error_code
    assert code == ErrorCode.UNSUPPORTED_VERSION


def test_leader_epochs_agree_everywhere() -> None:
    with Broker({"log.retention.ms": -1}) as broker:
        broker.create_topic("t")
        broker.restart()
        with RawClient(broker.port) as client:
            produce(client, "t", make_batch(b"a", b"b"))
            request = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
            (partition,) = client.call(request, 9).topics[0].partitions
            epoch = partition.leader_epoch
            assert epoch == 1
            assert list_offset(client, "t", LATEST).leader_epoch == epoch
            assert list_offset(client, "t", NOW_MS).leader_epoch == epoch
            assert batches_of(read(client, "t"))[0].partition_leader_epoch == epoch
            codes = [
                list_offset(client, "t", LATEST, current_leader_epoch=current).error_code
                for current in (-1, epoch, epoch - 1, epoch + 1)
            ]
            assert codes == [
                0, 0, ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH,
            ]  # fmt: skip


def test_partitions_that_are_not_there(client: RawClient, topic: str) -> None:
    assert list_offset(client, topic, LATEST, partition=9).error_code == 3
    assert list_offset(client, "nope", LATEST).error_code == 3


@pytest.mark.parametrize(
    "version, code",
    [(4, ErrorCode.LEADER_NOT_AVAILABLE), (5, ErrorCode.OFFSET_NOT_AVAILABLE)],
)
def test_a_new_leader_does_not_say_what_it_does_not_know_yet(
    broker: Broker, client: RawClient, topic: str, version: int, code: ErrorCode
) -> None:
    """The one before it has committed more, perhaps, than its followers have asked it for."""
    produce(client, topic, make_batch(b"x", timestamps=[NOW_MS]))
    partition = broker.server.replicas.require(topic, 0)
    own = broker.server.broker_id

    def lead(epoch: int, isr: tuple[int, ...]) -> None:
        partition.become_leader(epoch, (own, 77), isr)

    broker.call(lambda: lead(5, (own, 77)))
    produce(client, topic, make_batch(b"y", timestamps=[NOW_MS + 5]), acks=1)
    assert found(client, topic, LATEST, version) == (0, 1, -1)
    broker.call(lambda: lead(6, (own, 77)))
    for timestamp in (LATEST, NOW_MS + 5):
        assert found(client, topic, timestamp, version)[0] == code
    assert found(client, topic, NOW_MS, version) == (0, 0, NOW_MS)
    assert found(client, topic, EARLIEST, version) == (0, 0, -1)
    broker.call(lambda: lead(7, (own,)))
    assert found(client, topic, LATEST, version) == (0, 2, -1)
    assert found(client, topic, NOW_MS + 6, version) == (0, -1, -1)
