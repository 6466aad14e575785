"""The transactional batches of one Produce: which have to be verified, and what came of it."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from barnabas.server.core.errors import ApiError
from barnabas.server.core.topic_names import TopicPartition
from barnabas.server.replication.partition import Partition
from barnabas.server.transactions.verification import Beginning, Beginnings, ClientKind, Verifier
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
) -> Beginnings | None:
    """The batches that begin a transaction in their partition; None if there are none.

    What is no transactional batch is left to the append. Raises ApiError
    INVALID_PRODUCER_ID_MAPPING for batches of several producers.
    """
    found: list[Beginning] = []
    producers = set()
    for partition, records in batches:
        header = _header(records)
        if header is not None and header.is_transactional and header.has_producer_id:
            producers.add((header.producer_id, header.producer_epoch))
            found.append(Beginning(partition, header.base_sequence))
    if len(producers) > 1:
        raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if not found:
        return None
    ((producer_id, producer_epoch),) = producers
    beginnings = Beginnings(producer_id, producer_epoch, found, adds=kind.adds)
    beginnings.begin(now_ms)
    return beginnings if beginnings.guards else None


def _header(records: Buffer) -> BatchHeader | None:
    try:
        return parse_header(records)
    except StorageError:  # said by the append
        return None


async def verify(
    verifier: Verifier, transactional_id: str, asked: Beginnings, kind: ClientKind
) -> Verified:
    """Ask the coordinator."""
    if not verifier.is_needed(kind):
        return Verified(asked.guards, {})
    refused = await verifier.verify(transactional_id, asked, kind)
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
