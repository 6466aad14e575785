"""Transactional producers whose partition is being verified with their coordinator (KIP-890).

Before the first batch of a transaction is appended, the broker asks the coordinator whether
the partition is part of it. A guard is handed out before asking and has to be shown with the
append: if the transaction ends in between, its marker takes the guard away and a late batch
cannot start a transaction that nobody will end.
"""

from dataclasses import dataclass

from barnabas.storage.errors import OutOfOrderSequence


class VerificationGuard:
    """Proof that a producer was verified; only the very same object counts."""

    __slots__ = ()


@dataclass(slots=True)
class _Verification:
    guard: VerificationGuard
    started_ms: int
    lowest_sequence: int
    epoch: int
    can_bump_epoch: bool


class TransactionVerification:
    """The verifications under way in one partition."""

    __slots__ = ("_by_producer",)

    def __init__(self) -> None:
        self._by_producer: dict[int, _Verification] = {}

    def start(
        self, producer_id: int, epoch: int, sequence: int, now_ms: int, *, can_bump_epoch: bool
    ) -> VerificationGuard:
        """The guard of a producer's verification, begun now if none is under way.

        `can_bump_epoch`: the transaction is of version 2, where every one has its own epoch.
        """
        known = self._by_producer.get(producer_id)
        if known is None:
            known = _Verification(VerificationGuard(), now_ms, sequence, epoch, can_bump_epoch)
            self._by_producer[producer_id] = known
        elif epoch > known.epoch:
            known.epoch, known.lowest_sequence = epoch, sequence
        elif epoch == known.epoch:
            known.lowest_sequence = min(known.lowest_sequence, sequence)
        return known.guard

    def is_verified(self, producer_id: int, guard: VerificationGuard | None) -> bool:
        """Whether the guard is the one that was handed out for this producer."""
        known = self._by_producer.get(producer_id)
        return known is not None and known.guard is guard

    def check_sequence(self, producer_id: int, sequence: int, offset: int, *, is_new: bool) -> None:
        """Raise OutOfOrderSequence for a batch that overtook an earlier one of its producer.

        `is_new`: the log holds no batch of the producer, so only a first one may come, if its
        transaction is of version 2.
        """
        known = self._by_producer.get(producer_id)
        if known is None:
            return
        must_begin = known.can_bump_epoch and is_new and sequence != 0
        if must_begin or sequence > known.lowest_sequence:
            raise OutOfOrderSequence(
                f"sequence {sequence} of producer {producer_id} came before"
                f" {0 if must_begin else known.lowest_sequence}",
                offset=offset,
            )

    def end(self, producer_id: int) -> None:
        """Forget a producer: its batch, or its marker, was written."""
        self._by_producer.pop(producer_id, None)

    def remove_expired(self, now_ms: int, expiration_ms: int) -> None:
        """Forget verifications that nobody came back for."""
        for producer_id, known in list(self._by_producer.items()):
            if now_ms - known.started_ms >= expiration_ms:
                del self._by_producer[producer_id]
