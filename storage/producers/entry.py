"""What one partition remembers of one producer, and what its next batch must look like.

An idempotent producer numbers its records. The last five batches are kept, so that one sent
again is recognised and answered with the offsets of the first time. A transaction is open
from the producer's first transactional batch to its marker. With transactions version 2
(KIP-890) every marker raises the producer's epoch, so a late batch of an ended transaction is
fenced by its epoch alone.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from barnabas.storage.batch.header import MAX_SEQUENCE, NO_PRODUCER_EPOCH, NO_SEQUENCE, NO_TIMESTAMP
from barnabas.storage.errors import (
    InvalidProducerEpoch,
    InvalidTransactionState,
    OutOfOrderSequence,
    TransactionCoordinatorFenced,
)

KEPT_BATCHES: Final = 5
NO_TRANSACTION: Final = -1
UNKNOWN_MS: Final = -1
MAX_PRODUCER_EPOCH: Final = 0x7FFF


class AppendOrigin(Enum):
    """Who appends: it decides which checks apply."""

    CLIENT = "client"
    COORDINATOR = "coordinator"
    REPLICATION = "replication"


SentBatch = tuple[int, int, int, int]
"""(last sequence, last offset, last offset - first offset, max timestamp) of a batch."""


@dataclass(slots=True, frozen=True)
class CompletedTransaction:
    """A transaction whose marker has just been seen."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


@dataclass(slots=True)
class ProducerEntry:
    """State of one producer id; `current_transaction_first_offset` is -1 outside of one."""

    producer_id: int
    epoch: int = NO_PRODUCER_EPOCH
    coordinator_epoch: int = -1
    last_timestamp: int = NO_TIMESTAMP
    current_transaction_first_offset: int = NO_TRANSACTION
    batches: list[SentBatch] = field(default_factory=list)
    written_ms: int = field(default=UNKNOWN_MS, compare=False)
    """When it last wrote, by this broker's clock; of what was loaded, not before that."""

    @property
    def last_sequence(self) -> int:
        return self.batches[-1][0] if self.batches else NO_SEQUENCE

    @property
    def last_data_offset(self) -> int:
        return self.batches[-1][1] if self.batches else -1

    @property
    def last_offset_delta(self) -> int:
        return self.batches[-1][2] if self.batches else 0

    def copy(self) -> "ProducerEntry":
        """An entry that can be changed without changing this one."""
        return ProducerEntry(
            self.producer_id,
            self.epoch,
            self.coordinator_epoch,
            self.last_timestamp,
            self.current_transaction_first_offset,
            self.batches.copy(),
            self.written_ms,
        )

    def is_idle(self, now_ms: int, idle_ms: int) -> bool:
        """Whether it has written nothing for so long.

        Its records' timestamps alone do not say so: they are the producer's word, and those of
        what happened long ago are old when they are written.
        """
        return now_ms - max(self.last_timestamp, self.written_ms) >= idle_ms

    def find_duplicate(
        self, epoch: int, first_sequence: int, last_offset_delta: int
    ) -> SentBatch | None:
        """The kept batch with exactly these sequences, if this one was sent before."""
        if epoch != self.epoch:
            return None
        last_sequence = (first_sequence + last_offset_delta) & MAX_SEQUENCE
        for batch in self.batches:
            if batch[0] == last_sequence and batch[2] == last_offset_delta:
                return batch
        return None

    def check_epoch(self, epoch: int, offset: int) -> None:
        """Raise InvalidProducerEpoch for a batch from before the newest epoch seen."""
        if epoch < self.epoch:
            raise InvalidProducerEpoch(
                f"epoch {epoch} of producer {self.producer_id} is below {self.epoch}",
                offset=offset,
            )

    def check_sequence(self, epoch: int, first_sequence: int, offset: int) -> None:
        """Raise OutOfOrderSequence unless the batch follows on the last one.

        A new epoch begins at 0; a producer nothing is known of may begin anywhere (KIP-360).
        """
        if self.epoch == NO_PRODUCER_EPOCH:
            return
        expected = 0
        if epoch == self.epoch:
            expected = (self.last_sequence + 1) & MAX_SEQUENCE
        if first_sequence != expected:
            raise OutOfOrderSequence(
                f"sequence {first_sequence} of producer {self.producer_id} epoch {epoch}"
                f" came where {expected} was expected",
                offset=offset,
            )

    def check_transaction(self, is_transactional: bool, offset: int) -> None:
        """Raise InvalidTransactionState for a plain batch inside an open transaction."""
        if self.current_transaction_first_offset >= 0 and not is_transactional:
            raise InvalidTransactionState(
                f"producer {self.producer_id} has an open transaction, the batch is not part of it",
                offset=offset,
            )

    def add_batch(
        self, epoch: int, last_sequence: int, first_offset: int, last_offset: int, timestamp: int
    ) -> None:
        """Note a data batch that was written."""
        batches = self.batches
        if epoch != self.epoch:
            batches.clear()
            self.epoch = epoch
        elif len(batches) == KEPT_BATCHES:
            del batches[0]
        batches.append((last_sequence, last_offset, last_offset - first_offset, timestamp))
        self.last_timestamp = timestamp

    def check_marker(
        self, epoch: int, coordinator_epoch: int, offset: int, transaction_version: int
    ) -> None:
        """Raise for a marker from a fenced producer epoch or an old coordinator.

        Below transactions version 2 a marker carries the producer's epoch; from it on, a
        larger one, unless the marker is a retry of one that has already ended the transaction.
        """
        if transaction_version < 2 or not self._is_stale_marker(epoch):
            self.check_epoch(epoch, offset)
        else:
            raise InvalidProducerEpoch(
                f"marker epoch {epoch} of producer {self.producer_id} is not above {self.epoch}",
                offset=offset,
            )
        if coordinator_epoch < self.coordinator_epoch:
            raise TransactionCoordinatorFenced(
                f"marker of producer {self.producer_id} from coordinator epoch"
                f" {coordinator_epoch}, {self.coordinator_epoch} is known",
                offset=offset,
            )

    def _is_stale_marker(self, epoch: int) -> bool:
        has_ended = self.current_transaction_first_offset < 0 or epoch == MAX_PRODUCER_EPOCH
        return epoch < self.epoch or (epoch == self.epoch and not has_ended)

    def end_transaction(
        self, epoch: int, coordinator_epoch: int, offset: int, timestamp: int, *, is_abort: bool
    ) -> CompletedTransaction | None:
        """Note a marker that was written; None if no transaction was open."""
        completed = None
        if self.current_transaction_first_offset >= 0:
            completed = CompletedTransaction(
                self.producer_id, self.current_transaction_first_offset, offset, is_abort
            )
        if epoch != self.epoch:
            self.batches.clear()
            self.epoch = epoch
        self.coordinator_epoch = coordinator_epoch
        self.current_transaction_first_offset = NO_TRANSACTION
        self.last_timestamp = timestamp
        return completed
