import pytest

from barnabas.storage.errors import OutOfOrderSequence
from barnabas.storage.producers.verification import TransactionVerification, VerificationGuard


def started(*sequences: int, epoch: int = 0, bump: bool = False) -> TransactionVerification:
    verification = TransactionVerification()
    for sequence in sequences:
        verification.start(7, epoch, sequence, 1_000, can_bump_epoch=bump)
    return verification


def test_only_the_guard_that_was_handed_out_counts() -> None:
    verification = TransactionVerification()
    guard = verification.start(7, 0, 0, 1_000, can_bump_epoch=False)
    assert verification.start(7, 0, 5, 2_000, can_bump_epoch=False) is guard
    assert verification.is_verified(7, guard)
    assert not verification.is_verified(8, guard)
    assert not verification.is_verified(7, VerificationGuard())
    assert not verification.is_verified(7, None)
    verification.end(7)
    assert not verification.is_verified(7, guard)


def test_a_batch_must_not_overtake_an_earlier_one() -> None:
    verification = started(4, 2, 6)
    verification.check_sequence(7, 2, 0, is_new=True)
    with pytest.raises(OutOfOrderSequence, match="before 2"):
        verification.check_sequence(7, 4, 0, is_new=True)
    verification.check_sequence(8, 4, 0, is_new=True)


def test_a_new_epoch_counts_anew() -> None:
    verification = started(4)
    verification.start(7, 1, 9, 1_000, can_bump_epoch=False)
    verification.start(7, 0, 1, 1_000, can_bump_epoch=False)
    verification.check_sequence(7, 9, 0, is_new=False)


def test_transactions_of_version_2_begin_at_zero() -> None:
    verification = started(3, bump=True)
    with pytest.raises(OutOfOrderSequence, match="before 0"):
        verification.check_sequence(7, 3, 0, is_new=True)
    verification.check_sequence(7, 3, 0, is_new=False)
    verification.check_sequence(7, 0, 0, is_new=True)


def test_what_nobody_came_back_for_is_forgotten() -> None:
    verification = started(0)
    guard = verification.start(8, 0, 0, 1_500, can_bump_epoch=False)
    verification.remove_expired(2_100, 1_000)
    assert verification.is_verified(8, guard)
    verification.remove_expired(2_500, 1_000)
    assert not verification.is_verified(8, guard)
