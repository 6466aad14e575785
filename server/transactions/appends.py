"""The transactional batches of one Produce: which have to be verified, and what came of it."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from barnabas.server.core.errors import ApiError
from barnabas.server.replication.partition import Partition
from barnabas.server.transactions.other_coordinators import Question, TopicPartition
from barnabas.server.transactions.verification import ClientKind, Verifier
from barnabas.storage.batch.header import BatchHeader, Buffer, parse_header
from barnabas.storage.errors import StorageError
from barnabas.storage.producers.verification import VerificationGuard
from barnabas.wire.error_codes import ErrorCode

Guards = dict[TopicPartition, VerificationGuard]

RETRIED: Final = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)
"""Told as NOT_ENOUGH_REPLICAS, which every producer retries without looking for a new leader."""


class Unverified(NamedTuple):
    """A producer's batches that the coordinator has to be asked about, by partition."""

    producer_id: int
    producer_epoch: int
    guards: Guards


class Verified(NamedTuple):
    """What a Produce may write: with which guards, and what is refused."""

    guards: Guards
    refusals: dict[TopicPartition, ApiError]

    def guard_of(self, topic: str, index: int) -> VerificationGuard | None:
        """The guard to append with, if one is needed. Raises ApiError for what is refused."""
        key = (topic, index)
        refusal = self.refusals.get(key)
        if refusal is not None:
            raise refusal
        return self.guards.get(key)


def unverified(
    batches: Iterable[tuple[Partition, Buffer]], kind: ClientKind, now_ms: int
) -> Unverified | None:
    """The batches that begin a transaction in their partition; None if there are none.

    What is no transactional batch is left to the append. Raises ApiError
    INVALID_PRODUCER_ID_MAPPING for batches of several producers.
    """
    guards: Guards = {}
    producers = set()
    for partition, records in batches:
        header = _header(records)
        if header is None or not (header.is_transactional and header.has_producer_id):
            continue
        producers.add((header.producer_id, header.producer_epoch))
        guard = partition.log.appender.start_transaction_verification(
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            now_ms,
            can_bump_epoch=kind.adds,
        )
        if guard is not None:
            guards[partition.key] = guard
    if len(producers) > 1:
        raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if not guards:
        return None
    ((producer_id, producer_epoch),) = producers
    return Unverified(producer_id, producer_epoch, guards)


def _header(records: Buffer) -> BatchHeader | None:
    try:
        return parse_header(records)
    except StorageError:  # said by the append
        return None


async def verify(
    verifier: Verifier, transactional_id: str, asked: Unverified, kind: ClientKind
) -> Verified:
    """Ask the coordinator."""
    if not verifier.is_needed(kind):
        return Verified(asked.guards, {})
    question = Question(
        transactional_id, asked.producer_id, asked.producer_epoch, tuple(asked.guards), kind.adds
    )
    refused = await verifier.verify(question, kind)
    return Verified(asked.guards, {key: _told(code, kind) for key, code in refused.items()})


def _told(code: ErrorCode, kind: ClientKind) -> ApiError:
    is_ending = code is ErrorCode.CONCURRENT_TRANSACTIONS
    if code in RETRIED or (is_ending and not kind.adds):
        return ApiError(
            ErrorCode.NOT_ENOUGH_REPLICAS,
            f"The partition could not be verified to be part of the transaction: {code.name}.",
        )
    if code is ErrorCode.INVALID_TXN_STATE:
        return ApiError(code, "The partition is not part of the transaction.")
    return ApiError(code)
