"""What serves transactions, built together when the first request or record needs it."""

from collections.abc import Callable, Iterable, Iterator

from barnabas.server.coordinators.topic import CoordinatedTopic
from barnabas.server.coordinators.writer import Flush, Writer
from barnabas.server.core.clock import Clock
from barnabas.server.core.delayed import Delayed
from barnabas.server.observing.logs import Log
from barnabas.server.settings.config import BrokerConfig
from barnabas.server.transactions.ending import Ending, Markers
from barnabas.server.transactions.expiry import Expiry
from barnabas.server.transactions.observe import TransactionCounts
from barnabas.server.transactions.records import (
    MalformedRecord,
    UnknownVersion,
    decode_key,
    decode_value,
)
from barnabas.server.transactions.shard import TransactionShard
from barnabas.server.transactions.states import PREPARED, TransactionState
from barnabas.server.transactions.transaction import Transaction, TransactionEntry
from barnabas.storage.batch.records import Record

NEVER_WRITTEN = (TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE)


class Services:
    """One of each."""

    def __init__(
        self,
        topic: CoordinatedTopic,
        config: BrokerConfig,
        clock: Clock,
        produces: Delayed,
        fetches: Delayed,
        flush: Flush,
        markers: Callable[[], Markers],
        transaction_version: Callable[[], int],
        counts: TransactionCounts,
        log: Log,
    ) -> None:
        self._clock = clock
        self._log = log
        writer = Writer(topic, clock, produces, fetches, flush)
        self.ending = Ending(clock, writer, markers(), transaction_version, counts, log)
        self.expiry = Expiry(config, clock, writer, self.ending, counts, log)

    def replay(self, shard: TransactionShard, record: Record) -> None:
        """Take a record in. One of a version that is not known is left alone, as in Kafka.

        One that cannot be read takes its transactional id along: what stood before it is not
        how things are, and must not be acted upon.
        """
        try:
            name = decode_key(record.key)
        except (MalformedRecord, UnknownVersion):
            shard.skipped += 1
            return
        try:
            known = None if record.value is None else _decoded(name, record.value)
        except MalformedRecord:
            shard.skipped += 1
            known = None
        except UnknownVersion:
            shard.skipped += 1
            return
        if known is None:
            shard.entries.pop(name, None)
        else:
            shard.entries[name] = TransactionEntry(known)

    def loaded(self, shard: TransactionShard) -> None:
        """Go on with what was under way when the log ended."""
        now_ms = self._clock.now_ms()
        prepared = []
        for name, entry in shard.entries.items():
            transaction = entry.transaction
            if transaction.state in PREPARED:
                prepared.append(entry)
            elif transaction.state is TransactionState.ONGOING:
                left_ms = transaction.start_ms + transaction.timeout_ms - now_ms
                left_ms = max(0, min(left_ms, transaction.timeout_ms))
                entry.deadline_ms = self._clock.monotonic_ms() + left_ms
                shard.ongoing[name] = entry
        if shard.skipped:
            self._log.warn("records were skipped", partition=shard.index, records=shard.skipped)
        shard.resuming.begin(self._resume(shard, prepared))

    def _resume(
        self, shard: TransactionShard, prepared: Iterable[TransactionEntry]
    ) -> Iterator[None]:
        """Carry the prepared ends out; until one's turn has come, nothing else can happen to it."""
        for entry in prepared:
            self.ending.resume(shard, entry)
            yield


def _decoded(name: str, value: bytes) -> Transaction:
    transaction = decode_value(name, value)
    if transaction.state in NEVER_WRITTEN:
        raise MalformedRecord(f"{transaction.state.text} is never written")
    return transaction
