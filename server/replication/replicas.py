"""All partitions this broker holds, and the logs behind them.

The controller says which partitions to lead or follow (`host`) and which to drop; handlers look
partitions up here. A partition whose data directory failed stays known, and answers
KAFKA_STORAGE_ERROR until the directory is back.
"""

from collections.abc import Callable, Iterator, Sequence

from barnabas.server.cluster.metadata import PartitionInfo, TopicInfo
from barnabas.server.core.errors import ApiError
from barnabas.server.observing.metrics import Metrics
from barnabas.server.observing.topic_metrics import TopicMetrics
from barnabas.server.replication.isr_states import LeaderParts
from barnabas.server.replication.partition import Partition
from barnabas.server.replication.quotas import ReplicationQuota
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.errors import StorageError
from barnabas.storage.log_config import LogConfig
from barnabas.storage.manager.log_manager import LogManager
from barnabas.wire.error_codes import ErrorCode

Key = tuple[str, int]


class Replicas:
    """The partitions, by topic and index."""

    def __init__(
        self,
        broker_id: int,
        logs: LogManager,
        is_known: Callable[[str, int], bool],
        metrics: Metrics,
        parts: LeaderParts,
    ) -> None:
        self.leader_parts = parts
        self.leader_quota = ReplicationQuota(parts.clock)
        """What throttled followers may take of what is led here."""
        self._broker_id = broker_id
        self._logs = logs
        self._is_known = is_known
        self._metrics = metrics
        self._partitions: dict[Key, Partition] = {}
        self._indexes: dict[str, set[int]] = {}  # of each topic that is held here
        self._offline: set[Key] = set()
        self._verifies_transactions = False

    def __iter__(self) -> Iterator[Partition]:
        return iter(self._partitions.values())

    def __len__(self) -> int:
        return len(self._partitions)

    @property
    def offline(self) -> frozenset[Key]:
        """Partitions whose data directory failed."""
        return frozenset(self._offline)

    def is_offline(self, topic: str, index: int) -> bool:
        """Whether a partition's data directory is known to have failed."""
        return (topic, index) in self._offline

    def verify_transactions(self, verifies: bool) -> None:
        """Let the first batch of a transaction in a partition need a guard, or not (KIP-890)."""
        self._verifies_transactions = verifies
        for partition in self:
            partition.log.appender.verifies_transactions = verifies

    def find(self, topic: str, index: int) -> Partition | None:
        """The partition, if this broker holds it."""
        return self._partitions.get((topic, index))

    def require(self, topic: str, index: int) -> Partition:
        """The partition; raises ApiError with the code that says why there is none."""
        found = self._partitions.get((topic, index))
        if found is not None:
            return found
        if (topic, index) in self._offline:
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR)
        if self._is_known(topic, index):
            raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def of_topic(self, topic: str) -> list[Partition]:
        """The partitions of a topic that this broker holds, in no order."""
        return [self._partitions[topic, index] for index in self._indexes.get(topic, ())]

    def counts_of(self, topic: str) -> TopicMetrics | None:
        """What is counted of a topic, if this broker has held any of it."""
        return self._metrics.topics.get(topic)

    def host(
        self, topic: TopicInfo, info: PartitionInfo, config: LogConfig, now_ms: int
    ) -> Partition:
        """Lead or follow a partition, as `info` says; its log is opened, or created.

        Raises StorageError: then the partition is offline here.
        """
        partition = self._held(topic, info, config, now_ms)
        if info.leader_id == self._broker_id:
            partition.become_leader(
                info.leader_epoch, info.replicas, info.isr, partition_epoch=info.partition_epoch,
                controller_epoch=info.controller_epoch, adding=info.adding,
                removing=info.removing,
            )  # fmt: skip
        else:
            partition.become_follower(
                info.leader_id, info.leader_epoch, info.replicas, info.isr,
                partition_epoch=info.partition_epoch, controller_epoch=info.controller_epoch,
                adding=info.adding, removing=info.removing,
            )  # fmt: skip
        return partition

    def _held(
        self, topic: TopicInfo, info: PartitionInfo, config: LogConfig, now_ms: int
    ) -> Partition:
        key = (topic.name, index := info.index)
        partition = self._partitions.get(key)
        if partition is not None:
            return partition
        try:
            log = self._logs.create(
                TopicPartition(topic.name, index), config, now_ms,
                topic_id=topic.topic_id, is_new=info.is_new,
            )  # fmt: skip
        except StorageError:
            self._offline.add(key)
            raise
        log.appender.verifies_transactions = self._verifies_transactions
        counts = self._metrics.topic(topic.name)
        partition = Partition(
            topic.name, topic.topic_id, index, self._broker_id, log, counts, self.leader_parts
        )
        self._partitions[key] = partition
        self._indexes.setdefault(topic.name, set()).add(index)
        self._offline.discard(key)
        return partition

    def delete(self, topic: str, indexes: Sequence[int]) -> None:
        """Drop partitions and their logs; the files go after `file.delete.delay.ms`."""
        for index in indexes:
            self._offline.discard((topic, index))
            self.let_go(topic, index)
            # A log that nobody led goes, too: after a crash, or where its directory had failed.
            self._logs.delete(TopicPartition(topic, index))

    def let_go(self, topic: str, index: int) -> None:
        """Drop a partition; its log stays."""
        partition = self._partitions.pop((topic, index), None)
        if partition is None:
            return
        partition.went_offline()
        self._indexes[topic].discard(index)
        if not self._indexes[topic]:
            del self._indexes[topic]

    def directory_failed(self, directory: str) -> list[Partition]:
        """Take the partitions of a data directory offline; which they were."""
        failed = [
            p for p in self._partitions.values() if p.log.directory.startswith(f"{directory}/")
        ]
        for partition in failed:
            self.let_go(*partition.key)
            self._offline.add(partition.key)
        return failed
