"""What a produce waits for when its partitions have still to be replicated."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.server.cluster.metadata import PartitionInfo, TopicInfo
from barnabas.server.observing.metrics import Metrics
from barnabas.server.replication.partition import Partition
from barnabas.server.replication.replicas import Replicas
from barnabas.server.replication.unsettled_appends import UnsettledAppends
from barnabas.storage.log_config import LogConfig
from barnabas.storage.manager.log_manager import LogManager
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.uuids import Uuid
from tests.server.replication.leaders import leader_parts
from tests.storage.logs import NOW_MS, a_batch

LEADER, FOLLOWER = 1, 2
BOTH = (LEADER, FOLLOWER)


@pytest.fixture
def replicas(tmp_path: Path) -> Iterator[Replicas]:
    """Partitions 0 and 1 of "t", led here, with one record that the other replica lacks."""
    disks = LogManager([str(tmp_path)])
    disks.open(lambda _: LogConfig(), NOW_MS)
    made = Replicas(LEADER, disks, lambda topic, index: topic == "t", Metrics(), leader_parts())
    for index in range(2):
        info = PartitionInfo(index, LEADER, 0, BOTH, BOTH)
        partition = made.host(TopicInfo("t", Uuid(b"t" * 16), ()), info, LogConfig(), NOW_MS)
        partition.append(a_batch(1), -1, NOW_MS)
    yield made
    disks.close()


def replicate(partition: Partition) -> None:
    partition.log.maybe_increment_high_watermark(1)


def appends(replicas: Replicas, acks: int = -1) -> tuple[list[Partition], UnsettledAppends]:
    partitions = [replicas.require("t", index) for index in range(2)]
    return partitions, UnsettledAppends(
        replicas, [(each, 1, each.led_since) for each in partitions], acks
    )


def test_it_is_ready_when_the_last_partition_is_replicated(replicas: Replicas) -> None:
    partitions, unsettled = appends(replicas)
    assert unsettled.keys == (("t", 0), ("t", 1))
    for partition, is_ready in zip(partitions, (False, True), strict=True):
        assert not unsettled.is_ready(partition.key)
        replicate(partition)
        assert unsettled.is_ready(partition.key) is is_ready
    assert [unsettled.failure_of(each, 1) for each in partitions] == [ErrorCode.NONE] * 2


def test_only_what_is_not_settled_is_waited_for(replicas: Replicas) -> None:
    replicate(replicas.require("t", 0))
    assert appends(replicas)[1].keys == (("t", 1),)
    assert appends(replicas, acks=1)[1].keys == ()


def test_when_the_time_is_up_what_is_not_replicated_has_timed_out(replicas: Replicas) -> None:
    partitions, unsettled = appends(replicas)
    replicate(partitions[0])
    codes = [unsettled.failure_of(each, 1) for each in partitions]
    assert codes == [ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT]


def test_a_partition_that_was_lost_stays_lost_though_it_is_led_again(replicas: Replicas) -> None:
    partitions, unsettled = appends(replicas)
    moved, other = partitions
    moved.become_follower(FOLLOWER, 1, BOTH, BOTH)
    assert not unsettled.is_ready(moved.key)
    moved.become_leader(2, BOTH, BOTH)
    replicate(moved)
    assert unsettled.failure_of(moved, 1) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    other.become_follower(FOLLOWER, 1, BOTH, BOTH)  # nobody was told, the time is up
    assert unsettled.failure_of(other, 1) is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_what_was_replicated_before_too_few_were_left_is_said_to_be_appended(
    replicas: Replicas,
) -> None:
    partitions, unsettled = appends(replicas)
    for partition in partitions:
        demanded = dataclasses.replace(partition.log.config, min_insync_replicas=2)
        partition.log.update_config(demanded)
        replicate(partition)
    partitions[1].become_leader(1, BOTH, (LEADER,))
    assert [unsettled.is_ready(each.key) for each in partitions] == [False, True]
    codes = [unsettled.failure_of(each, 1) for each in partitions]
    assert codes == [ErrorCode.NONE, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND]
