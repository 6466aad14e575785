"""A partition's append: what it passes on to the log, and when it refuses by itself."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.server.core.errors import ApiError
from barnabas.server.observing.metrics import Metrics
from barnabas.server.replication.partition import Partition
from barnabas.storage.batch.builder import build_end_transaction_marker
from barnabas.storage.batch.control_records import EndTransactionMarker
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.errors import InvalidProducerEpoch, InvalidTransactionState
from barnabas.storage.log_config import LogConfig
from barnabas.storage.manager.log_manager import LogManager
from barnabas.storage.producers.entry import AppendOrigin
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.uuids import Uuid
from tests.server.replication.leaders import leader_parts
from tests.storage.logs import NOW_MS, a_batch

PRODUCER_ID = 7


@pytest.fixture
def partition(tmp_path: Path) -> Iterator[Partition]:
    disks = LogManager([str(tmp_path)])
    disks.open(lambda _: LogConfig(), NOW_MS)
    log = disks.create(TopicPartition("t", 0), LogConfig(), NOW_MS)
    made = Partition("t", Uuid(b"t" * 16), 0, 1, log, Metrics().topic("t"), leader_parts())
    made.become_leader(0, (1,), (1,))
    yield made
    disks.close()


def transactional() -> bytearray:
    return a_batch(2, producer_id=PRODUCER_ID, sequence=0, transactional=True)


def end(partition: Partition, *, transaction_version: int) -> None:
    """Write a commit marker with the producer's own epoch, as before transactions version 2."""
    marker = build_end_transaction_marker(
        EndTransactionMarker(True, 0),
        producer_id=PRODUCER_ID,
        producer_epoch=0,
        timestamp_ms=NOW_MS,
    )
    partition.append(
        memoryview(marker), -1, NOW_MS,
        origin=AppendOrigin.COORDINATOR, transaction_version=transaction_version,
    )  # fmt: skip


def test_a_transaction_begins_with_the_guard_that_the_log_gave_out(partition: Partition) -> None:
    log = partition.log
    log.appender.verifies_transactions = True
    with pytest.raises(InvalidTransactionState):
        partition.append(transactional(), -1, NOW_MS)
    guard = log.appender.start_transaction_verification(
        PRODUCER_ID, 0, 0, NOW_MS, can_bump_epoch=False
    )
    info = partition.append(transactional(), -1, NOW_MS, verification_guard=guard)
    assert (info.first_offset, log.last_stable_offset) == (0, 0)


def test_a_marker_is_judged_by_the_version_of_its_transactions(partition: Partition) -> None:
    partition.append(transactional(), -1, NOW_MS)
    with pytest.raises(InvalidProducerEpoch):
        end(partition, transaction_version=2)
    end(partition, transaction_version=1)
    assert partition.log.last_stable_offset == 3


def test_only_the_leader_appends(partition: Partition) -> None:
    for leave in (lambda: partition.become_follower(2, 1, (1, 2), (2,)), partition.went_offline):
        leave()
        with pytest.raises(ApiError) as refusal:
            partition.append(a_batch(), -1, NOW_MS)
        assert refusal.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
        partition.become_leader(2, (1,), (1,))
    partition.append(a_batch(), -1, NOW_MS)


def test_acks_of_all_take_as_many_replicas_in_sync_as_are_demanded(partition: Partition) -> None:
    partition.log.update_config(dataclasses.replace(partition.log.config, min_insync_replicas=2))
    partition.become_leader(1, (1, 2, 3), (1,))
    with pytest.raises(ApiError) as refusal:
        partition.append(a_batch(), -1, NOW_MS)
    assert refusal.value.code is ErrorCode.NOT_ENOUGH_REPLICAS
    assert partition.log.log_end_offset == 0
    partition.append(a_batch(), 1, NOW_MS)
    partition.become_leader(2, (1, 2, 3), (1, 3))
    partition.append(a_batch(), -1, NOW_MS)
    assert partition.log.log_end_offset == 2


def test_a_leadership_goes_on_in_a_new_epoch_and_is_over_with_another_leader(
    partition: Partition,
) -> None:
    partition.become_leader(1, (1, 2), (1, 2))
    assert partition.has_led_since(0)
    partition.become_follower(2, 2, (1, 2), (1, 2))
    assert not partition.has_led_since(0)
    partition.become_leader(3, (1, 2), (1, 2))
    assert (partition.has_led_since(0), partition.has_led_since(3)) == (False, True)
