import pytest

from barnabas.storage.errors import (
    InvalidProducerEpoch,
    InvalidTransactionState,
    OutOfOrderSequence,
    TransactionCoordinatorFenced,
)
from barnabas.storage.producers.entry import CompletedTransaction, ProducerEntry

MAX = 0x7FFFFFFF


def an_entry(epoch: int = 3, last_sequence: int = 9) -> ProducerEntry:
    entry = ProducerEntry(7)
    entry.add_batch(epoch, last_sequence, 100, 104, 1_000)
    return entry


def test_remembers_the_last_five_batches() -> None:
    entry = ProducerEntry(7)
    for number in range(7):
        entry.add_batch(0, 10 * number + 9, 10 * number, 10 * number + 9, number)
    assert [batch[0] for batch in entry.batches] == [29, 39, 49, 59, 69]
    assert entry.find_duplicate(0, 20, 9) == (29, 29, 9, 2)
    assert entry.find_duplicate(0, 10, 9) is None
    assert entry.find_duplicate(0, 20, 8) is None
    assert entry.find_duplicate(1, 20, 9) is None
    assert (entry.last_sequence, entry.last_data_offset, entry.last_offset_delta) == (69, 69, 9)


def test_a_duplicate_may_wrap() -> None:
    entry = an_entry(last_sequence=1)
    assert entry.find_duplicate(3, MAX - 2, 4) == entry.batches[0]


def test_a_new_epoch_forgets_the_batches_of_the_old() -> None:
    entry = an_entry()
    entry.add_batch(4, 0, 105, 105, 2_000)
    assert entry.batches == [(0, 105, 0, 2_000)]


@pytest.mark.parametrize(
    ("epoch", "sequence", "is_fine"),
    [(3, 10, True), (3, 9, False), (3, 11, False), (3, 0, False), (4, 0, True), (4, 1, False)],
)
def test_sequences_follow_on_each_other(epoch: int, sequence: int, is_fine: bool) -> None:
    entry = an_entry()
    if is_fine:
        entry.check_sequence(epoch, sequence, 105)
    else:
        with pytest.raises(OutOfOrderSequence):
            entry.check_sequence(epoch, sequence, 105)


def test_a_sequence_wraps_to_zero() -> None:
    entry = an_entry(last_sequence=MAX)
    entry.check_sequence(3, 0, 105)
    with pytest.raises(OutOfOrderSequence):
        entry.check_sequence(3, 1, 105)


def test_a_producer_nobody_knows_may_start_anywhere() -> None:
    ProducerEntry(7).check_sequence(3, 1234, 0)


def test_an_old_epoch_is_fenced() -> None:
    with pytest.raises(InvalidProducerEpoch):
        an_entry().check_epoch(2, 105)
    an_entry().check_epoch(3, 105)


def open_entry(epoch: int = 3) -> ProducerEntry:
    entry = an_entry(epoch)
    entry.current_transaction_first_offset = 100
    return entry


def test_a_plain_batch_cannot_slip_into_a_transaction() -> None:
    with pytest.raises(InvalidTransactionState):
        open_entry().check_transaction(False, 105)
    open_entry().check_transaction(True, 105)
    an_entry().check_transaction(False, 105)


@pytest.mark.parametrize(
    ("version", "epoch", "is_open", "is_fine"),
    [
        (0, 3, True, True),
        (0, 3, False, True),
        (0, 4, True, True),
        (0, 2, True, False),
        (2, 4, True, True),
        (2, 3, True, False),
        (2, 3, False, True),
        (2, 2, False, False),
    ],
)
def test_the_epoch_of_a_marker(version: int, epoch: int, is_open: bool, is_fine: bool) -> None:
    entry = open_entry() if is_open else an_entry()
    if is_fine:
        entry.check_marker(epoch, 0, 105, version)
    else:
        with pytest.raises(InvalidProducerEpoch):
            entry.check_marker(epoch, 0, 105, version)


def test_the_last_epoch_there_is_may_end_with_itself() -> None:
    open_entry(0x7FFF).check_marker(0x7FFF, 0, 105, 2)


def test_an_old_coordinator_is_fenced() -> None:
    entry = open_entry()
    entry.end_transaction(3, 5, 105, 2_000, is_abort=False)
    with pytest.raises(TransactionCoordinatorFenced):
        entry.check_marker(3, 4, 106, 0)
    entry.check_marker(3, 5, 106, 0)


def test_a_marker_ends_the_transaction() -> None:
    entry = open_entry()
    completed = entry.end_transaction(3, 5, 105, 2_000, is_abort=True)
    assert completed == CompletedTransaction(7, 100, 105, True)
    assert entry.batches == [(9, 104, 4, 1_000)]
    assert (entry.coordinator_epoch, entry.last_timestamp) == (5, 2_000)
    assert entry.end_transaction(3, 5, 106, 3_000, is_abort=True) is None


def test_a_marker_with_a_new_epoch_starts_sequences_at_zero() -> None:
    entry = open_entry()
    entry.end_transaction(4, 0, 105, 2_000, is_abort=False)
    assert (entry.epoch, entry.batches) == (4, [])
    entry.check_sequence(4, 0, 106)
    with pytest.raises(OutOfOrderSequence):
        entry.check_sequence(4, 10, 106)
    with pytest.raises(InvalidProducerEpoch):
        entry.check_epoch(3, 106)


def test_a_copy_is_its_own() -> None:
    entry = an_entry()
    copy = entry.copy()
    copy.add_batch(3, 10, 105, 105, 5)
    assert len(entry.batches) == 1
    assert entry != copy
