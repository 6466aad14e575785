"""A transactional id as its records have it: the producer, its epoch, the transaction.

`Transaction` never changes; what a request or a timer makes of it is another one
(`transitions`), which counts once its record is safe. `TransactionEntry` is the place that
holds the one that counts, and knows what is under way.
"""

import asyncio
from typing import NamedTuple

from barnabas.server.core.clock import NEVER
from barnabas.server.core.topic_names import TopicPartition
from barnabas.server.transactions.states import TransactionState

NO_PRODUCER_ID = NO_PRODUCER_EPOCH = -1
LAST_PRODUCER_EPOCH = 32_767
"""Never a client's: fencing whoever has the one before must always be possible."""
NO_START = -1
TRANSACTIONS_V1 = 0
"""Producers keep their epoch. Kafka records versions 0 and 1 of the feature both as 0."""
TRANSACTIONS_V2 = 2
"""Every end of a transaction raises the epoch (KIP-890)."""


class ProducerIdAndEpoch(NamedTuple):
    """Who writes."""

    producer_id: int
    producer_epoch: int


NO_PRODUCER = ProducerIdAndEpoch(NO_PRODUCER_ID, NO_PRODUCER_EPOCH)


class Transaction(NamedTuple):
    """What is known of a transactional id.

    `previous_producer_id` is what it had in the state before; `next_producer_id` what its
    producer gets when the end that is prepared is complete, for want of epochs.
    `last_producer_epoch` is the epoch before, for producers that ask again; it is not in the
    records. `start_ms` is -1 until a transaction was open. `client_version` is that of the
    protocol which its producer speaks (`TRANSACTIONS_V1` or `TRANSACTIONS_V2`).
    """

    transactional_id: str
    producer_id: int
    timeout_ms: int
    last_update_ms: int
    producer_epoch: int = NO_PRODUCER_EPOCH
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    last_producer_epoch: int = NO_PRODUCER_EPOCH
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    start_ms: int = NO_START
    client_version: int = TRANSACTIONS_V1

    @property
    def producer(self) -> ProducerIdAndEpoch:
        """Who may write."""
        return ProducerIdAndEpoch(self.producer_id, self.producer_epoch)

    @property
    def is_epoch_exhausted(self) -> bool:
        """Whether no client can be given a higher epoch of this producer id."""
        return is_exhausted(self.producer_epoch)


def is_exhausted(producer_epoch: int) -> bool:
    """Whether an epoch is the last that a client may have."""
    return producer_epoch >= LAST_PRODUCER_EPOCH - 1


class TransactionEntry:
    """One transactional id of a shard.

    `pending` is the state whose record is being written, or whose markers are: until then
    others are told to come again. `has_failed_fence` once an epoch that nobody was told could
    not be written: the next fencing takes the same. `deadline_ms`, by the clock that no date
    moves, is when an open transaction's time is up.
    """

    __slots__ = ("deadline_ms", "has_failed_fence", "markers", "pending", "transaction")

    def __init__(self, transaction: Transaction) -> None:
        self.transaction = transaction
        self.pending: TransactionState | None = None
        self.has_failed_fence = False
        self.deadline_ms = NEVER
        self.markers: asyncio.Task[None] | None = None
