"""The transaction coordinator's front: finds the transactional id of a request, decides, writes.

Requests of a transactional id are answered by the broker that leads its partition of
__transaction_state, once that is loaded. Everything here runs on the broker's loop. Between
a decision (`transitions`) and its record nothing else is decided for the same id: who asks
meanwhile is told CONCURRENT_TRANSACTIONS.
"""

from __future__ import annotations  # what the types name is imported when it is needed

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeVar

from barnabas.server.cluster.metadata import ClusterMetadata
from barnabas.server.coordinators.leadership import Leadership
from barnabas.server.coordinators.shards import Shards
from barnabas.server.core.clock import Clock, Timer
from barnabas.server.core.delayed import Delayed
from barnabas.server.core.errors import REGISTRY_CODES, ApiError
from barnabas.server.core.topic_names import TopicPartition
from barnabas.server.observing.logs import Log
from barnabas.server.replication.partition import Partition
from barnabas.server.settings.config import BrokerConfig
from barnabas.server.transactions import transitions
from barnabas.server.transactions.observe import TransactionCounts
from barnabas.server.transactions.shard import TransactionShard, transaction_topic
from barnabas.server.transactions.states import TransactionState
from barnabas.server.transactions.transaction import (
    NO_PRODUCER,
    NO_PRODUCER_ID,
    TRANSACTIONS_V2,
    ProducerIdAndEpoch,
    Transaction,
    TransactionEntry,
)
from barnabas.wire.error_codes import ErrorCode

if TYPE_CHECKING:
    from barnabas.server.coordinators.writer import Flush
    from barnabas.server.transactions.ending import Markers
    from barnabas.server.transactions.services import Services

T = TypeVar("T")
Answer = asyncio.Future[ProducerIdAndEpoch]


class TransactionCoordinator:
    """All transactional ids of this broker."""

    def __init__(
        self,
        config: BrokerConfig,
        clock: Clock,
        metadata: ClusterMetadata,
        produces: Delayed,
        fetches: Delayed,
        flush: Flush,
        markers: Callable[[], Markers],
        take_producer_id: Callable[[], Awaitable[int]],
        transaction_version: Callable[[], int],
        log: Log,
    ) -> None:
        """`markers` makes what writes them, when the first transaction needs it.

        `transaction_version` is the cluster's finalized feature of that name.
        """
        self._config = config
        self._clock = clock
        self._take_producer_id = take_producer_id
        self.counts = TransactionCounts()
        topic = transaction_topic(config)
        self._parts = (
            topic, config, clock, produces, fetches, flush, markers, transaction_version,
            self.counts, log,
        )  # fmt: skip
        self.shards: Shards[TransactionShard] = Shards(topic, metadata)
        self.leadership = Leadership(topic, self.shards, self._make_shard, clock, produces, log)
        self._timers: dict[str, Timer] = {}

    @cached_property
    def _services(self) -> Services:
        from barnabas.server.transactions.services import Services

        return Services(*self._parts)

    def _make_shard(self, partition: Partition) -> TransactionShard:
        return TransactionShard(partition, lambda: self._services)

    def expect_producers(self) -> None:
        """Somebody asks for a coordinator, and will come back for more: be ready by then."""
        if "_services" not in self.__dict__:
            self._clock.call_later(0, lambda: self._services)

    def start(self) -> None:
        """Begin to look for what is over."""
        config = self._config
        self._again(
            "time-outs", config.transaction_abort_timed_out_transaction_cleanup_interval_ms,
            self._look_for_timed_out,
        )  # fmt: skip
        self._again(
            "expiry", config.transaction_remove_expired_transaction_cleanup_interval_ms,
            self._look_for_expired,
        )  # fmt: skip

    def _again(self, what: str, interval_ms: int, look: Callable[[], object]) -> None:
        """Look after the interval, and after every one that follows."""

        def beat() -> None:
            self._again(what, interval_ms, look)
            look()

        self._timers[what] = self._clock.call_later(interval_ms, beat, coalesces=True)

    async def stop(self) -> None:
        """Stop loading, every timer and whatever is being completed."""
        await self.leadership.stop()
        for timer in self._timers.values():
            timer.cancel()
        if "_services" in self.__dict__:
            self._services.expiry.stop()
        tasks = [
            entry.markers
            for shard in self.shards
            for entry in shard.entries.values()
            if entry.markers is not None
        ]
        for shard in self.shards:
            shard.resuming.stop()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _look_for_timed_out(self) -> None:
        if "_services" in self.__dict__:
            self._services.expiry.watch_date()
        if any(shard.ongoing for shard in self.shards.active()):
            self._services.expiry.abort_timed_out(self.shards.active)

    def _look_for_expired(self) -> None:
        if any(shard.entries for shard in self.shards.active()):
            self._services.expiry.expire_ids(self.shards.active)

    # Requests.

    async def init_producer_id(
        self, transactional_id: str, timeout_ms: int, known: ProducerIdAndEpoch | None
    ) -> ProducerIdAndEpoch:
        """A producer begins, or goes on with the id and epoch it knows. Raises ApiError.

        An open transaction is aborted first: CONCURRENT_TRANSACTIONS until that is done.
        """
        if not transactional_id:
            raise ApiError(ErrorCode.INVALID_REQUEST)
        if not 0 < timeout_ms <= self._config.transaction_max_timeout_ms:
            raise ApiError(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
        return await self._decided(partial(self._init, transactional_id, timeout_ms, known))

    async def add_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Collection[TopicPartition],
        client_version: int,
    ) -> None:
        """Put partitions under the producer's transaction, which begins it. Raises ApiError."""
        shard, entry = self._known(transactional_id)
        if entry.pending is not None:
            raise ApiError(ErrorCode.CONCURRENT_TRANSACTIONS)
        before, producer = entry.transaction, ProducerIdAndEpoch(producer_id, producer_epoch)
        after = transitions.with_partitions(
            before, producer, partitions, client_version, self._clock.now_ms()
        )
        if after is not before:
            await self._write(shard, entry, after)

    def verify_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Collection[TopicPartition],
    ) -> dict[TopicPartition, ErrorCode]:
        """Whether each partition is in the producer's open transaction.

        TRANSACTION_ABORTABLE for those that are not. Raises ApiError. A decision whose record is
        still being written does not matter: the log has the last word.
        """
        _, entry = self._known(transactional_id)
        producer = ProducerIdAndEpoch(producer_id, producer_epoch)
        return transitions.verified(entry.transaction, producer, partitions)

    async def end(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        is_commit: bool,
        client_version: int,
    ) -> ProducerIdAndEpoch:
        """End the producer's transaction; with whom it goes on under TRANSACTIONS_V2.

        Raises ApiError. It returns once the end is certain; the markers come behind.
        """
        producer = ProducerIdAndEpoch(producer_id, producer_epoch)
        end = self._end if client_version >= TRANSACTIONS_V2 else self._end_keeping_epoch
        return await self._decided(partial(end, transactional_id, producer, is_commit))

    # Decisions; each takes the new producer id last, and raises ProducerIdNeeded without one.

    def _init(
        self,
        transactional_id: str,
        timeout_ms: int,
        known: ProducerIdAndEpoch | None,
        new_producer_id: int,
    ) -> Answer:
        shard = self.shards.of(transactional_id)
        entry = shard.entries.get(transactional_id)
        now_ms = self._clock.now_ms()
        if entry is None:
            made = transitions.created(transactional_id, new_producer_id, timeout_ms, now_ms)
            entry = shard.entries[transactional_id] = TransactionEntry(made)
        if entry.pending is not None:
            raise ApiError(ErrorCode.CONCURRENT_TRANSACTIONS)
        if entry.transaction.state is TransactionState.ONGOING:
            transitions.check_known(entry.transaction, known)
            return self._fence(shard, entry)
        after = transitions.initialized(
            entry.transaction, known, timeout_ms, now_ms, new_producer_id
        )
        return self._write(shard, entry, after)

    def _fence(self, shard: TransactionShard, entry: TransactionEntry) -> Answer:
        """Abort the open transaction; the producer is to come again."""
        answer = _no_answer_yet()

        def fenced(error: ErrorCode) -> None:
            if error is ErrorCode.NONE:
                error = ErrorCode.CONCURRENT_TRANSACTIONS
            _give(answer, error, NO_PRODUCER)

        self._services.ending.fence(shard, entry, fenced)
        return answer

    def _end(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        is_commit: bool,
        new_producer_id: int,
    ) -> Answer:
        """The end that raises the epoch."""
        shard, entry = self._known(transactional_id)
        if entry.pending is not None:
            raise ApiError(ErrorCode.CONCURRENT_TRANSACTIONS)
        try:
            prepared = transitions.ended_with_new_epoch(
                entry.transaction, producer, is_commit, self._clock.now_ms(), new_producer_id
            )
        except transitions.AlreadyEnded:
            return _answer_at_once(entry.transaction.producer)
        return self._prepare(shard, entry, prepared)

    def _end_keeping_epoch(
        self, transactional_id: str, producer: ProducerIdAndEpoch, is_commit: bool, _: int
    ) -> Answer:
        """The end of TRANSACTIONS_V1."""
        shard, entry = self._known(transactional_id)
        transitions.check_producer(entry.transaction, producer)
        if entry.pending is not None:
            raise ApiError(ErrorCode.CONCURRENT_TRANSACTIONS)
        try:
            prepared = transitions.ended(
                entry.transaction, producer, is_commit, self._clock.now_ms()
            )
        except transitions.AlreadyEnded:
            return _answer_at_once(NO_PRODUCER)
        return self._prepare(shard, entry, prepared)

    def _prepare(
        self, shard: TransactionShard, entry: TransactionEntry, prepared: Transaction
    ) -> Answer:
        """Write a prepared end; once it is safe it is carried out, and answered."""
        answer = _no_answer_yet()
        raises_epoch = prepared.client_version >= TRANSACTIONS_V2

        def written(error: ErrorCode) -> None:
            producer = NO_PRODUCER
            if error is ErrorCode.NONE:
                following = self._services.ending.resume(shard, entry)
                producer = following if raises_epoch else NO_PRODUCER
            _give(answer, error, producer)

        self._services.ending.write(shard, entry, prepared, written)
        return answer

    def _write(
        self, shard: TransactionShard, entry: TransactionEntry, after: Transaction
    ) -> Answer:
        answer = _no_answer_yet()
        self._services.ending.write(
            shard, entry, after, lambda error: _give(answer, error, after.producer)
        )
        return answer

    async def _decided(self, decide: Callable[[int], Answer]) -> ProducerIdAndEpoch:
        """What a decision comes to; it is made anew once the producer id that it needs is there."""
        producer_id = NO_PRODUCER_ID
        while True:
            try:
                answer = decide(producer_id)
                break
            except transitions.ProducerIdNeeded:
                producer_id = await self._new_producer_id()
        return await answer

    async def _new_producer_id(self) -> int:
        try:
            return await self._take_producer_id()
        except tuple(REGISTRY_CODES):
            # As Kafka answers until a block of ids has come; clients retry.
            raise ApiError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS) from None

    # Looking up.

    def partition_of(self, transactional_id: str) -> int:
        """The partition of __transaction_state that the id belongs to."""
        return self.shards.partition_of(transactional_id)

    def all_transactions(self) -> Iterator[Transaction]:
        """Every transactional id of every loaded shard."""
        for shard in self.shards.active():
            for entry in tuple(shard.entries.values()):
                yield entry.transaction

    def describe(self, transactional_id: str) -> Transaction:
        """Raises ApiError TRANSACTIONAL_ID_NOT_FOUND, or that another broker has to be asked."""
        if not transactional_id:
            raise ApiError(ErrorCode.INVALID_REQUEST)
        entry = self.shards.of(transactional_id).entries.get(transactional_id)
        if entry is None:
            raise ApiError(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
        return entry.transaction

    def _known(self, transactional_id: str) -> tuple[TransactionShard, TransactionEntry]:
        if not transactional_id:
            raise ApiError(ErrorCode.INVALID_REQUEST)
        shard = self.shards.of(transactional_id)
        entry = shard.entries.get(transactional_id)
        if entry is None:
            raise ApiError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        return shard, entry


def _no_answer_yet() -> Answer:
    return asyncio.get_running_loop().create_future()


def _answer_at_once(producer: ProducerIdAndEpoch) -> Answer:
    answer = _no_answer_yet()
    answer.set_result(producer)
    return answer


def _give(answer: Answer, error: ErrorCode, producer: ProducerIdAndEpoch) -> None:
    """Nobody may be waiting any more: the client is gone."""
    if answer.done():
        return
    if error is ErrorCode.NONE:
        answer.set_result(producer)
    else:
        answer.set_exception(ApiError(error))
