"""What a fetch reads without a broker around it: its partitions' logs, its limits, its refusals."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from barnabas.server.cluster.metadata import PartitionInfo, TopicInfo
from barnabas.server.network.read_ahead import ReadAhead
from barnabas.server.observing.metrics import Metrics
from barnabas.server.replication.fetch_reader import FetchReader
from barnabas.server.replication.fetch_sessions import wanted_of
from barnabas.server.replication.replicas import Replicas
from barnabas.server.replication.watched_fetch import WatchedFetch
from barnabas.storage.log_config import LogConfig
from barnabas.storage.manager.log_manager import LogManager
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.uuids import Uuid
from tests.server.replication.leaders import leader_parts
from tests.storage.logs import NOW_MS, a_batch

LEADER, FOLLOWER, STRANGER = 1, 2, 3
BATCH_BYTES = len(a_batch(1))


@pytest.fixture
def replicas(tmp_path: Path) -> Iterator[Replicas]:
    """Partitions 0 and 1 of "t", led here with one batch each; 2 is led by another broker."""
    disks = LogManager([str(tmp_path)])
    disks.open(lambda _: LogConfig(), NOW_MS)
    made = Replicas(LEADER, disks, lambda topic, index: topic == "t", Metrics(), leader_parts())
    topic = TopicInfo("t", Uuid(b"t" * 16), ())
    for index, leader_id in enumerate((LEADER, LEADER, FOLLOWER)):
        info = PartitionInfo(index, leader_id, 0, (LEADER, FOLLOWER), (LEADER,))
        partition = made.host(topic, info, LogConfig(), NOW_MS)
        if partition.is_leader:
            partition.append(a_batch(1), 1, NOW_MS)
    yield made
    disks.close()


def reader_of(
    replicas: Replicas,
    *indexes: int,
    offset: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    replica_id: int = -1,
    version: int = 12,
) -> FetchReader:
    """A fetch of partitions of "t", each with all of the request's bytes."""
    partitions = [
        FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=max_bytes)
        for index in indexes
    ]
    request = FetchRequest(
        replica_id=replica_id, min_bytes=min_bytes, max_bytes=max_bytes, max_wait_ms=100,
        topics=[FetchTopic(topic="t", partitions=partitions)],
    )  # fmt: skip
    wanted = wanted_of(request, False, lambda _: None)
    return FetchReader(replicas, ReadAhead(), request, version, wanted, 1 << 20)


def sizes_of(reader: FetchReader) -> list[int]:
    return [len(answer.records or b"") for _, _, answer in reader.answers]


def errors_of(reader: FetchReader) -> list[ErrorCode]:
    return [ErrorCode(answer.error_code) for _, _, answer in reader.answers]


def in_steps(reader: FetchReader) -> None:
    reader.start()
    for _ in reader.read_rest_in_steps():
        pass


@pytest.mark.parametrize("read", [FetchReader.read_all, in_steps])
def test_partitions_are_read_in_order_at_once_and_in_steps(
    replicas: Replicas, read: Callable[[FetchReader], None]
) -> None:
    reader = reader_of(replicas, 1, 0)
    read(reader)
    read(reader)  # again, as after a wait: nothing is answered twice
    assert [wanted.index for _, wanted, _ in reader.answers] == [1, 0]
    assert sizes_of(reader) == [BATCH_BYTES, BATCH_BYTES]
    assert reader.size == 2 * BATCH_BYTES and reader.is_enough and not reader.decided


def test_the_first_batch_is_whole_and_the_next_partition_gives_nothing_for_want_of_room(
    replicas: Replicas,
) -> None:
    reader = reader_of(replicas, 0, 1, max_bytes=10)
    reader.read_all()
    assert sizes_of(reader) == [BATCH_BYTES, 0]


def test_an_old_client_gets_no_more_than_it_asked_for(replicas: Replicas) -> None:
    reader = reader_of(replicas, 0, max_bytes=10, version=2)
    reader.read_all()
    assert sizes_of(reader) == [10]


@pytest.mark.parametrize(
    "index, offset, replica_id, code",
    [
        (0, 9, -1, ErrorCode.OFFSET_OUT_OF_RANGE),
        (2, 0, LEADER, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (5, 0, -1, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (0, 0, STRANGER, ErrorCode.NOT_LEADER_OR_FOLLOWER),
    ],
)
def test_a_refusal_decides_the_answer_and_is_no_failure_of_the_broker(
    replicas: Replicas, index: int, offset: int, replica_id: int, code: ErrorCode
) -> None:
    reader = reader_of(replicas, index, offset=offset, replica_id=replica_id, min_bytes=1 << 20)
    reader.read_all()
    assert errors_of(reader) == [code] and reader.decided and reader.is_enough
    counts = replicas.counts_of("t")
    assert counts is not None and counts.failed_fetch_requests == 0


@pytest.mark.parametrize("version, code", [(10, ErrorCode.NOT_LEADER_OR_FOLLOWER), (11, 0)])
def test_consumers_read_from_followers_what_is_committed(
    replicas: Replicas, version: int, code: ErrorCode
) -> None:
    followed = replicas.require("t", 1)
    followed.append(a_batch(1), 1, NOW_MS)
    followed.become_leader(1, (LEADER, FOLLOWER), (LEADER, FOLLOWER))
    followed.append(a_batch(1), 1, NOW_MS)
    followed.become_follower(FOLLOWER, 2, (LEADER, FOLLOWER), (FOLLOWER,))
    reader = reader_of(replicas, 1, version=version)
    reader.read_all()
    assert errors_of(reader) == [code]
    assert sizes_of(reader) == [0 if code else 2 * BATCH_BYTES]
    reader = reader_of(replicas, 1, offset=2, version=version)
    reader.read_all()
    watched = WatchedFetch(reader)
    assert watched.is_ready(("t", 1)) is bool(code), "a follower's consumer waits"
    followed.log.maybe_increment_high_watermark(3)
    assert watched.is_ready(("t", 1))


def test_a_follower_reads_beyond_what_is_committed_and_a_consumer_does_not(
    replicas: Replicas,
) -> None:
    partition = replicas.require("t", 0)
    partition.become_leader(0, (LEADER, FOLLOWER), (LEADER, FOLLOWER))
    partition.append(a_batch(1), 1, NOW_MS)
    sizes = []
    for replica_id in (-1, FOLLOWER):
        reader = reader_of(replicas, 0, replica_id=replica_id)
        reader.read_all()
        sizes += sizes_of(reader)
    assert sizes == [BATCH_BYTES, 2 * BATCH_BYTES]


def test_what_waits_is_ready_when_all_its_partitions_together_have_enough(
    replicas: Replicas,
) -> None:
    reader = reader_of(replicas, 0, 1, offset=1, min_bytes=2 * BATCH_BYTES)
    reader.read_all()
    assert not reader.is_enough
    watched = WatchedFetch(reader)
    assert watched.keys == [("t", 0), ("t", 1)]
    assert not watched.is_ready(("t", 0))
    for index, is_ready in ((0, False), (1, True)):
        replicas.require("t", index).append(a_batch(1), 1, NOW_MS)
        assert watched.is_ready(("t", index)) is is_ready


def test_what_waits_is_ready_when_a_partition_is_led_no_more_or_gone(replicas: Replicas) -> None:
    reader = reader_of(replicas, 0, 1, offset=1, version=10)
    reader.read_all()
    watched = WatchedFetch(reader)
    replicas.require("t", 0).become_follower(FOLLOWER, 1, (LEADER, FOLLOWER), (FOLLOWER,))
    replicas.delete("t", [1])
    assert watched.is_ready(("t", 0)) and watched.is_ready(("t", 1))
