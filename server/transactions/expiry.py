"""What ends by itself: transactions that are open for too long, ids that nobody uses.

A transaction is aborted when its producer's timeout is over, and the producer is fenced. It is
counted by the clock that no change of the date moves; after the coordinator moved, from what is
left by the date, at most the whole timeout.

A transactional id without an open transaction is forgotten `transactional.id.expiration.ms`
after it was last heard of; a date that is set forward does not bring that nearer. Its tombstone
comes first; a producer that uses it meanwhile is told to come again.
"""

from collections.abc import Callable, Iterable, Iterator

from barnabas.server.coordinators.writer import KeyAndValue, Writer
from barnabas.server.core.clock import Clock
from barnabas.server.core.slices import Slices
from barnabas.server.observing.logs import Log
from barnabas.server.settings.config import BrokerConfig
from barnabas.server.transactions.ending import Ending
from barnabas.server.transactions.observe import TransactionCounts
from barnabas.server.transactions.records import encode_key
from barnabas.server.transactions.shard import TransactionShard
from barnabas.server.transactions.states import IDLE, TransactionEvent, next_state
from barnabas.server.transactions.transaction import TransactionEntry
from barnabas.storage.manager.steady_date import SteadyDate
from barnabas.wire.error_codes import ErrorCode

TOMBSTONES_TOGETHER = 500
Shards = Callable[[], Iterable[TransactionShard]]


class Expiry:
    """Ends what is over."""

    def __init__(
        self,
        config: BrokerConfig,
        clock: Clock,
        writer: Writer,
        ending: Ending,
        counts: TransactionCounts,
        log: Log,
    ) -> None:
        self._config = config
        self._clock = clock
        self._writer = writer
        self._ending = ending
        self._counts = counts
        self._log = log
        self._aborting = Slices()
        self._expiring = Slices()
        self._date = SteadyDate()

    def stop(self) -> None:
        """Look at no more of them."""
        self._aborting.stop()
        self._expiring.stop()

    def watch_date(self) -> None:
        """See whether the date has been set; to be called often."""
        self._date.watch(self._clock.now_ms(), self._clock.monotonic_ms())

    # Transactions.

    def abort_timed_out(self, shards: Shards) -> None:
        """Abort what has been open for longer than its producer asked for.

        Unless that is still being done: thousands of producers may have died at once.
        """
        if not self._aborting.is_busy:
            self._aborting.begin(self._timed_out(shards()))

    def _timed_out(self, shards: Iterable[TransactionShard]) -> Iterator[None]:
        for shard in shards:
            for entry in tuple(shard.ongoing.values()):
                is_over = entry.deadline_ms < self._clock.monotonic_ms()
                if is_over and entry.pending is None and shard.is_active:
                    self._abort(shard, entry)
                yield

    def _abort(self, shard: TransactionShard, entry: TransactionEntry) -> None:
        name = entry.transaction.transactional_id

        def aborted(error: ErrorCode) -> None:
            if error is ErrorCode.NONE:
                self._counts.timed_out += 1
                self._log.info("a transaction timed out", transactional_id=name)
            else:
                self._log.warn(
                    "a transaction that timed out cannot be aborted", transactional_id=name,
                    error=error.name,
                )  # fmt: skip

        self._ending.fence(shard, entry, aborted)

    # Transactional ids.

    def expire_ids(self, shards: Shards) -> None:
        """Forget the ids that nobody uses, unless that is still being done."""
        if not self._expiring.is_busy:
            self._expiring.begin(self._parts(shards()))

    def _parts(self, shards: Iterable[TransactionShard]) -> Iterator[None]:
        for shard in shards:
            names = tuple(shard.entries)
            for first in range(0, len(names), TOMBSTONES_TOGETHER):
                if shard.is_active:
                    self._expire(shard, names[first : first + TOMBSTONES_TOGETHER])
                yield

    def _expire(self, shard: TransactionShard, names: Iterable[str]) -> None:
        """Bury those of the ids that have expired, in one batch."""
        silence_ms = self._config.transactional_id_expiration_ms
        now_ms = self._date.before_jumps(
            self._clock.now_ms(), self._clock.monotonic_ms(), silence_ms
        )
        since_ms = now_ms - silence_ms
        expired: dict[str, TransactionEntry] = {}
        for name in names:
            entry = shard.entries.get(name)
            if entry is not None and _is_over(entry, since_ms):
                expired[name] = entry
                entry.pending = next_state(entry.transaction.state, TransactionEvent.EXPIRED)
        if not expired:
            return

        def written(error: ErrorCode, _: int) -> None:
            for name, entry in expired.items():
                entry.pending = None
                if error is ErrorCode.NONE:
                    shard.entries.pop(name, None)
            if error is ErrorCode.NONE:
                self._counts.expired_ids += len(expired)
                self._log.info("transactional ids expired", ids=len(expired))
            else:
                self._log.warn("tombstones not stored", ids=len(expired), error=error.name)

        tombstones: list[KeyAndValue] = [(encode_key(name), None) for name in expired]
        self._writer.append(shard, tombstones, written)


def _is_over(entry: TransactionEntry, since_ms: int) -> bool:
    return (
        entry.pending is None
        and entry.transaction.last_update_ms <= since_ms
        and entry.transaction.state in IDLE
    )
