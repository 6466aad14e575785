"""Markers into the partitions led here: when they are safe, and what becomes of offsets then."""

from dataclasses import replace

import pytest

from barnabas.server.coordinators import loading
from barnabas.server.core.topic_names import OFFSETS_TOPIC
from barnabas.server.replication.partition import NO_LEADER
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.messages.write_txn_markers import WriteTxnMarkersResponse
from tests.server.transactions.open_transactions import (
    PRODUCER,
    codes_in,
    is_open,
    marker,
    markers_in,
    open_transaction,
)

from .world import TIMEOUT_MS, World

OFFSETS = (OFFSETS_TOPIC, 0)


def code_of_first(answer: WriteTxnMarkersResponse) -> ErrorCode:
    (code,) = codes_in(answer).values()
    return ErrorCode(code)


# With another replica.


def test_a_marker_is_answered_when_every_replica_has_it(world: World) -> None:
    (partition,) = world.lead_topic("t", isr=(0, 1))
    open_transaction(partition)
    deferred = world.write(marker([("t", 0)]))
    assert not deferred.done
    world.replicated(partition)
    assert code_of_first(deferred.answer()) is ErrorCode.NONE


def test_one_that_the_replicas_do_not_fetch_times_out(world: World) -> None:
    (partition,) = world.lead_topic("t", isr=(0, 1))
    open_transaction(partition)
    deferred = world.write(marker([("t", 0)]))
    world.clock.advance(TIMEOUT_MS)
    assert code_of_first(deferred.answer()) is ErrorCode.REQUEST_TIMED_OUT


def test_a_leader_that_moves_meanwhile_says_so(world: World) -> None:
    (partition,) = world.lead_topic("t", isr=(0, 1))
    open_transaction(partition)
    deferred = world.write(marker([("t", 0)]))
    partition.become_follower(1, 2, (0, 1), (1,))
    world.produces.complete(partition.key)
    assert code_of_first(deferred.answer()) is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_the_answer_waits_for_the_slowest_partition(world: World) -> None:
    fast = world.lead_topic("fast")[0]
    slow = world.lead_topic("slow", isr=(0, 1))[0]
    for each in (fast, slow):
        open_transaction(each)
    deferred = world.write(marker([("slow", 0), ("fast", 0)]))
    assert not is_open(fast) and not deferred.done
    world.replicated(slow)
    assert set(codes_in(deferred.answer()).values()) == {ErrorCode.NONE}


def test_a_marker_needs_the_least_in_sync_replicas(world: World) -> None:
    (partition,) = world.lead_topic("t", isr=(0, 1))
    partition.isr, partition.replicas = (0,), (0, 1, 2)
    partition.log.update_config(replace(partition.log.config, min_insync_replicas=2))
    assert world.written(marker([("t", 0)])) == [ErrorCode.NOT_ENOUGH_REPLICAS]
    assert markers_in(partition) == []


def test_a_follower_takes_no_markers(world: World) -> None:
    (partition,) = world.lead_topic("t")
    partition.become_follower(NO_LEADER, 2, (0, 1), (1,))
    assert world.written(marker([("t", 0)])) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]


def test_a_partition_whose_directory_failed_is_unknown(world: World) -> None:
    world.lead_topic("t")
    directory = world.replicas.require("t", 0).log.directory.rpartition("/")[0]
    world.replicas.directory_failed(directory)
    assert world.written(marker([("t", 0)])) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


# Offsets of groups.


@pytest.mark.parametrize(("is_commit", "offset"), [(True, 7), (False, 3)])
def test_offsets_take_effect_with_the_marker(world: World, is_commit: bool, offset: int) -> None:
    world.commit(3)
    world.commit_in_transaction(7)
    assert world.committed() == 3
    assert world.written(marker([OFFSETS], is_commit=is_commit)) == [ErrorCode.NONE]
    assert world.committed() == offset
    assert not world.group().offsets.is_unstable("orders", 0)
    world.reload()
    assert world.committed() == offset


def test_offsets_wait_until_the_marker_is_safe(world: World) -> None:
    world.commit(3)
    world.commit_in_transaction(7)
    partition = world.partition()
    partition.isr = partition.replicas = (0, 1)
    deferred = world.write(marker([OFFSETS]))
    assert (world.committed(), deferred.done) == (3, False)
    assert world.group().offsets.is_unstable("orders", 0)
    world.replicated(partition)
    assert (world.committed(), deferred.done) == (7, True)


def test_a_marker_that_timed_out_is_made_good_by_its_retry(world: World) -> None:
    world.commit_in_transaction(7)
    partition = world.partition()
    partition.isr = partition.replicas = (0, 1)
    first = world.write(marker([OFFSETS]))
    world.clock.advance(TIMEOUT_MS)
    assert code_of_first(first.answer()) is ErrorCode.REQUEST_TIMED_OUT
    assert world.committed() == -1
    second = world.write(marker([OFFSETS]))
    world.replicated(partition)
    assert code_of_first(second.answer()) is ErrorCode.NONE
    assert world.committed() == 7


def test_other_partitions_markers_do_not_touch_offsets(world: World) -> None:
    world.lead_topic("t")
    world.commit_in_transaction(7)
    world.written(marker([("t", 0)]))
    assert world.group().offsets.is_unstable("orders", 0)


@pytest.fixture
def _record_by_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading gives way after every record."""
    monkeypatch.setattr(loading, "SLICE_MS", -1.0)
    monkeypatch.setattr(loading, "RECORDS_BETWEEN_LOOKS", 1)


@pytest.mark.usefixtures("_record_by_record")
@pytest.mark.parametrize("after", [0, 1, 2])
@pytest.mark.parametrize(("is_commit", "offset"), [(True, 7), (False, 3)])
def test_a_marker_during_the_loading_is_read_from_the_log(
    world: World, is_commit: bool, offset: int, after: int
) -> None:
    """It is not told to the shard, which is not answered for yet: the log's end has moved."""
    world.commit(3)
    world.commit_in_transaction(7)
    deferred = world.write_while_loading(marker([OFFSETS], is_commit=is_commit), after=after)
    assert code_of_first(deferred.answer()) is ErrorCode.NONE
    world.run(world.loaded())
    assert world.committed() == offset
    assert not world.group().offsets.is_unstable("orders", 0)


@pytest.mark.usefixtures("_record_by_record")
def test_a_marker_that_was_loaded_before_it_is_safe_counts_once(world: World) -> None:
    """Told by the log first and by its writer later; nothing is answered before it is safe."""
    world.commit_in_transaction(7)
    partition = world.partition()
    deferred = world.write_while_loading(marker([OFFSETS]), isr=(0, 1))
    world.run(world.replayed())
    assert (world.shards.is_loading, deferred.done) == (True, False)
    world.replicated(partition)
    assert (world.committed(), deferred.done) == (7, True)
    partition.isr = partition.replicas = (0,)
    assert world.commit(9) is ErrorCode.NONE
    world.reload()
    assert world.committed() == 9


@pytest.mark.parametrize(("is_commit", "offset"), [(True, 7), (False, 3)])
def test_a_marker_that_comes_before_what_was_loaded_is_safe_takes_effect(
    world: World, is_commit: bool, offset: int
) -> None:
    """It stands behind what was read, and is told to nobody else."""
    world.commit(3)
    partition = world.partition()
    partition.isr = partition.replicas = (0, 1)
    world.commit_in_transaction(7)

    async def load() -> None:
        world.leadership.resigned(0)
        world.lead(0, partition.leader_epoch + 1, isr=(0, 1))
        await world.replayed()

    world.run(load())
    deferred = world.write(marker([OFFSETS], is_commit=is_commit))
    assert (world.shards.is_loading, deferred.done) == (True, False)
    world.replicated(partition)
    assert (world.committed(), deferred.done) == (offset, True)
    assert not world.group().offsets.is_unstable("orders", 0)


@pytest.mark.broker_says("offsets did not take effect")
def test_offsets_that_cannot_take_effect_are_no_success(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.commit_in_transaction(7)

    def fails(*_: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(world.local, "_end_offsets", fails)
    assert world.written(marker([OFFSETS])) == [ErrorCode.UNKNOWN_SERVER_ERROR]
    monkeypatch.undo()
    assert world.written(marker([OFFSETS])) == [ErrorCode.NONE]
    assert world.committed() == 7
    assert PRODUCER not in world.group().offsets.transactional
