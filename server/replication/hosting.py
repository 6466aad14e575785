"""What becomes of the partitions on this broker when the cluster or a disk changes.

The controller says what is new, changed or gone (`cluster.hosted_topics.TopicSink`); the data
directories say when they fail. Here that reaches everybody who has to know: the replicas, the
requests that wait, the coordinators, the metadata that clients are answered from.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Protocol

from barnabas.server.cluster.metadata import ClusterMetadata, PartitionInfo, TopicInfo
from barnabas.server.cluster.topics import Topics
from barnabas.server.core.clock import Clock
from barnabas.server.core.collector import COLLECTOR
from barnabas.server.core.delayed import Delayed
from barnabas.server.core.topic_names import OFFSETS_TOPIC
from barnabas.server.core.turns import Turns
from barnabas.server.observing.logs import Log
from barnabas.server.observing.metrics import Metrics
from barnabas.server.replication.partition import Partition
from barnabas.server.replication.replicas import Replicas
from barnabas.server.settings.changes.topic_settings import TopicSettings
from barnabas.storage.errors import StorageError
from barnabas.storage.log_config import LogConfig
from barnabas.storage.manager.data_directory import DataDirectory
from barnabas.storage.manager.log_manager import LogManager


class Coordinators(Protocol):
    """Who keeps what internal topics hold, and follows their leadership."""

    def __contains__(self, topic: str) -> bool: ...
    def topic_changed(
        self, topic: TopicInfo, find: Callable[[str, int], Partition | None]
    ) -> None: ...
    def topic_deleted(self, topic: str) -> None: ...
    def partition_lost(self, topic: str, index: int) -> None: ...


class Groups(Protocol):
    """Who keeps committed offsets of topics, until these are deleted."""

    def topics_deleted(self, names: Iterable[str]) -> object: ...


class Parts(Protocol):
    """What of a broker has to do with its partitions, or has to know of them."""

    broker_id: int
    clock: Clock
    disks: LogManager
    fetches: Delayed
    log: Log
    metadata: ClusterMetadata
    metrics: Metrics
    produces: Delayed
    replicas: Replicas
    topic_settings: TopicSettings
    topics: Topics
    turns: Turns

    @property
    def coordinators(self) -> Coordinators: ...
    @property
    def groups(self) -> Groups: ...
    def fail(self, reason: str) -> None: ...


class Hosting:
    """Carries out changes on one broker; a `TopicSink`."""

    def __init__(self, broker: Parts) -> None:
        self._broker = broker
        self._log = broker.log
        self._is_starting = True
        # Deleted, as a crash had left them to be, before any group's offsets were at hand.
        self._deleted_early: set[str] = set()

    def started(self) -> None:
        """The controller has taken stock: what is led here is known."""
        self._is_starting = False
        self._deleted_early.clear()

    async def topic_changed(self, topic: TopicInfo) -> None:
        """Lead or follow what is ours, then let clients see it."""
        broker = self._broker
        old = broker.metadata.topics.get(topic.name)
        if old is not None and old.topic_id != topic.topic_id:
            await self.topic_deleted(old)
        config = await broker.topic_settings.read(topic.name)
        now_ms = broker.clock.now_ms()
        pauses = broker.turns.pauses()
        held = len(broker.replicas)
        demoted = []
        with COLLECTOR.no_full_collections():
            for info in topic.partitions:
                await pauses.pause()
                if self._host(topic, info, config, now_ms):
                    demoted.append((topic.name, info.index))
        COLLECTOR.grew(len(broker.replicas) - held)
        broker.metadata.set_topic(topic)
        for key in demoted:  # told of the new leader, which is why that is known by now
            self._answer_waiting(key)
        broker.coordinators.topic_changed(topic, broker.replicas.find)
        if topic.name == OFFSETS_TOPIC:
            broker.groups.topics_deleted(self._deleted_early)
        if pauses.were_taken:
            await self._catch_up_settings(topic)
        broker.topics.changed(topic.name)

    async def _catch_up_settings(self, topic: TopicInfo) -> None:
        """Put in force what has changed while nobody could be told of these logs."""
        config = await self._broker.topic_settings.read(topic.name)
        for info in topic.partitions:
            partition = self._broker.replicas.find(topic.name, info.index)
            if partition is not None:
                partition.log.update_config(config)

    def _host(self, topic: TopicInfo, info: PartitionInfo, config: LogConfig, now_ms: int) -> bool:
        """Lead or follow what is ours; whether the leadership went to another broker."""
        broker = self._broker
        held = broker.replicas.find(topic.name, info.index)
        if held is None and broker.broker_id not in info.replicas:
            return False
        led = held is not None and held.is_leader
        try:
            partition = broker.replicas.host(topic, info, config, now_ms)
        except StorageError as error:
            self._log.error("a partition cannot be opened", error=error)
            return False
        return led and not partition.is_leader

    async def topic_deleted(self, topic: TopicInfo) -> None:
        """Forget the topic, answer who waits for it, remove its files."""
        broker = self._broker
        broker.metadata.remove_topics([topic.name])
        pauses = broker.turns.pauses()
        for info in topic.partitions:
            broker.replicas.delete(topic.name, [info.index])
            self._answer_waiting((topic.name, info.index))
            await pauses.pause()
        broker.metrics.forget_topic(topic.name)
        broker.coordinators.topic_deleted(topic.name)
        broker.groups.topics_deleted([topic.name])
        if self._is_starting:
            self._deleted_early.add(topic.name)
        broker.topics.changed(topic.name)

    def directory_failed(self, directory: DataDirectory) -> None:
        """A data directory's partitions go offline; without any directory the broker fails."""
        broker = self._broker
        self._log.error(
            "a data directory failed", directory=directory.path, error=directory.failure
        )
        for partition in broker.replicas.directory_failed(directory.path):
            self._answer_waiting(partition.key)
            if partition.topic in broker.coordinators:
                lost = partial(broker.coordinators.partition_lost, *partition.key)
                broker.clock.call_later(0, lost)
        if not any(each.is_online for each in broker.disks.directories):
            broker.fail("the last data directory failed; see `log.dirs`")

    def _answer_waiting(self, key: tuple[str, int]) -> None:
        self._broker.fetches.complete_all(key)
        self._broker.produces.complete(key)  # its other partitions may yet be settled
