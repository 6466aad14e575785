"""One transactional id after the other at its coordinator: what is told, written and sent."""

import asyncio
from pathlib import Path

import pytest

from barnabas.server.core import slices
from barnabas.server.transactions.transaction import (
    TRANSACTIONS_V1,
    TRANSACTIONS_V2,
    ProducerIdAndEpoch,
)
from barnabas.wire.error_codes import ErrorCode

from .coordinator_world import A, B, Producer, World

NONE = ErrorCode.NONE
BOTH = pytest.mark.parametrize("version", [TRANSACTIONS_V1, TRANSACTIONS_V2])


def states(coordinated: World) -> list[str]:
    """The states that were written, in order."""
    return [
        "tombstone" if each is None else each.state.text for each in coordinated.written_states()
    ]


@BOTH
@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_from_its_beginning_to_its_end(
    coordinated: World, version: int, commit: bool
) -> None:
    producer = Producer(coordinated, version=version)
    assert producer.init() is NONE
    assert producer.producer == (1001, 0)
    assert producer.add(A) is producer.add(B) is NONE
    assert producer.end(commit=commit) is NONE
    end = "Commit" if commit else "Abort"
    assert states(coordinated) == ["Empty", "Ongoing", "Ongoing", f"Prepare{end}", f"Complete{end}"]
    (ended,) = coordinated.markers.written
    raised = 1 if version == TRANSACTIONS_V2 else 0
    assert (ended.producer_id, ended.marker_epoch) == (1001, raised)
    assert (ended.is_commit, ended.partitions) == (commit, {A, B})
    assert (ended.coordinator_epoch, ended.transaction_version) == (1, version)
    assert producer.producer == (1001, raised)


@BOTH
def test_transactions_one_after_the_other(coordinated: World, version: int) -> None:
    producer = Producer(coordinated, version=version)
    producer.init()
    for number in range(3):
        assert producer.add() is producer.end(commit=number != 1) is NONE
    assert [ended.is_commit for ended in coordinated.markers.written] == [True, False, True]
    assert producer.producer.producer_epoch == (3 if version == TRANSACTIONS_V2 else 0)


def test_partitions_that_are_there_are_not_written_again(coordinated: World) -> None:
    producer = Producer(coordinated)
    producer.init()
    producer.add(A, B)
    assert producer.add(A) is producer.add(B, A) is NONE
    assert states(coordinated) == ["Empty", "Ongoing"]


def test_what_is_not_known(coordinated: World) -> None:
    producer = Producer(coordinated)
    assert producer.add() is producer.end() is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert producer.verify() is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    nameless = Producer(coordinated, "")
    assert nameless.init() is nameless.add() is nameless.end() is ErrorCode.INVALID_REQUEST
    assert nameless.verify() is ErrorCode.INVALID_REQUEST


def test_timeouts_have_bounds(coordinated: World) -> None:
    producer = Producer(coordinated)
    longest = coordinated.config.transaction_max_timeout_ms
    for timeout_ms in (0, -1, longest + 1):
        assert producer.init(timeout_ms=timeout_ms) is ErrorCode.INVALID_TRANSACTION_TIMEOUT
    assert producer.init(timeout_ms=longest) is NONE


def test_verification(coordinated: World) -> None:
    producer = Producer(coordinated)
    producer.init()
    assert producer.verify(A) == {A: ErrorCode.TRANSACTION_ABORTABLE}
    producer.add(A)
    assert producer.verify(A, B) == {A: NONE, B: ErrorCode.TRANSACTION_ABORTABLE}
    coordinated.markers.holds = True
    before = producer.producer
    producer.end()
    assert producer.verify(A) is ErrorCode.CONCURRENT_TRANSACTIONS
    producer.producer = before
    assert producer.verify(A) is ErrorCode.PRODUCER_FENCED
    producer.producer = ProducerIdAndEpoch(5, 0)
    assert producer.verify(A) is ErrorCode.INVALID_PRODUCER_ID_MAPPING


# Until the end is done.


@BOTH
def test_nobody_gets_on_before_the_markers_are_written(coordinated: World, version: int) -> None:
    producer = Producer(coordinated, version=version)
    producer.init()
    producer.add()
    by = producer.producer
    coordinated.markers.holds = True
    assert producer.end() is NONE, "it is certain, and answered"
    assert producer.state.state.text == "PrepareCommit"
    for ask in (producer.init, lambda: producer.init(known=True), producer.add):
        assert ask() is ErrorCode.CONCURRENT_TRANSACTIONS
    for commit in (True, False):
        assert producer.end(commit=commit, by=by) is ErrorCode.CONCURRENT_TRANSACTIONS
    coordinated.markers.release()
    coordinated.settle()
    assert producer.state.state.text == "CompleteCommit"
    assert producer.add() is NONE


def test_the_end_of_v2_that_comes_again_is_answered_like_the_first(coordinated: World) -> None:
    producer = Producer(coordinated)
    producer.init()
    producer.add()
    before = producer.producer
    producer.end()
    after = producer.producer
    assert producer.end(by=before) is NONE
    assert producer.producer == after == (1001, 1)
    assert producer.end(commit=False, by=before) is ErrorCode.INVALID_TXN_STATE
    assert producer.end() is ErrorCode.INVALID_TXN_STATE, "nothing was begun since"
    assert len(coordinated.markers.written) == 1


def test_the_end_of_v1_that_comes_again(coordinated: World) -> None:
    producer = Producer(coordinated, version=TRANSACTIONS_V1)
    producer.init()
    producer.add()
    assert producer.end() is producer.end() is NONE
    assert producer.end(commit=False) is ErrorCode.INVALID_TXN_STATE
    assert len(coordinated.markers.written) == 1


def test_an_abort_of_nothing_needs_no_markers(coordinated: World) -> None:
    producer = Producer(coordinated)
    producer.init()
    assert producer.end(commit=False) is NONE
    assert producer.producer == (1001, 1)
    assert (states(coordinated)[-1], coordinated.markers.begun) == ("CompleteAbort", [])
    old = Producer(coordinated, "old", TRANSACTIONS_V1)
    old.init()
    assert old.end(commit=False) is ErrorCode.INVALID_TXN_STATE


# Fencing.


@BOTH
def test_a_second_producer_fences_the_first(coordinated: World, version: int) -> None:
    first, second = Producer(coordinated, version=version), Producer(coordinated, version=version)
    first.init()
    second.init()
    assert second.producer == (1001, 1)
    assert first.add() is first.end() is ErrorCode.PRODUCER_FENCED
    assert first.init(known=True) is ErrorCode.PRODUCER_FENCED
    assert second.add() is second.end() is NONE


@BOTH
def test_an_open_transaction_is_aborted_before_a_second_producer_begins(
    coordinated: World, version: int
) -> None:
    coordinated.version = version
    first, second = Producer(coordinated, version=version), Producer(coordinated, version=version)
    first.init()
    first.add()
    coordinated.markers.holds = True
    assert second.init() is second.init() is ErrorCode.CONCURRENT_TRANSACTIONS
    coordinated.markers.release()
    coordinated.settle()
    (ended,) = coordinated.markers.written
    assert (ended.is_commit, ended.marker_epoch, ended.partitions) == (False, 1, {A})
    assert second.init() is NONE
    assert second.producer == (1001, 2), "the epoch of the fencing is nobody's"
    assert first.end() is ErrorCode.PRODUCER_FENCED


def test_the_fenced_producer_does_not_fence_in_turn(coordinated: World) -> None:
    first, second = Producer(coordinated), Producer(coordinated)
    first.init()
    second.init()
    second.add()
    first.producer = ProducerIdAndEpoch(2002, 0)
    assert first.init(known=True) is ErrorCode.PRODUCER_FENCED
    assert second.state.state.text == "Ongoing"
    assert second.end() is NONE


def test_a_producer_goes_on_after_an_error(coordinated: World) -> None:
    producer = Producer(coordinated)
    producer.init()
    lost = producer.producer
    assert producer.init(known=True) is NONE
    assert producer.producer == (1001, 1)
    producer.producer = lost  # the answer was lost
    assert producer.init(known=True) is NONE
    assert producer.producer == (1001, 1)


# Epochs run out.


def spend(producer: Producer, epoch: int) -> None:
    """Bring a producer to an epoch, as thousands of transactions would."""
    producer.init()
    for shard in producer.world.transactions.shards:
        entry = shard.entries[producer.name]
        entry.transaction = entry.transaction._replace(producer_epoch=epoch)
    producer.producer = ProducerIdAndEpoch(producer.producer.producer_id, epoch)


def test_a_new_producer_id_follows_the_last_epoch(coordinated: World) -> None:
    producer = Producer(coordinated)
    spend(producer, 32_766)
    before = producer.producer
    producer.add()
    assert producer.end() is NONE
    assert producer.producer == (1002, 0)
    (ended,) = coordinated.markers.written
    assert (ended.producer_id, ended.marker_epoch) == (1001, 32_767)
    assert producer.end(by=before) is NONE, "its answer was lost"
    assert producer.producer == (1002, 0)
    assert producer.add() is producer.end() is NONE
    assert producer.producer == (1002, 1)


def test_a_coordinator_that_takes_over_in_the_middle_knows_the_new_producer_id(
    coordinated: World,
) -> None:
    producer = Producer(coordinated)
    spend(producer, 32_766)
    before = producer.producer
    producer.add()
    coordinated.markers.holds = True
    producer.end()
    coordinated.markers.release()
    coordinated.reload()
    coordinated.settle()
    assert producer.producer == producer.state.producer == (1002, 0)
    assert producer.end(by=before) is NONE
    assert producer.producer == (1002, 0)


def test_a_second_producer_gets_the_new_id_too(coordinated: World) -> None:
    producer = Producer(coordinated)
    spend(producer, 32_766)
    producer.init()
    assert producer.producer == (1002, 0)


def test_two_ask_at_once_for_an_id_nobody_has_used(coordinated: World) -> None:
    import asyncio

    async def both() -> list[object]:
        init = coordinated.transactions.init_producer_id
        return await asyncio.gather(
            init("t", 60_000, None), init("t", 60_000, None), return_exceptions=True
        )

    first, second = coordinated.run(both())
    assert isinstance(first, ProducerIdAndEpoch) and isinstance(second, ProducerIdAndEpoch)
    assert first.producer_id == second.producer_id
    assert (first.producer_epoch, second.producer_epoch) == (0, 1)
    assert coordinated.transactions.shards.find(0) is not None
    assert states(coordinated) == ["Empty", "Empty"]


# The record, and the coordinator's comings and goings.


@BOTH
@pytest.mark.parametrize("commit", [True, False])
def test_a_prepared_end_is_carried_out_wherever_it_is_loaded(
    coordinated: World, version: int, commit: bool
) -> None:
    producer = Producer(coordinated, version=version)
    producer.init()
    producer.add(A, B)
    coordinated.markers.holds = True
    producer.end(commit=commit)
    coordinated.reload()
    coordinated.settle()
    assert producer.add() is ErrorCode.CONCURRENT_TRANSACTIONS
    coordinated.markers.release()
    coordinated.settle()
    (ended,) = coordinated.markers.written
    assert (ended.is_commit, ended.partitions) == (commit, {A, B})
    assert ended.coordinator_epoch == 2
    assert [each.coordinator_epoch for each in coordinated.markers.begun] == [1, 2]
    assert producer.add() is producer.end() is NONE


@pytest.mark.parametrize("is_led", [True, False])
def test_ends_prepared_by_the_thousand_are_carried_out_a_few_at_a_time(
    coordinated: World, monkeypatch: pytest.MonkeyPatch, is_led: bool
) -> None:
    made = [Producer(coordinated, f"t{number}") for number in range(5)]
    coordinated.markers.holds = True
    for producer in made:
        assert producer.init() is producer.add(A) is producer.end() is NONE
    monkeypatch.setattr(slices, "SLICE_MS", -1.0)  # each is a slice of its own
    coordinated.markers.begun.clear()
    coordinated.reload()
    for producer in made:  # whether its turn has come or not
        assert producer.add() is producer.init() is ErrorCode.CONCURRENT_TRANSACTIONS
    if not is_led:
        coordinated.reload()
        coordinated.leadership.resigned(0)
    coordinated.markers.release()
    coordinated.settle()
    assert {ended.transactional_id for ended in coordinated.markers.written} == (
        {producer.name for producer in made} if is_led else set()
    )


def test_markers_that_are_written_by_the_hundred_complete_a_few_transactions_at_a_time(
    coordinated: World,
) -> None:
    coordinated.markers.holds = True
    for number in range(100):
        producer = Producer(coordinated, f"t{number}")
        assert producer.init() is producer.add(A) is producer.end() is NONE
    counts = coordinated.transactions.counts

    async def first_passes() -> int:
        coordinated.markers.release()
        for _ in range(3):
            await asyncio.sleep(0)
        return counts.committed

    assert 0 < coordinated.loop.run_until_complete(first_passes()) < 100
    coordinated.settle()
    assert counts.committed == 100


def test_everything_is_known_after_loading(coordinated: World) -> None:
    made = [Producer(coordinated, name) for name in ("a", "b", "c")]
    for producer in made:
        producer.init()
    made[1].add(A, B)
    made[2].add()
    made[2].end()
    before = {each.transactional_id: each for each in coordinated.transactions.all_transactions()}
    coordinated.reload()
    for each in coordinated.transactions.all_transactions():
        kept = before[each.transactional_id]._replace(last_producer_epoch=-1)
        assert each == kept
    for producer in made:
        assert producer.add() is producer.end() is NONE


def test_a_partition_that_is_led_elsewhere_is_not_answered_for(coordinated: World) -> None:
    producer = Producer(coordinated)
    producer.init()
    producer.add()
    coordinated.markers.holds = True
    producer.end()
    coordinated.call(lambda: coordinated.leadership.resigned(0))
    assert producer.add() is producer.init() is ErrorCode.NOT_COORDINATOR
    coordinated.markers.release()
    coordinated.settle()
    assert coordinated.markers.written == [], "whoever leads now writes them"
    assert states(coordinated)[-1] == "PrepareCommit"


def test_markers_of_a_coordinator_that_is_none_any_more_are_not_insisted_on(
    coordinated: World,
) -> None:
    producer = Producer(coordinated)
    producer.init()
    producer.add()
    coordinated.markers.refuses = ErrorCode.TRANSACTION_COORDINATOR_FENCED
    producer.end()
    assert producer.add() is ErrorCode.CONCURRENT_TRANSACTIONS
    assert states(coordinated)[-1] == "PrepareCommit"
    coordinated.markers.refuses = None
    coordinated.reload()
    coordinated.settle()
    assert states(coordinated)[-1] == "CompleteCommit"


@BOTH
def test_a_partition_that_knows_a_later_epoch_holds_nothing_up(
    coordinated: World, version: int
) -> None:
    producer = Producer(coordinated, version=version)
    producer.init()
    producer.add()
    coordinated.markers.refuses = ErrorCode.INVALID_PRODUCER_EPOCH
    assert producer.end() is NONE
    assert states(coordinated)[-1] == "CompleteCommit"
    coordinated.markers.refuses = None
    assert producer.add() is producer.end() is NONE


def refuse_writes(coordinated: World, refuses: bool) -> None:
    """Have too few replicas for a write, or enough again."""
    partition = coordinated.partition()
    partition.isr = () if refuses else (0,)


def test_a_record_that_cannot_be_written_changes_nothing(coordinated: World) -> None:
    producer = Producer(coordinated)
    producer.init()
    producer.add(A)
    refuse_writes(coordinated, True)
    for ask in (lambda: producer.add(B), producer.end):
        assert ask() is ErrorCode.COORDINATOR_NOT_AVAILABLE
    refuse_writes(coordinated, False)
    assert producer.verify(A, B) == {A: NONE, B: ErrorCode.TRANSACTION_ABORTABLE}
    assert producer.end() is NONE
    assert producer.producer == (1001, 1)


@pytest.mark.broker_says("a step was not recorded")
@pytest.mark.parametrize("when", ["adding", "ending", "completing"])
def test_a_bug_while_writing_keeps_nobody_out_for_ever(
    coordinated: World, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    shard = coordinated.transactions.shards.of("t")
    producer = Producer(coordinated)
    producer.init()
    if when != "adding":
        producer.add()
    coordinated.markers.holds = True
    if when == "completing":
        assert producer.end() is NONE
    with monkeypatch.context() as broken:
        broken.setattr(shard, "partition", None)  # as no code should ever find it
        if when == "completing":
            coordinated.markers.release()
            coordinated.settle()
        else:
            error = producer.add() if when == "adding" else producer.end()
            assert error is ErrorCode.UNKNOWN_SERVER_ERROR
    coordinated.markers.release()
    coordinated.advance(60_000)
    assert producer.add() is producer.end() is NONE
    assert states(coordinated)[-1] == "CompleteCommit"


def test_the_complete_record_is_tried_until_it_is_written(coordinated: World) -> None:
    producer = Producer(coordinated)
    producer.init()
    producer.add()
    coordinated.markers.holds = True
    producer.end()
    refuse_writes(coordinated, True)
    coordinated.markers.release()
    coordinated.settle()
    for _ in range(5):
        coordinated.advance(60_000)
    assert producer.add() is ErrorCode.CONCURRENT_TRANSACTIONS
    refuse_writes(coordinated, False)
    coordinated.advance(60_000)
    assert states(coordinated)[-1] == "CompleteCommit"
    assert len(coordinated.markers.written) == 1


def test_a_fencing_that_could_not_be_written_raises_no_epoch_twice(coordinated: World) -> None:
    coordinated.version = TRANSACTIONS_V1
    first, second = Producer(coordinated, version=TRANSACTIONS_V1), Producer(coordinated, version=0)
    first.init()
    first.add()
    refuse_writes(coordinated, True)
    for _ in range(3):
        assert second.init() is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert first.end() is ErrorCode.PRODUCER_FENCED, "it is shut out all the same"
    refuse_writes(coordinated, False)
    assert second.init() is ErrorCode.CONCURRENT_TRANSACTIONS
    assert coordinated.markers.written[0].marker_epoch == 1
    assert second.init() is NONE
    assert second.producer == (1001, 2)


def test_ids_lie_in_the_partition_that_their_hash_chooses(tmp_path: Path) -> None:
    coordinated = World(tmp_path, partitions=4)
    try:
        for number in range(20):
            producer = Producer(coordinated, f"t{number}")
            producer.init()
            index = coordinated.transactions.partition_of(producer.name)
            named = [each.transactional_id for each in coordinated.written_states(index) if each]
            assert producer.name in named
    finally:
        coordinated.close()
