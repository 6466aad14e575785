"""Whether what a producer writes belongs to its transaction, asked of the coordinator (KIP-890).

A partition in which the producer has an open transaction is part of it. Before the first batch,
the log hands out a guard, the coordinator of the transactional id is asked, and the batch is
appended with the guard; if the transaction ends in between, its marker takes the guard away, and
a late batch cannot begin a transaction that nobody will end.

What the coordinator is asked depends on the client. With transactions of version 2 the write
itself adds the partition; before, the client has added it and the coordinator only looks.
Clients that know TRANSACTION_ABORTABLE are told it, others INVALID_TXN_STATE.
"""

from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from typing import NamedTuple, Protocol

from barnabas.server.cluster.metadata import ClusterMetadata
from barnabas.server.core.awaiting import pause
from barnabas.server.core.clock import Clock
from barnabas.server.core.errors import ApiError
from barnabas.server.core.topic_names import TRANSACTION_TOPIC, TopicPartition
from barnabas.server.replication.partition import Partition
from barnabas.server.settings.config import BrokerConfig
from barnabas.server.transactions.other_coordinators import Question
from barnabas.storage.producers.verification import VerificationGuard
from barnabas.wire.error_codes import ErrorCode

Refusals = dict[TopicPartition, ErrorCode]
"""The partitions that are not part of the transaction, and why."""


class Beginning(NamedTuple):
    """A batch that may begin its producer's transaction in a partition."""

    partition: Partition
    sequence: int


class Beginnings:
    """Batches of one producer; `guards` are handed out for those that begin its transaction."""

    def __init__(
        self, producer_id: int, producer_epoch: int, batches: Sequence[Beginning], *, adds: bool
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.guards: dict[TopicPartition, VerificationGuard] = {}
        self._batches = batches
        self._adds = adds

    def begin(self, now_ms: int) -> None:
        """Have guards handed out: before the coordinator is asked, each time."""
        self.guards = {}
        for partition, sequence in self._batches:
            guard = partition.log.appender.start_transaction_verification(
                self.producer_id,
                self.producer_epoch,
                sequence,
                now_ms,
                can_bump_epoch=self._adds,
            )
            if guard is not None:
                self.guards[partition.key] = guard

    @property
    def is_lost(self) -> bool:
        """Whether a marker has come since, and taken a guard away."""
        return any(
            not partition.log.appender.verification.is_verified(
                self.producer_id, self.guards[partition.key]
            )
            for partition, _ in self._batches
            if partition.key in self.guards
        )

    def question(self, transactional_id: str) -> Question:
        """What the coordinator is asked."""
        return Question(
            transactional_id, self.producer_id, self.producer_epoch, tuple(self.guards), self._adds
        )


class ClientKind(Enum):
    """What the version of a client's request says it can do."""

    OLD = "adds partitions, knows INVALID_TXN_STATE"
    ABORTABLE = "adds partitions, knows TRANSACTION_ABORTABLE"
    ADDS_BY_WRITING = "writes, and the broker adds the partition"

    @classmethod
    def at(cls, version: int, *, abortable_since: int, adds_since: int) -> "ClientKind":
        """What a client can do that sends this version of an API."""
        if version >= adds_since:
            return cls.ADDS_BY_WRITING
        return cls.ABORTABLE if version >= abortable_since else cls.OLD

    @property
    def adds(self) -> bool:
        """Whether the broker adds partitions for it."""
        return self is ClientKind.ADDS_BY_WRITING


class LocalCoordinator(Protocol):
    """The transaction coordinator of this broker; raises ApiError."""

    def partition_of(self, transactional_id: str) -> int:
        """The partition of __transaction_state that an id belongs to."""

    async def add_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Collection[TopicPartition],
        client_version: int,
    ) -> None:
        """Make partitions part of the producer's transaction."""

    def verify_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Collection[TopicPartition],
    ) -> Mapping[TopicPartition, ErrorCode]:
        """Say of each partition whether it is part of the producer's transaction."""


class RemoteCoordinators(Protocol):
    """The coordinators of other brokers."""

    async def ask(self, broker_id: int, question: Question) -> Mapping[TopicPartition, ErrorCode]:
        """The same by AddPartitionsToTxn; it never raises."""


class Verifier:
    """Asks the coordinator of a transactional id, wherever it is."""

    def __init__(
        self,
        broker_id: int,
        config: BrokerConfig,
        metadata: ClusterMetadata,
        clock: Clock,
        local: LocalCoordinator,
        remote: RemoteCoordinators,
    ) -> None:
        self._broker_id = broker_id
        self._config = config
        self._metadata = metadata
        self._clock = clock
        self._local = local
        self._remote = remote

    def is_needed(self, kind: ClientKind) -> bool:
        """Whether somebody is asked: always where that adds partitions, else if it is set so."""
        enabled = self._config.transaction_partition_verification_enable
        return enabled or kind.adds

    async def verify(
        self, transactional_id: str, beginnings: Beginnings, kind: ClientKind
    ) -> Refusals:
        """The partitions that may not be written to; NONE of them is in the answer.

        A transaction of version 2 whose predecessor is still ending is asked again for a
        moment, as Kafka 4 does: that is what happens to every producer that goes on at once.
        So is one whose guard was taken away meanwhile, by the predecessor's marker as a rule:
        the coordinator knows whether it was this one's.
        """
        asks_again_for_ms = self._config.add_partitions_to_txn_retry_backoff_max_ms
        give_up_ms = self._clock.monotonic_ms() + asks_again_for_ms
        while True:
            refused = await self._ask(beginnings.question(transactional_id))
            is_ending = set(refused.values()) == {ErrorCode.CONCURRENT_TRANSACTIONS}
            again = (kind.adds and is_ending) or (not refused and beginnings.is_lost)
            if not again or self._clock.monotonic_ms() >= give_up_ms:
                return {each: told(code, kind) for each, code in refused.items()}
            if is_ending:
                await pause(self._clock, self._config.add_partitions_to_txn_retry_backoff_ms)
            beginnings.begin(self._clock.now_ms())
            if not beginnings.guards:  # another request of the producer has begun it everywhere
                return {}

    async def _ask(self, question: Question) -> Refusals:
        try:
            answers = await self._answers(question)
        except ApiError as error:
            return dict(question.answered(error.code))
        return {each: code for each, code in answers.items() if code is not ErrorCode.NONE}

    async def _answers(self, question: Question) -> Mapping[TopicPartition, ErrorCode]:
        index = self._local.partition_of(question.transactional_id)
        led = self._metadata.partition(TRANSACTION_TOPIC, index)
        if led is None or led.leader_id < 0:
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if led.leader_id != self._broker_id:
            return await self._remote.ask(led.leader_id, question)
        transactional_id, producer_id, producer_epoch, partitions, adds = question
        if not adds:
            return self._local.verify_partitions(
                transactional_id, producer_id, producer_epoch, partitions
            )
        await self._local.add_partitions(
            transactional_id, producer_id, producer_epoch, partitions, ADDING_VERSION
        )
        return {}


ADDING_VERSION = 2
"""Transactions of clients that add partitions by writing are of this version."""


def told(code: ErrorCode, kind: ClientKind) -> ErrorCode:
    """A coordinator's code as the client is told it."""
    if code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code is ErrorCode.TRANSACTION_ABORTABLE and kind is ClientKind.OLD:
        return ErrorCode.INVALID_TXN_STATE
    return code
