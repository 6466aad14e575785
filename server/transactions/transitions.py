"""What requests and timers make of a transaction: pure decisions.

Each takes the transaction as it is and gives the one to write, or raises ApiError with what
Kafka answers. Whoever needs a producer id that is not there yet raises `ProducerIdNeeded`: the
caller fetches one, looks at the transaction anew, and asks again.

Kafka's TransactionMetadata and the decisions of its TransactionCoordinator, with the one
difference that the ids before and after a rotation are in the records too, so that a
coordinator that takes over in the middle of one knows them.
"""

from collections.abc import Collection

from barnabas.server.core.errors import ApiError
from barnabas.server.core.topic_names import TopicPartition
from barnabas.server.transactions.states import (
    COMPLETE,
    IDLE,
    PREPARED,
    TransactionEvent,
    TransactionState,
    next_state,
)
from barnabas.server.transactions.transaction import (
    LAST_PRODUCER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_START,
    TRANSACTIONS_V1,
    TRANSACTIONS_V2,
    ProducerIdAndEpoch,
    Transaction,
    is_exhausted,
)
from barnabas.wire.error_codes import ErrorCode


class ProducerIdNeeded(Exception):
    """The decision takes a new producer id."""


class AlreadyEnded(Exception):
    """An EndTxn that came again after it was carried out: it is answered like the first."""


# InitProducerId.


def created(transactional_id: str, producer_id: int, timeout_ms: int, now_ms: int) -> Transaction:
    """A transactional id that nobody has used before; it has no epoch yet.

    Raises ProducerIdNeeded.
    """
    return Transaction(transactional_id, _needed(producer_id), timeout_ms, now_ms)


def initialized(
    transaction: Transaction,
    known: ProducerIdAndEpoch | None,
    timeout_ms: int,
    now_ms: int,
    new_producer_id: int = NO_PRODUCER_ID,
) -> Transaction:
    """A producer begins, or goes on after an error with what it knows (KIP-360).

    Not for an open transaction, which is fenced first. Raises ApiError PRODUCER_FENCED or
    CONCURRENT_TRANSACTIONS, or ProducerIdNeeded.
    """
    check_known(transaction, known)
    if transaction.state in PREPARED:
        raise ApiError(ErrorCode.CONCURRENT_TRANSACTIONS)
    epoch, last_epoch, producer_id = _next_epochs(transaction, known, new_producer_id)
    is_again = (producer_id, epoch) == transaction.producer
    return transaction._replace(
        state=next_state(transaction.state, TransactionEvent.INITIALIZED),
        producer_id=producer_id,
        previous_producer_id=(
            transaction.previous_producer_id if is_again else transaction.producer_id
        ),
        producer_epoch=epoch,
        last_producer_epoch=last_epoch,
        timeout_ms=timeout_ms,
        partitions=frozenset(),
        start_ms=NO_START,
        last_update_ms=now_ms,
    )


def check_known(transaction: Transaction, known: ProducerIdAndEpoch | None) -> None:
    """Fence a producer whose id is not the current one; raises ApiError PRODUCER_FENCED.

    The id before counts if its epochs had run out: the producer may not have heard of the new.
    """
    if known is None or transaction.producer_epoch == NO_PRODUCER_EPOCH:
        return
    is_current = known.producer_id == transaction.producer_id
    is_rotated = known.producer_id == transaction.previous_producer_id
    if not is_current and not (is_rotated and is_exhausted(known.producer_epoch)):
        raise ApiError(ErrorCode.PRODUCER_FENCED)


def _next_epochs(
    transaction: Transaction, known: ProducerIdAndEpoch | None, new_producer_id: int
) -> tuple[int, int, int]:
    """Epoch, epoch before, and producer id of a producer that begins."""
    epoch = transaction.producer_epoch
    # It was raised for this very producer, which did not hear of it: nobody else has asked
    # since, for that would have forgotten the epoch before.
    is_again = known is not None and known.producer_epoch == transaction.last_producer_epoch
    if (
        known is not None
        and not is_again
        and epoch not in (NO_PRODUCER_EPOCH, known.producer_epoch)
    ):
        raise ApiError(ErrorCode.PRODUCER_FENCED)
    if epoch == LAST_PRODUCER_EPOCH or (transaction.is_epoch_exhausted and not is_again):
        last = NO_PRODUCER_EPOCH if known is None else known.producer_epoch
        return 0, last, _needed(new_producer_id)
    if is_again:
        return epoch, transaction.last_producer_epoch, transaction.producer_id
    return epoch + 1, NO_PRODUCER_EPOCH if known is None else epoch, transaction.producer_id


def fenced(
    transaction: Transaction, version: int, now_ms: int, *, has_failed_before: bool
) -> Transaction:
    """An open transaction's producer is shut out and its transaction aborted.

    `version` is the cluster's, for no client asked. `has_failed_before`: an epoch was raised
    for it that could not be written and that nobody was told: it is taken now.
    """
    fence = next_state(transaction.state, TransactionEvent.FENCED)
    state = next_state(fence, TransactionEvent.ABORTED)
    epoch = transaction.producer_epoch
    is_v2 = version >= TRANSACTIONS_V2
    raised = epoch if has_failed_before and not is_v2 else min(epoch + 1, LAST_PRODUCER_EPOCH)
    return transaction._replace(
        state=state,
        previous_producer_id=transaction.producer_id,
        producer_epoch=raised,
        last_producer_epoch=epoch if is_v2 else NO_PRODUCER_EPOCH,
        client_version=TRANSACTIONS_V2 if is_v2 else TRANSACTIONS_V1,
        last_update_ms=now_ms,
    )


# Partitions.


def with_partitions(
    transaction: Transaction,
    producer: ProducerIdAndEpoch,
    partitions: Collection[TopicPartition],
    client_version: int,
    now_ms: int,
) -> Transaction:
    """The producer writes to partitions; the same transaction if they are in it already.

    Raises ApiError.
    """
    check_producer(transaction, producer)
    if transaction.state in PREPARED:
        raise ApiError(ErrorCode.CONCURRENT_TRANSACTIONS)
    is_open = transaction.state is TransactionState.ONGOING
    if is_open and transaction.partitions.issuperset(partitions):
        return transaction
    return transaction._replace(
        state=next_state(transaction.state, TransactionEvent.PARTITIONS_ADDED),
        previous_producer_id=transaction.producer_id,
        partitions=transaction.partitions.union(partitions),
        start_ms=transaction.start_ms if is_open else now_ms,
        last_update_ms=now_ms,
        client_version=client_version,
    )


def verified(
    transaction: Transaction,
    producer: ProducerIdAndEpoch,
    partitions: Collection[TopicPartition],
) -> dict[TopicPartition, ErrorCode]:
    """Whether each partition is in the producer's transaction. Raises ApiError."""
    check_producer(transaction, producer)
    if transaction.state in PREPARED:
        raise ApiError(ErrorCode.CONCURRENT_TRANSACTIONS)
    known = transaction.partitions
    return {
        each: ErrorCode.NONE if each in known else ErrorCode.TRANSACTION_ABORTABLE
        for each in partitions
    }


def check_producer(transaction: Transaction, producer: ProducerIdAndEpoch) -> None:
    """Raises ApiError INVALID_PRODUCER_ID_MAPPING or PRODUCER_FENCED."""
    if transaction.producer_id != producer.producer_id:
        raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if transaction.producer_epoch != producer.producer_epoch:
        raise ApiError(ErrorCode.PRODUCER_FENCED)


# The end.


def ended(
    transaction: Transaction, producer: ProducerIdAndEpoch, is_commit: bool, now_ms: int
) -> Transaction:
    """The end that a producer asks for which keeps its epoch.

    Raises ApiError, or AlreadyEnded.
    """
    check_producer(transaction, producer)
    _check_direction(transaction.state, is_commit)
    if transaction.state in COMPLETE:
        raise AlreadyEnded
    if transaction.state is TransactionState.EMPTY:
        raise ApiError(ErrorCode.INVALID_TXN_STATE)
    return transaction._replace(
        state=next_state(transaction.state, _end(is_commit)),
        previous_producer_id=transaction.producer_id,
        next_producer_id=NO_PRODUCER_ID,
        client_version=TRANSACTIONS_V1,
        last_update_ms=now_ms,
    )


def ended_with_new_epoch(
    transaction: Transaction,
    producer: ProducerIdAndEpoch,
    is_commit: bool,
    now_ms: int,
    new_producer_id: int = NO_PRODUCER_ID,
) -> Transaction:
    """The end that a producer asks for whose epoch rises with it (KIP-890).

    The epoch tells an end that came again from the next one. An abort is taken although nothing
    was begun, for the producer cannot know. Raises ApiError, AlreadyEnded or ProducerIdNeeded.
    """
    if _is_again(transaction, producer):
        _check_direction(transaction.state, is_commit)
        raise AlreadyEnded
    if transaction.state in IDLE and is_commit:
        raise ApiError(ErrorCode.INVALID_TXN_STATE)
    next_id = _needed(new_producer_id) if transaction.is_epoch_exhausted else NO_PRODUCER_ID
    return transaction._replace(
        state=next_state(transaction.state, _end(is_commit)),
        previous_producer_id=transaction.producer_id,
        next_producer_id=next_id,
        producer_epoch=min(transaction.producer_epoch + 1, LAST_PRODUCER_EPOCH),
        last_producer_epoch=transaction.producer_epoch,
        start_ms=now_ms if transaction.state in IDLE else transaction.start_ms,
        client_version=TRANSACTIONS_V2,
        last_update_ms=now_ms,
    )


def _is_again(transaction: Transaction, producer: ProducerIdAndEpoch) -> bool:
    """Whether the producer asks for an end that is prepared or complete, not for the next one.

    Raises ApiError INVALID_PRODUCER_ID_MAPPING or PRODUCER_FENCED.
    """
    rotated_from = (transaction.previous_producer_id, LAST_PRODUCER_EPOCH - 1)
    is_rotated = (
        transaction.producer_epoch == 0
        and producer == rotated_from
        and producer.producer_id != transaction.producer_id
    )
    if transaction.producer_id != producer.producer_id and not is_rotated:
        raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    is_again = transaction.producer_epoch == producer.producer_epoch + 1
    if transaction.state in COMPLETE and (is_again or is_rotated):
        return True
    if transaction.state in PREPARED and is_again:
        return True
    if transaction.state in PREPARED or transaction.producer != producer:
        raise ApiError(ErrorCode.PRODUCER_FENCED)
    return False


def _check_direction(state: TransactionState, is_commit: bool) -> None:
    """Refuse an end that the one which is there contradicts, or repeats too early.

    Raises ApiError INVALID_TXN_STATE or CONCURRENT_TRANSACTIONS.
    """
    commits = (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)
    if state in (*PREPARED, *COMPLETE):
        if is_commit != (state in commits):
            raise ApiError(ErrorCode.INVALID_TXN_STATE)
        if state in PREPARED:
            raise ApiError(ErrorCode.CONCURRENT_TRANSACTIONS)


def completed(transaction: Transaction, now_ms: int) -> Transaction:
    """Every partition has its marker: what follows the prepared end."""
    rotates = (
        transaction.client_version >= TRANSACTIONS_V2
        and transaction.next_producer_id != NO_PRODUCER_ID
    )
    return transaction._replace(
        state=next_state(transaction.state, TransactionEvent.MARKED),
        producer_id=transaction.next_producer_id if rotates else transaction.producer_id,
        producer_epoch=0 if rotates else transaction.producer_epoch,
        previous_producer_id=transaction.producer_id,
        next_producer_id=NO_PRODUCER_ID,
        partitions=frozenset(),
        last_update_ms=now_ms,
    )


def _end(is_commit: bool) -> TransactionEvent:
    return TransactionEvent.COMMITTED if is_commit else TransactionEvent.ABORTED


def _needed(producer_id: int) -> int:
    if producer_id == NO_PRODUCER_ID:
        raise ProducerIdNeeded
    return producer_id
