"""How transactions move: a record for every step, and what follows a prepared end.

    decided ──> record written ──> it counts                         any step
    prepared ──> markers in every partition ──> complete, written    what follows an end

Nothing counts before its record is safe; until then the entry is `pending`. Once an end is
prepared nothing but its completion can follow, here or wherever the shard is loaded next: its
markers, and then its record, are tried until they are written or the leadership is over.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from barnabas.server.coordinators.writer import Writer
from barnabas.server.core.awaiting import Backoff
from barnabas.server.core.clock import NEVER, Clock
from barnabas.server.core.errors import ApiError
from barnabas.server.core.slices import Turnstile
from barnabas.server.observing.logs import Log
from barnabas.server.transactions import transitions
from barnabas.server.transactions.markers import EndedTransaction
from barnabas.server.transactions.observe import TransactionCounts
from barnabas.server.transactions.records import encode_key, encode_value
from barnabas.server.transactions.shard import TransactionShard
from barnabas.server.transactions.states import TransactionState
from barnabas.server.transactions.transaction import (
    NO_PRODUCER_EPOCH,
    TRANSACTIONS_V2,
    ProducerIdAndEpoch,
    Transaction,
    TransactionEntry,
)
from barnabas.wire.error_codes import ErrorCode

Done = Callable[[ErrorCode], object]
FIRST_PAUSE_MS, LONGEST_PAUSE_MS = 50, 5_000


class Markers(Protocol):
    """Who writes markers: `markers.MarkerSender`."""

    def write(self, ended: EndedTransaction) -> Awaitable[None]: ...


class Ending:
    """Moves the transactions of this broker's shards."""

    def __init__(
        self,
        clock: Clock,
        writer: Writer,
        markers: Markers,
        transaction_version: Callable[[], int],
        counts: TransactionCounts,
        log: Log,
    ) -> None:
        self._clock = clock
        self._writer = writer
        self._markers = markers
        self._transaction_version = transaction_version
        self._counts = counts
        self._log = log
        self._turnstile = Turnstile()
        """One answer may tell of thousands of markers."""

    def write(
        self, shard: TransactionShard, entry: TransactionEntry, after: Transaction, done: Done
    ) -> None:
        """Write what the transaction becomes; `done` is told, perhaps before this returns."""
        key = encode_key(after.transactional_id)
        value = encode_value(after, self._transaction_version())
        entry.pending = after.state

        def written(error: ErrorCode, _: int) -> None:
            entry.pending = None
            if shard.is_retired:
                error = ErrorCode.NOT_COORDINATOR
            elif error is ErrorCode.NONE:
                self._take_over(shard, entry, after)
            done(error)

        try:
            self._writer.append(shard, [(key, value)], written)
        except Exception as error:  # `done` has been told
            name = after.transactional_id
            self._log.unexpected("a step was not recorded", error, transactional_id=name)

    def _take_over(
        self, shard: TransactionShard, entry: TransactionEntry, after: Transaction
    ) -> None:
        was_ongoing = entry.transaction.state is TransactionState.ONGOING
        entry.transaction = after
        if after.state is not TransactionState.ONGOING:
            shard.ongoing.pop(after.transactional_id, None)
            entry.deadline_ms = NEVER
        elif not was_ongoing:
            shard.ongoing[after.transactional_id] = entry
            entry.deadline_ms = self._clock.monotonic_ms() + after.timeout_ms

    def fence(self, shard: TransactionShard, entry: TransactionEntry, done: Done) -> None:
        """Shut out the producer of an open transaction and abort it.

        `done` is told once that is certain; markers come behind.
        """
        version = self._transaction_version()
        aborted = transitions.fenced(
            entry.transaction, version, self._clock.now_ms(),
            has_failed_before=entry.has_failed_fence,
        )  # fmt: skip
        keeps_epoch = version < TRANSACTIONS_V2
        if keeps_epoch:  # it is shut out from now on, whatever becomes of the record
            entry.transaction = entry.transaction._replace(
                producer_epoch=aborted.producer_epoch, last_producer_epoch=NO_PRODUCER_EPOCH
            )

        def written(error: ErrorCode) -> None:
            if error is ErrorCode.NONE:
                self.resume(shard, entry)
            else:
                entry.has_failed_fence = keeps_epoch
            done(error)

        self.write(shard, entry, aborted, written)

    def resume(self, shard: TransactionShard, entry: TransactionEntry) -> ProducerIdAndEpoch:
        """Go on with a prepared end; who may write when it is complete."""
        complete = transitions.completed(entry.transaction, self._clock.now_ms())
        entry.pending = complete.state
        work = self._complete(shard, entry)
        entry.markers = asyncio.get_running_loop().create_task(work)
        entry.markers.add_done_callback(lambda task: self._ended(entry, task))
        return complete.producer

    def _ended(self, entry: TransactionEntry, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if isinstance(error, Exception):
            name = entry.transaction.transactional_id
            self._log.unexpected("a transaction cannot be completed", error, transactional_id=name)

    async def _complete(self, shard: TransactionShard, entry: TransactionEntry) -> None:
        prepared = entry.transaction
        try:
            if prepared.partitions:
                await self._markers.write(ended_transaction(prepared, shard.leader_epoch))
        except ApiError as error:
            self._log.warn(
                "markers were refused", transactional_id=prepared.transactional_id,
                error=error.code.name, first=error.message,
            )  # fmt: skip
            if error.code is not ErrorCode.INVALID_PRODUCER_EPOCH:
                # Another coordinator has gone on: this one is about to hear that it is none.
                return
            # A partition knows a later epoch, as after `kafka-transactions --abort`: no marker of
            # this one will ever do anything there, and the others have theirs. Kafka stops here,
            # and its transactional id can never be used again.
        await self._turnstile.turn()
        backoff = Backoff(self._clock, FIRST_PAUSE_MS, LONGEST_PAUSE_MS)
        while not shard.is_retired:
            if await self._write_complete(shard, entry, prepared) is ErrorCode.NONE:
                return
            entry.pending = prepared.state
            await backoff.wait()

    async def _write_complete(
        self, shard: TransactionShard, entry: TransactionEntry, prepared: Transaction
    ) -> ErrorCode:
        complete = transitions.completed(prepared, self._clock.now_ms())
        told: asyncio.Future[ErrorCode] = asyncio.get_running_loop().create_future()

        def written(error: ErrorCode) -> None:
            if error is ErrorCode.NONE:
                entry.has_failed_fence = False
                entry.markers = None
                self._counts.count_end(complete.state)
            if not told.done():
                told.set_result(error)

        self.write(shard, entry, complete, written)
        return await told


def ended_transaction(prepared: Transaction, coordinator_epoch: int) -> EndedTransaction:
    """What markers have to say of a prepared end."""
    return EndedTransaction(
        transactional_id=prepared.transactional_id,
        producer_id=prepared.producer_id,
        marker_epoch=prepared.producer_epoch,
        is_commit=prepared.state is TransactionState.PREPARE_COMMIT,
        coordinator_epoch=coordinator_epoch,
        transaction_version=prepared.client_version,
        partitions=prepared.partitions,
    )
