"""Writing to an internal topic: one batch per decision, told when it is safe.

A batch is safe once all in-sync replicas have it (or as many as the topic's `required_acks`
say), and it is flushed where the topic's settings ask for that; what waits for that waits at
most `write_timeout_ms`. Errors of the log become those that the coordinator's clients know.
"""

from collections.abc import Callable, Sequence
from functools import partial

from barnabas.server.coordinators.shards import Shard
from barnabas.server.coordinators.topic import CoordinatedTopic
from barnabas.server.core.clock import Clock
from barnabas.server.core.delayed import Delayed
from barnabas.server.core.errors import ApiError, code_of
from barnabas.server.replication.partition import Partition
from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.header import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE
from barnabas.storage.batch.records import Record
from barnabas.storage.errors import StorageError
from barnabas.storage.manager.managed_log import ManagedLog
from barnabas.storage.producers.entry import AppendOrigin
from barnabas.storage.producers.verification import VerificationGuard
from barnabas.wire.error_codes import ErrorCode

ALL_REPLICAS = -1
KeyAndValue = tuple[bytes, bytes | None]
Written = Callable[[ErrorCode, int], object]
"""Told the error, or NONE and the offset of the batch."""
Flush = Callable[[ManagedLog, Callable[[], object]], object]
"""Flushes a log in the background and then calls back: `LogManager.flush`."""


class Writer:
    """Appends a coordinator's batches."""

    def __init__(
        self,
        topic: CoordinatedTopic,
        clock: Clock,
        produces: Delayed,
        fetches: Delayed,
        flush: Flush,
    ) -> None:
        self._topic = topic
        self._flush = flush
        self._clock = clock
        self._produces = produces
        self._fetches = fetches

    def append(
        self,
        shard: Shard,
        records: Sequence[KeyAndValue],
        written: Written,
        *,
        base_sequence: int = NO_SEQUENCE,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        is_transactional: bool = False,
        verification_guard: VerificationGuard | None = None,
    ) -> None:
        """Append one batch and call `written` when it is safe, perhaps before this returns.

        A transactional one has to show the guard that verified it, unless its transaction is
        open here already.
        """
        now_ms = self._clock.now_ms()
        batch = build_batch(
            [Record(n, now_ms, key, value) for n, (key, value) in enumerate(records)],
            codec=self._topic.codec,
            base_sequence=base_sequence,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            is_transactional=is_transactional,
        )
        acks = self._topic.required_acks
        partition = shard.partition
        try:
            info = partition.append(
                batch,
                acks,
                now_ms,
                origin=AppendOrigin.COORDINATOR,
                verification_guard=verification_guard,
            )
        except Exception as error:
            # Also of a bug: who holds something until it is written would hold it for ever.
            written(self._told(code_of(error)), -1)
            if not isinstance(error, (ApiError, StorageError)):
                raise
            return
        self._fetches.complete(partition.key)
        end = info.last_offset + 1
        if partition.is_settled(end, acks):
            self._tell(shard, end, info.first_offset, acks, written)
        else:
            self._when_settled(shard, end, info.first_offset, acks, written)

    def _when_settled(
        self, shard: Shard, end: int, first: int, acks: int, written: Written
    ) -> None:
        partition = shard.partition

        def is_ready(_: object) -> bool:
            return partition.is_settled(end, acks) or not partition.is_leader

        timeout_ms = self._topic.write_timeout_ms
        wait = self._produces.park([partition.key], timeout_ms, is_ready, lambda: None)
        wait.then(lambda _: self._tell(shard, end, first, acks, written))
        if partition.is_flush_due(end):
            self._flush(partition.log, partial(self._produces.complete, partition.key))

    def _tell(self, shard: Shard, end: int, first: int, acks: int, written: Written) -> None:
        """What became of a batch that ends at `end`; not for a leadership to say that is over."""
        code = outcome(shard.partition, end, acks)
        if shard.is_retired:
            code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        written(self._told(code), first if code is ErrorCode.NONE else -1)

    def _told(self, code: ErrorCode) -> ErrorCode:
        """What the coordinator's clients know an error as."""
        return self._topic.errors.get(code, code)


def outcome(partition: Partition, end: int, acks: int) -> ErrorCode:
    """What the log has to say, when the wait is over, of an append that ends at `end`.

    On all in-sync replicas is not enough where these have become too few meanwhile.
    """
    if not partition.is_leader:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if not partition.is_settled(end, acks):
        return ErrorCode.REQUEST_TIMED_OUT
    if acks == ALL_REPLICAS and len(partition.isr) < partition.min_insync_replicas:
        return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    return ErrorCode.NONE
