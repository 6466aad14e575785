"""The broker: everything is made here, started in one order and stopped in the other.

    start: data directories, registry, listeners (bound), registration, controller, listeners (open)
    stop:  listeners, connections, controller and registration, data directories

Nothing is global: two brokers in one process share no state but what they are given.
"""

import asyncio
import socket
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.server.clock import Clock, LoopClock
from barnabas.server.cluster.controller import Controller
from barnabas.server.cluster.metadata import BrokerInfo, ClusterMetadata, Endpoint, TopicInfo
from barnabas.server.cluster.topics import Topics
from barnabas.server.config import BrokerConfig
from barnabas.server.configs.live import LiveSettings
from barnabas.server.configs.log_levels import LogLevels
from barnabas.server.connection import Connection
from barnabas.server.delayed import Delayed
from barnabas.server.dispatch import Dispatcher
from barnabas.server.fetch_sessions import FetchSessions
from barnabas.server.groups.coordinator import GroupCoordinator
from barnabas.server.groups.partitioning import OFFSETS_TOPIC
from barnabas.server.handlers import HANDLERS
from barnabas.server.listener import Limits, Listener, Population
from barnabas.server.log_keeper import LogKeeper, log_manager_config
from barnabas.server.logs import Logs
from barnabas.server.metrics import Metrics
from barnabas.server.observe import observe, serve_observations
from barnabas.server.poses import served_versions
from barnabas.server.producer_ids import ProducerIdPool
from barnabas.server.registry.broker_body import BrokerRegistration
from barnabas.server.registry.broker_body import Endpoint as RegisteredEndpoint
from barnabas.server.registry.configs import TOPICS as TOPIC_CONFIGS
from barnabas.server.registry.ensemble import JOURNAL_NAME, Ensemble
from barnabas.server.registry.registry import Registry
from barnabas.server.replication.replicas import Replicas
from barnabas.storage.compaction_process import CompactionProcess
from barnabas.storage.data_directory import DataDirectory
from barnabas.storage.errors import (
    InconsistentLogDirectory,
    LogDirectoryFailed,
    LogDirectoryLocked,
    StorageError,
)
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_manager import LogManager

if TYPE_CHECKING:
    from barnabas.server.http import HttpServer

IDLE_SWEEP_MS = 1_000
MOST_SETTLING_ROUNDS = 10_000


class StartFailed(Exception):
    """The broker cannot do its job; the message is one sentence for whoever started it."""


class Broker:
    """One broker on one event loop."""

    def __init__(
        self,
        config: BrokerConfig,
        *,
        clock: Clock | None = None,
        logs: Logs | None = None,
        ensemble: Ensemble | None = None,
    ) -> None:
        self.config = config
        self.logs = logs or Logs(config.barnabas_log_level)
        self.log = self.logs.room("broker")
        self.clock = clock or LoopClock(asyncio.get_running_loop(), self._timer_failed)
        self.broker_id = max(0, config.broker_id)
        self.served_versions, self.advertised_versions = served_versions(
            HANDLERS, config.barnabas_pose_as
        )
        self.metadata = ClusterMetadata()
        self.metrics = Metrics()
        self.log_levels = LogLevels(self.logs)
        self.fetches = Delayed(self.clock, "Fetch")
        self.produces = Delayed(self.clock, "Produce")
        self.fetch_sessions = FetchSessions(
            lambda: config.max_incremental_fetch_session_cache_slots
        )
        self.dispatcher = Dispatcher(self)
        config.on_change(self._settings_changed)
        self.live_settings = LiveSettings(self)
        self.population = Population(_limits(config))
        self.listeners: list[Listener] = []
        self._ensemble = ensemble
        self._owns_ensemble = ensemble is None
        self.log_keeper = LogKeeper(self.clock, asyncio.get_running_loop(), self._worker_failed)
        self.disks = LogManager(
            config.data_dirs,
            log_manager_config(config),
            worker=self.log_keeper.run,
            compactor=CompactionProcess(),
            full_validation=config.produce_validation == "full",
        )
        self.log_keeper.manager = self.disks
        self.disks.on_directory_failed = self._directory_failed
        self.groups = GroupCoordinator(
            config, self.clock, self.metadata, self.produces, self.fetches, self.disks.flush,
            self.logs.room("groups"),
        )  # fmt: skip
        # Set when the broker cannot go on, with the reason.
        self.failed: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.http: HttpServer | None = None
        self.registry: Registry
        self.replicas: Replicas
        self.topics: Topics
        self.controller: Controller
        self.producer_ids: ProducerIdPool

    async def start(self) -> None:
        """Bring the broker up. Raises StartFailed with what to do about it."""
        check_supported(self.config)
        try:
            self._lock_disks()
            self._open_registry()
            await self.registry.cluster.ensure_paths()
            self.metadata.cluster_id = await self.registry.cluster.ensure_id()
            await self.live_settings.start()
            await self._open_disks()
            self._wire_up()
            observe(self)
            self._bind()
            await self._register()
            await self.controller.start(self.clock.now_ms())
        except BaseException:
            await self._give_up()
            raise
        await self._serve_http()
        for listener in self.listeners:
            listener.open()
        self.clock.call_later(IDLE_SWEEP_MS, self._sweep, coalesces=True)
        self.log_keeper.start()
        self.groups.start()

    async def _give_up(self) -> None:
        """Let go of what a start that failed had taken."""
        for listener in self.listeners:
            listener.close()
        if self._ensemble is not None and self._owns_ensemble:
            self._ensemble.close()
        self.disks.abandon()
        if isinstance(self.clock, LoopClock):
            self.clock.close()

    async def stop(self) -> None:
        """Take the broker down: nothing new comes in, everything is on disk afterwards."""
        if self.http is not None:
            await self.http.stop()
        for listener in self.listeners:
            listener.close()
        for delayed in (self.fetches, self.produces):
            delayed.cancel_all()
        for connection in tuple(self.population.connections):
            connection.close("the broker is stopping")
        self.dispatcher.stop()
        self.producer_ids.stop()
        self.live_settings.stop()
        await self.groups.stop()
        await self.controller.stop()
        await self.registry.store.close()
        await self.log_keeper.stop()
        self.disks.close()
        if self._ensemble is not None and self._owns_ensemble:
            self._ensemble.close()
        if isinstance(self.clock, LoopClock):
            self.clock.close()

    async def crash(self) -> None:
        """End as if the process had been killed: nothing is flushed, marked or said goodbye to."""
        if self.http is not None:
            await self.http.stop()
        for listener in self.listeners:
            listener.close()
        for delayed in (self.fetches, self.produces):
            delayed.cancel_all()
        for connection in tuple(self.population.connections):
            connection.close("the broker crashed")
        self.dispatcher.stop()
        self.producer_ids.stop()
        self.live_settings.stop()
        await self.groups.stop()
        self.controller.abandon()
        await self.log_keeper.stop()
        self.disks.abandon()
        if self._ensemble is not None and self._owns_ensemble:
            self._ensemble.close()
        if isinstance(self.clock, LoopClock):
            self.clock.close()

    async def settle(self) -> None:
        """Carry out everything that is due by now, background work included."""
        for _ in range(MOST_SETTLING_ROUNDS):
            due_ms = self.disks.background(self.clock.now_ms())
            await asyncio.sleep(0)
            if due_ms > self.clock.now_ms() and self.disks.is_idle:
                return
            await self.log_keeper.idle()

    # TopicSink: what the controller decided.

    async def topic_changed(self, topic: TopicInfo) -> None:
        """Lead what is ours to lead, then let clients see it."""
        config = await self.topic_config(topic.name)
        now_ms = self.clock.now_ms()
        for info in topic.partitions:
            if info.leader_id != self.broker_id:
                continue
            try:
                self.replicas.become_leader(
                    topic.name, topic.topic_id, info.index, config,
                    info.leader_epoch, info.replicas, info.isr, now_ms,
                )  # fmt: skip
            except StorageError as error:
                self.log.error("a partition cannot be opened", error=error)
        self.metadata.set_topic(topic)
        if topic.name == OFFSETS_TOPIC:
            self._offsets_topic_changed(topic)
        self.topics.changed(topic.name)

    async def topic_deleted(self, topic: TopicInfo) -> None:
        """Forget the topic, answer who waits for it, remove its files."""
        self.metadata.remove_topics([topic.name])
        indexes = [info.index for info in topic.partitions]
        self.replicas.delete(topic.name, indexes, self.clock.now_ms())
        for index in indexes:
            self.fetches.complete_all((topic.name, index))
            self.produces.complete_all((topic.name, index))
        self.metrics.forget_topic(topic.name)
        if topic.name == OFFSETS_TOPIC:
            self.groups.leadership.resigned_all()
        self.groups.topics_deleted([topic.name])
        self.topics.changed(topic.name)

    def _offsets_topic_changed(self, topic: TopicInfo) -> None:
        """Coordinate the groups of the partitions that are led here, and no others."""
        for info in topic.partitions:
            partition = self.replicas.find(topic.name, info.index)
            if partition is not None and partition.is_leader:
                self.groups.leadership.elected(partition)
            else:
                self.groups.leadership.resigned(info.index)

    async def topic_config(self, name: str) -> LogConfig:
        """A topic's settings: its own over the broker's."""
        settings = await self.registry.configs.read(f"{TOPIC_CONFIGS}/{name}")
        return self.config.log_config.with_settings(settings, self.config.release)

    # Parts of starting.

    def _lock_disks(self) -> None:
        try:
            self.disks.lock()
        except LogDirectoryLocked as error:
            raise StartFailed(f"{error}; set `log.dirs` to a directory of its own") from None

    async def _open_disks(self) -> None:
        """Load every log; those whose topic is unknown get the broker's settings."""
        settings = await self.registry.configs.read_all(TOPIC_CONFIGS)
        release = self.config.release

        def config_of(topic: str) -> LogConfig:
            return self.config.log_config.with_settings(settings.get(topic, {}), release)

        try:
            self.disks.open(
                config_of,
                self.clock.now_ms(),
                broker_id=self.broker_id,
                cluster_id=self.metadata.cluster_id,
            )
        except (InconsistentLogDirectory, LogDirectoryFailed) as error:
            raise StartFailed(f"{error}; see `log.dirs`") from None
        for log in self.disks:
            for note in log.load_report.notes if log.load_report else ():
                self.log.warn("a log was mended", partition=log.topic_partition, what=note)

    def _open_registry(self) -> None:
        if self._ensemble is None:
            path = Path(self.config.data_dirs[0]) / JOURNAL_NAME
            self._ensemble = Ensemble(self.clock.now_ms, path)
        self.registry = Registry(self._ensemble.connect())

    def _wire_up(self) -> None:
        def is_known(topic: str, index: int) -> bool:
            return self.metadata.partition(topic, index) is not None

        self.replicas = Replicas(self.broker_id, self.disks, is_known, self.metrics)
        self.producer_ids = ProducerIdPool(self.registry.producer_ids, self.broker_id)
        self.topics = Topics(self.registry, self.metadata, self.config, self.clock)
        self.controller = Controller(
            self.broker_id, self.registry, self.metadata, self, self.logs.room("controller")
        )

    async def _serve_http(self) -> None:
        """Open the port for /metrics and /health, if there is to be one."""
        try:
            self.http = await serve_observations(self)
        except OSError as error:
            await self.stop()
            raise StartFailed(
                f"cannot serve HTTP on {self.config.barnabas_http_host}:"
                f"{self.config.barnabas_http_port}: {error.strerror or error}; "
                "set `barnabas.http.port` to a free port"
            ) from None

    def _bind(self) -> None:
        """Bind all listeners; ports that were left to the system are known after this."""
        loop = asyncio.get_running_loop()
        for endpoint in self.config.endpoints:
            listener = Listener(
                loop, endpoint.listener, self.population, self.dispatcher.process,
                self.clock.monotonic_ms, self._connection_event,
            )  # fmt: skip
            try:
                listener.bind(endpoint.host or "0.0.0.0", endpoint.port)
            except OSError as error:
                raise StartFailed(
                    f"cannot listen on {endpoint.host or '0.0.0.0'}:{endpoint.port}: "
                    f"{error.strerror or error}; set `listeners` to a free address"
                ) from None
            self.listeners.append(listener)

    async def _register(self) -> None:
        endpoints = self._advertised()
        self.metadata.brokers[self.broker_id] = BrokerInfo(
            self.broker_id, endpoints, self.config.broker_rack
        )
        registered = [RegisteredEndpoint(name, e.host, e.port) for name, e in endpoints.items()]
        await self.registry.brokers.register(
            BrokerRegistration(
                self.broker_id, registered, self.clock.now_ms(), self.config.broker_rack
            )
        )

    def _advertised(self) -> dict[str, Endpoint]:
        """Where clients are sent, by listener; what the settings leave open is what was bound."""
        bound = {listener.name: listener for listener in self.listeners}
        endpoints = {}
        for endpoint in self.config.advertised_endpoints:
            listener = bound[endpoint.listener]
            host = endpoint.host or listener.host
            if host in ("", "0.0.0.0", "::"):
                host = socket.getfqdn()
            endpoints[endpoint.listener] = Endpoint(host, endpoint.port or listener.port)
        return endpoints

    # What happens by itself.

    def _sweep(self) -> None:
        self.population.sweep(self.clock.monotonic_ms())
        self.clock.call_later(IDLE_SWEEP_MS, self._sweep, coalesces=True)

    def _connection_event(self, what: str, connection: Connection | None, reason: str) -> None:
        peer = f"{connection.peer_host}:{connection.peer_port}" if connection else "?"
        if what == "refused":
            self.log.warn("connection refused", reason=reason)
        else:
            self.log.debug(f"connection {what}", peer=peer, reason=reason)

    def _directory_failed(self, directory: DataDirectory) -> None:
        """A data directory's partitions go offline; without any directory the broker stops."""
        self.log.error("a data directory failed", directory=directory.path, error=directory.failure)
        for partition in self.replicas.directory_failed(directory.path):
            self.fetches.complete_all(partition.key)
            self.produces.complete_all(partition.key)
            if partition.topic == OFFSETS_TOPIC:
                resigned = self.groups.leadership.resigned
                self.clock.call_later(0, partial(resigned, partition.index))
        if not any(each.is_online for each in self.disks.directories) and not self.failed.done():
            self.failed.set_result("the last data directory failed; see `log.dirs`")

    def _settings_changed(self, names: set[str]) -> None:
        """Tell the parts that keep settings of their own."""
        if "barnabas.log.level" in names:
            self.logs.set_levels(self.config.barnabas_log_level)
        self.population.limits = _limits(self.config)
        self.disks.reconfigure(log_manager_config(self.config))

    def _worker_failed(self, error: BaseException) -> None:
        self.log.unexpected("work on a disk failed", error)

    def _timer_failed(self, error: Exception) -> None:
        self.log.unexpected("a timer failed", error)


def check_supported(config: BrokerConfig) -> None:
    """Refuse what would silently not be done. Raises StartFailed."""
    if config.zookeeper_connect:
        raise StartFailed(
            "Apache ZooKeeper is not supported yet; leave `zookeeper.connect` empty "
            "and the broker keeps its registry itself"
        )
    for endpoint in config.endpoints:
        if endpoint.protocol != "PLAINTEXT":
            raise StartFailed(
                f"{endpoint.protocol} is not supported yet (listener {endpoint.listener}); "
                "set `listeners` to PLAINTEXT ones"
            )
    if config.authorizer_class_name:
        raise StartFailed("ACLs are not supported yet; leave `authorizer.class.name` empty")


def _limits(config: BrokerConfig) -> Limits:
    overrides = {}
    for pair in filter(None, config.max_connections_per_ip_overrides.split(",")):
        host, _, count = pair.strip().rpartition(":")
        overrides[host] = int(count)
    return Limits(
        max_frame_bytes=config.socket_request_max_bytes,
        max_connections=config.max_connections,
        max_connections_per_ip=config.max_connections_per_ip,
        per_ip_overrides=overrides,
        max_idle_ms=config.connections_max_idle_ms,
        send_buffer_bytes=config.socket_send_buffer_bytes,
        receive_buffer_bytes=config.socket_receive_buffer_bytes,
    )
