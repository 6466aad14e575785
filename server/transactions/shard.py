"""What is kept for one partition of __transaction_state: its transactional ids.

Nothing here imports what serves transactions: a broker that leads the partitions and never sees
a transaction does without (`services`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.server.coordinators.shards import Shard
from barnabas.server.coordinators.topic import LOG_ERRORS, CoordinatedTopic
from barnabas.server.core.slices import Slices
from barnabas.server.core.topic_names import TRANSACTION_TOPIC
from barnabas.server.replication.partition import Partition
from barnabas.server.settings.config import BrokerConfig
from barnabas.storage.batch.header import BatchHeader
from barnabas.storage.batch.records import Record
from barnabas.wire.error_codes import ErrorCode

if TYPE_CHECKING:
    from barnabas.server.transactions.services import Services
    from barnabas.server.transactions.transaction import TransactionEntry

ALL_REPLICAS = -1


def transaction_topic(config: BrokerConfig) -> CoordinatedTopic:
    """__transaction_state by the broker's settings."""
    return CoordinatedTopic(
        TRANSACTION_TOPIC,
        keeps="transactional_ids",
        partition_count=config.transaction_state_log_num_partitions,
        load_buffer_bytes=config.transaction_state_log_load_buffer_size,
        required_acks=ALL_REPLICAS,
        write_timeout_ms=config.request_timeout_ms,
        errors={
            **LOG_ERRORS,
            ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
            ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
            ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
        },
    )


class TransactionShard(Shard):
    """The transactional ids of one partition; `ongoing` are those with an open transaction.

    `skipped` counts records that could not be read while loading.
    """

    def __init__(self, partition: Partition, services: Callable[[], Services]) -> None:
        super().__init__(partition)
        self._services = services
        self.entries: dict[str, TransactionEntry] = {}
        self.ongoing: dict[str, TransactionEntry] = {}
        self.skipped = 0
        self.resuming = Slices()
        """What goes on with ends that were prepared when the shard was loaded."""

    @property
    def count(self) -> int:
        """How many transactional ids there are."""
        return len(self.entries)

    def replay(self, record: Record, header: BatchHeader) -> None:
        """Take a record in: the last one of a transactional id counts."""
        del header
        self._services().replay(self, record)

    def loaded(self) -> None:
        """Go on with what was under way: markers of prepared ends, time-outs of open ones."""
        if self.entries or self.skipped:
            self._services().loaded(self)

    def retire(self) -> None:
        """Forget the transactional ids; whoever leads next goes on with them."""
        entries, self.entries, self.ongoing, self.skipped = self.entries, {}, {}, 0
        self.resuming.stop()
        for entry in entries.values():
            if entry.markers is not None:
                entry.markers.cancel()
