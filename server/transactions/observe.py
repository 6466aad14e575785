"""What the coordinator knows of its transactions and has done, as figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from barnabas.server.observing.metrics import Metrics
from barnabas.server.replication.partition import Partition
from barnabas.server.transactions.states import TransactionState

if TYPE_CHECKING:
    from barnabas.server.transactions.coordinator import TransactionCoordinator

_COORDINATOR = "kafka_coordinator_transaction"
LATE_AFTER_MS = 300_000
"""So long after a coordinator must have ended it, a transaction probably hangs (as in Kafka)."""


class TransactionCounts:
    """What the coordinator has done since it was made."""

    __slots__ = ("aborted", "committed", "expired_ids", "timed_out")

    def __init__(self) -> None:
        self.committed = 0
        self.aborted = 0
        self.timed_out = 0
        self.expired_ids = 0

    def count_end(self, state: TransactionState) -> None:
        """A transaction is complete."""
        if state is TransactionState.COMPLETE_COMMIT:
            self.committed += 1
        else:
            self.aborted += 1


def observe_transactions(transactions: TransactionCoordinator, metrics: Metrics) -> None:
    """Show them; everything is counted when it is asked for."""

    def in_state(state: TransactionState) -> int:
        return sum(1 for each in transactions.all_transactions() if each.state is state)

    def id_count() -> int:
        return sum(shard.count for shard in transactions.shards.active())

    metrics.gauge(
        f"{_COORDINATOR}_numtransactionalids", "transactional ids coordinated here", id_count
    )
    for state in TransactionState:
        metrics.gauge(
            f"{_COORDINATOR}_numtransactionalids{state.text.lower()}",
            f"transactional ids in state {state.text}",
            partial(in_state, state),
        )
    for name, text in (
        ("committed", "transactions committed"),
        ("aborted", "transactions aborted"),
        ("timed_out", "transactions aborted because their time was up"),
        ("expired_ids", "transactional ids that expired"),
    ):
        metrics.counter(f"{_COORDINATOR}_{name}", text, partial(getattr, transactions.counts, name))


def observe_late_transactions(
    partitions: Iterable[Partition],
    now_ms: Callable[[], int],
    max_timeout_ms: Callable[[], int],
    metrics: Metrics,
) -> None:
    """Count the partitions in which a transaction is open for longer than any may be."""

    def count() -> int:
        since_ms = now_ms() - max_timeout_ms() - LATE_AFTER_MS
        return sum(1 for each in partitions if each.is_leader and _is_late(each, since_ms))

    metrics.gauge(
        "kafka_server_replicamanager_partitionswithlatetransactionscount",
        "partitions led here with a transaction open for longer than transaction.max.timeout.ms",
        count,
    )


def _is_late(partition: Partition, since_ms: int) -> bool:
    """A transaction of a producer whose records have no time is never late."""
    return 0 < partition.log.producers.oldest_transaction_timestamp() < since_ms
