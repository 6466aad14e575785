"""What becomes of the partitions on this broker when the cluster or a disk changes.

The controller says what is new, changed or gone (`control.ControlRequests`); the data directories
say when they fail. Here that reaches everybody who has to know: the replicas, the requests that
wait, the coordinators, the metadata that clients are answered from.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Protocol

from barnabas.server.cluster.control_values import LEADER_DURING_DELETION
from barnabas.server.cluster.metadata import ClusterMetadata, PartitionInfo, TopicInfo
from barnabas.server.cluster.topics import Topics
from barnabas.server.core.awaiting import Backoff
from barnabas.server.core.clock import Clock
from barnabas.server.core.collector import COLLECTOR
from barnabas.server.core.delayed import Delayed
from barnabas.server.core.topic_names import OFFSETS_TOPIC
from barnabas.server.core.turns import Turns
from barnabas.server.observing.logs import Log
from barnabas.server.observing.metrics import Metrics
from barnabas.server.registry.znodes.store import ConnectionLoss
from barnabas.server.replication.partition import Partition
from barnabas.server.replication.replicas import Replicas
from barnabas.server.settings.changes.topic_settings import TopicSettings
from barnabas.server.settings.config import BrokerConfig
from barnabas.storage.errors import StorageError
from barnabas.storage.log_config import LogConfig
from barnabas.storage.manager.data_directory import DataDirectory
from barnabas.storage.manager.log_manager import LogManager
from barnabas.wire.error_codes import ErrorCode
from barnabas.wire.uuids import ZERO_UUID

FIRST_PAUSE_MS, LONGEST_PAUSE_MS = 50.0, 1_000.0


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


class Followers(Protocol):
    """Who copies the logs of partitions that other brokers lead."""

    def follow(self, partition: Partition) -> None: ...
    def leave(self, key: tuple[str, int]) -> None: ...


class Moving(Protocol):
    """Who moves logs between data directories."""

    def hosted(self, partition: Partition) -> None: ...
    def leave(self, key: tuple[str, int]) -> None: ...
    def directory_failed(self, directory: DataDirectory) -> None: ...


class Parts(Protocol):
    """What of a broker has to do with its partitions, or has to know of them."""

    broker_id: int
    clock: Clock
    config: BrokerConfig
    deletions: Delayed
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
    def followers(self) -> Followers: ...
    @property
    def groups(self) -> Groups: ...
    @property
    def moves(self) -> Moving: ...
    def fail(self, reason: str) -> None: ...


class Hosting:
    """Carries out changes on one broker."""

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

    async def lead_or_follow(self, topic: TopicInfo) -> dict[int, ErrorCode]:
        """Take the roles that are new among these partitions of a topic; what came of each.

        STALE_CONTROLLER_EPOCH where the leader epoch is not newer than the one that is known.
        """
        await self._give_up_older(topic)
        broker = self._broker
        known = self._known_settings(topic)
        config = await self._read_settings(topic.name) if known is None else known
        demoted: list[tuple[str, int]] = []
        changed: list[tuple[str, int]] = []
        codes: dict[int, ErrorCode] = {}
        now_ms, pauses = broker.clock.now_ms(), broker.turns.pauses()
        held = len(broker.replicas)
        with COLLECTOR.no_full_collections():
            for info in topic.partitions:
                await pauses.pause()
                was_leader = self._is_led(topic.name, info.index)
                was_held = broker.replicas.find(topic.name, info.index) is not None
                codes[info.index] = self._host(topic, info, config, now_ms)
                if was_leader and not self._is_led(topic.name, info.index):
                    demoted.append((topic.name, info.index))
                    # What it coordinated is not answered for any more, whoever leads it now.
                    broker.coordinators.partition_lost(topic.name, info.index)
                elif was_held:
                    changed.append((topic.name, info.index))
        COLLECTOR.grew(len(broker.replicas) - held)
        self._know_leaders(topic, codes)
        broker.coordinators.topic_changed(topic, broker.replicas.find)
        for key in demoted:  # told of the new leader, which is why that is known by now
            self._answer_waiting(key)
        # Fewer in sync may have been all that was waited for; who reads here is fenced.
        for key in changed:
            self.high_watermark_moved(key)
        if known is None and pauses.were_taken:
            await self._catch_up_settings(topic.name)
        return codes

    async def topic_shown(self, topic: TopicInfo) -> None:
        """Let clients see a topic as it is now."""
        broker = self._broker
        broker.metadata.set_topic(topic)
        broker.coordinators.topic_changed(topic, broker.replicas.find)
        if topic.name == OFFSETS_TOPIC:
            broker.groups.topics_deleted(self._deleted_early)
        broker.topics.changed(topic.name)

    async def give_up_strays(self, topic: TopicInfo) -> None:
        """Stop serving partitions that are elsewhere by a newer leader epoch than is known here.

        A controller tells the loss of a replica to brokers that are there. One whose session had
        ended lives on, and would lead by the old epoch for ever, or take `acks=1`. The log stays
        until a StopReplica, or a start, which looks for what is nobody's.
        """
        broker = self._broker
        strays = {
            held.index: (info.leader_epoch, False)
            for held in broker.replicas.of_topic(topic.name)
            if held.index < len(topic.partitions) and held.topic_id == topic.topic_id
            if (info := topic.partitions[held.index]).leader_epoch > held.leader_epoch
            if info.replicas and broker.broker_id not in info.replicas
        }
        if strays:
            self._log.info("replicas are elsewhere by now", topic=topic.name, partitions=[*strays])
            await self.stop_replicas(topic.name, strays)

    async def topic_forgotten(self, name: str) -> None:
        """A topic is being deleted: clients see it no more, and groups forget its offsets."""
        broker = self._broker
        broker.metadata.remove_topics([name])
        broker.coordinators.topic_deleted(name)
        broker.groups.topics_deleted([name])
        if self._is_starting:
            self._deleted_early.add(name)
        broker.topics.changed(name)

    async def stop_replicas(
        self, topic: str, stopped: Mapping[int, tuple[int, bool]]
    ) -> dict[int, ErrorCode]:
        """Give up partitions, by index with (leader epoch, whether the log goes, too).

        An older leader epoch than the known one: FENCED_LEADER_EPOCH.
        """
        broker, codes = self._broker, {}
        pauses = broker.turns.pauses()
        for index, (leader_epoch, is_deleted) in stopped.items():
            codes[index] = self._stop(topic, index, leader_epoch, is_deleted)
            await pauses.pause()
        if not broker.replicas.of_topic(topic):
            broker.metrics.forget_topic(topic)
        return codes

    def _stop(self, topic: str, index: int, leader_epoch: int, is_deleted: bool) -> ErrorCode:
        replicas = self._broker.replicas
        held = replicas.find(topic, index)
        if held is not None and 0 <= leader_epoch < held.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        self._broker.followers.leave((topic, index))
        self._broker.moves.leave((topic, index))
        if is_deleted:
            replicas.delete(topic, [index])
        else:
            replicas.let_go(topic, index)
        self._broker.coordinators.partition_lost(topic, index)
        self._answer_waiting((topic, index))
        return ErrorCode.NONE

    async def _give_up_older(self, topic: TopicInfo) -> None:
        """A topic of this name but with another id is one that was deleted without our knowing."""
        older = [
            held.index
            for held in self._broker.replicas.of_topic(topic.name)
            if ZERO_UUID != topic.topic_id != held.topic_id
        ]
        if older:
            await self.topic_forgotten(topic.name)
            await self.stop_replicas(
                topic.name, dict.fromkeys(older, (LEADER_DURING_DELETION, True))
            )

    def _know_leaders(self, topic: TopicInfo, codes: Mapping[int, ErrorCode]) -> None:
        """What clients are told of partitions that have another leader now."""
        metadata = self._broker.metadata
        known = metadata.topics.get(topic.name)
        if known is None or known.topic_id != topic.topic_id:
            return
        news = {
            info.index: info for info in topic.partitions if codes[info.index] is ErrorCode.NONE
        }
        partitions = tuple(news.get(info.index, info) for info in known.partitions)
        metadata.set_topic(TopicInfo(known.name, known.topic_id, partitions))

    def _known_settings(self, topic: TopicInfo) -> LogConfig | None:
        """The settings of these partitions' logs; None where some of them are new here.

        The others have theirs: who leads them changes whether the registry is there or not.
        """
        broker = self._broker
        ours = [info.index for info in topic.partitions if broker.broker_id in info.replicas]
        held = [broker.replicas.find(topic.name, index) for index in ours]
        for partition in held:
            if partition is not None and None not in held:
                return partition.log.config
        return None

    async def _read_settings(self, name: str) -> LogConfig:
        """A topic's settings; waited for while the registry cannot be reached, as in Kafka.

        The controller says nothing twice. But with the next session it says everything anew.
        """
        broker = self._broker
        backoff = Backoff(broker.clock, FIRST_PAUSE_MS, LONGEST_PAUSE_MS)
        give_up_ms = broker.clock.monotonic_ms() + broker.config.zookeeper_session_timeout_ms
        while True:
            try:
                return await broker.topic_settings.read(name)
            except ConnectionLoss:
                if broker.clock.monotonic_ms() >= give_up_ms:
                    raise
            await backoff.wait()

    async def _catch_up_settings(self, name: str) -> None:
        """Put in force what has changed while nobody could be told of these logs."""
        config = await self._read_settings(name)
        for partition in self._broker.replicas.of_topic(name):
            partition.log.update_config(config)

    def _is_led(self, topic: str, index: int) -> bool:
        held = self._broker.replicas.find(topic, index)
        return held is not None and held.is_leader

    def _host(
        self, topic: TopicInfo, info: PartitionInfo, config: LogConfig, now_ms: int
    ) -> ErrorCode:
        """Lead or follow what is ours."""
        broker = self._broker
        held = broker.replicas.find(topic.name, info.index)
        if held is not None and info.leader_epoch <= held.leader_epoch:
            return ErrorCode.STALE_CONTROLLER_EPOCH
        if broker.broker_id not in info.replicas:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        broker.followers.leave((topic.name, info.index))
        was_offline = broker.replicas.is_offline(topic.name, info.index)
        try:
            partition = broker.replicas.host(topic, info, config, now_ms)
        except StorageError as error:
            if not was_offline:  # else it has been said
                self._log.error("a partition cannot be opened", error=error)
            return ErrorCode.KAFKA_STORAGE_ERROR
        if not partition.is_leader:
            broker.followers.follow(partition)
        broker.moves.hosted(partition)
        return ErrorCode.NONE

    def directory_unusable(self, directory: DataDirectory) -> None:
        """A data directory fails before any partition is known: the broker starts on the others."""
        self._log.error(
            "a data directory cannot be used", directory=directory.path, error=directory.failure
        )

    def directory_failed(self, directory: DataDirectory) -> None:
        """A data directory's partitions go offline; without any directory the broker fails."""
        broker = self._broker
        self._log.error(
            "a data directory failed", directory=directory.path, error=directory.failure
        )
        broker.moves.directory_failed(directory)
        for partition in broker.replicas.directory_failed(directory.path):
            broker.followers.leave(partition.key)
            broker.moves.leave(partition.key)
            self._answer_waiting(partition.key)
            if partition.topic in broker.coordinators:
                lost = partial(broker.coordinators.partition_lost, *partition.key)
                broker.clock.call_later(0, lost)
        if not any(each.is_online for each in broker.disks.directories):
            broker.fail("the last data directory failed; see `log.dirs`")

    def high_watermark_moved(self, key: tuple[str, int]) -> None:
        """Answer who has waited for a partition's records to be committed."""
        self._broker.produces.complete(key)
        self._broker.deletions.complete(key)
        self._broker.fetches.complete(key)

    def _answer_waiting(self, key: tuple[str, int]) -> None:
        self._broker.fetches.complete_all(key)
        self._broker.deletions.complete(key)
        self._broker.produces.complete(key)  # its other partitions may yet be settled
