"""What is kept for one partition of __consumer_offsets: its groups, its open transactions.

Nothing here imports what serves groups: a broker that leads the partitions and never sees a
group does without (`services`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.server.coordinators.shards import Shard
from barnabas.server.coordinators.topic import LOG_ERRORS, CoordinatedTopic
from barnabas.server.core.topic_names import OFFSETS_TOPIC
from barnabas.server.replication.partition import Partition
from barnabas.server.settings.config import BrokerConfig
from barnabas.storage.batch.header import BatchHeader
from barnabas.storage.batch.records import Record
from barnabas.wire.error_codes import ErrorCode

if TYPE_CHECKING:
    from barnabas.server.groups.group import Group
    from barnabas.server.groups.loading import Replay
    from barnabas.server.groups.services import Services


def offsets_topic(config: BrokerConfig) -> CoordinatedTopic:
    """__consumer_offsets by the broker's settings."""
    return CoordinatedTopic(
        OFFSETS_TOPIC,
        keeps="groups",
        partition_count=config.offsets_topic_num_partitions,
        load_buffer_bytes=config.offsets_load_buffer_size,
        required_acks=config.offsets_commit_required_acks,
        write_timeout_ms=config.offsets_commit_timeout_ms,
        codec=config.offsets_topic_compression_codec,
        errors={
            **LOG_ERRORS,
            ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
            ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
        },
    )


class GroupShard(Shard):
    """The groups of one partition.

    `open_transactions` has by producer id the groups with offsets in its open transaction.
    `deleted_topics` are those deleted before it was loaded: their offsets mean nothing.
    """

    def __init__(self, partition: Partition, services: Callable[[], Services]) -> None:
        super().__init__(partition)
        self._services = services
        self._replay: Replay | None = None
        self.groups: dict[str, Group] = {}
        self.open_transactions: dict[int, set[str]] = {}
        self.deleted_topics: set[str] = set()

    @property
    def count(self) -> int:
        """How many groups there are."""
        return len(self.groups)

    def replay(self, record: Record, header: BatchHeader) -> None:
        """Take a record in; no group comes of it before the log's end."""
        if self._replay is None:
            from barnabas.server.groups.loading import Replay

            self._replay = Replay()
        self._replay.apply(record, header)

    def end_transaction(self, producer_id: int, is_commit: bool) -> None:
        """A marker: the producer's offsets count, or never were."""
        if self._replay is not None:
            self._replay.end_transaction(producer_id, is_commit)
        for group_id in self.open_transactions.pop(producer_id, ()):
            group = self.groups.get(group_id)
            if group is not None:
                group.offsets.end_transaction(producer_id, is_commit)

    def loaded(self) -> None:
        """Make groups of what was replayed."""
        replay, self._replay = self._replay, None
        if replay is not None:
            self._services().loaded(self, replay)
        self.deleted_topics.clear()

    def retire(self) -> None:
        """Forget the groups and send their members away."""
        self._replay = None
        self.open_transactions = {}
        groups, self.groups = self.groups, {}
        for group in groups.values():
            self._services().rebalance.unload(group)
