"""The broker: everything is made here, started in one order and stopped in the other.

    start: data directories, registry, listeners (bound), registration, controller, listeners (open)
    stop:  leaders moved, listeners, connections, controller and registration, data directories

Nothing is global: two brokers in one process share no state but what they are given.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from barnabas.server.cluster.departure import Departure
from barnabas.server.cluster.failed_directories import FailedDirectories
from barnabas.server.cluster.features import Features
from barnabas.server.cluster.membership import Membership, advertised
from barnabas.server.cluster.metadata import ClusterMetadata
from barnabas.server.cluster.producer_ids import ProducerIdPool
from barnabas.server.cluster.registry_store import (
    RegistryStore,
    choose_store,
    own_broker_id,
    registry_of,
)
from barnabas.server.cluster.strays import replica_counter
from barnabas.server.cluster.topics import Topics
from barnabas.server.controller.office import Controller
from barnabas.server.coordinators.leadership import Leaderships
from barnabas.server.core.addresses import address
from barnabas.server.core.clock import Clock, LoopClock
from barnabas.server.core.collector import COLLECTOR, STARTING
from barnabas.server.core.delayed import Delayed
from barnabas.server.core.startup import StartFailed
from barnabas.server.core.turns import Turns
from barnabas.server.disks.identity import noted_broker_id
from barnabas.server.disks.log_keeper import LogKeeper, log_manager_config
from barnabas.server.disks.opening import lock_disks, make_disks, open_disks
from barnabas.server.dispatch import Dispatcher
from barnabas.server.groups.coordinator import GroupCoordinator
from barnabas.server.handlers import HANDLERS
from barnabas.server.network.connection import Connection
from barnabas.server.network.listener import Listener, Population
from barnabas.server.network.listening import bind_listeners, limits_of
from barnabas.server.observing.logs import Logs
from barnabas.server.observing.metrics import Metrics
from barnabas.server.observing.rare_warnings import RareWarnings
from barnabas.server.observing.scrape import serve_observations
from barnabas.server.peers.dialing import Dial
from barnabas.server.peers.dialing import dial as dial_by_tcp
from barnabas.server.poses import features_of, served_versions
from barnabas.server.registry.errors import RegistryError
from barnabas.server.registry.registry import Registry
from barnabas.server.registry.znodes.ensemble import Ensemble
from barnabas.server.registry.znodes.journal import JournalCorrupt
from barnabas.server.registry.znodes.store import ZnodeError
from barnabas.server.replication.control import ControlRequests
from barnabas.server.replication.fetch_sessions import FetchSessions
from barnabas.server.replication.fetching.fetchers import Fetchers
from barnabas.server.replication.hosting import Hosting
from barnabas.server.replication.moving.moves import Moves
from barnabas.server.replication.replicas import Replicas
from barnabas.server.requests.access import AllowEverything, Authorizer
from barnabas.server.requests.control_parts import ControlParts
from barnabas.server.requests.controller_requests import ControllerRequests
from barnabas.server.requests.isr_parts import IsrParts
from barnabas.server.requests.metrics import RequestMeter
from barnabas.server.requests.observe import observe_requests
from barnabas.server.requests.observe_services import observe_services
from barnabas.server.requests.producer_id_blocks import ProducerIdBlocks
from barnabas.server.requests.transaction_parts import TransactionParts
from barnabas.server.routes import Routes
from barnabas.server.settings.changes.live import LiveSettings
from barnabas.server.settings.changes.log_levels import LogLevels
from barnabas.server.settings.changes.services import SettingsServices
from barnabas.server.settings.changes.topic_settings import TopicSettings
from barnabas.server.settings.config import BrokerConfig
from barnabas.server.transactions.coordinator import TransactionCoordinator
from barnabas.server.unsupported import refuse_unsupported
from barnabas.storage.disk.fs import REAL, FileSystem
from barnabas.storage.manager.data_directory import DataDirectory
from barnabas.storage.manager.managed_log import ManagedLog

if TYPE_CHECKING:
    from barnabas.server.observing.http import HttpServer
    from barnabas.server.transactions.marker_log import LocalMarkers
    from barnabas.server.transactions.verification import Verifier

__all__ = ["Broker", "StartFailed"]

IDLE_SWEEP_MS = 1_000
MOST_SETTLING_ROUNDS = 10_000

Step = Callable[[], Awaitable[None] | None]


class Broker:
    """One broker on one event loop."""

    def __init__(
        self,
        config: BrokerConfig,
        *,
        clock: Clock | None = None,
        logs: Logs | None = None,
        ensemble: Ensemble | None = None,
        dial: Dial = dial_by_tcp,
        fs: FileSystem = REAL,
    ) -> None:
        """`fs` is the disk; one that is not real is waited for on the loop, without threads."""
        loop = asyncio.get_running_loop()
        self.config = config
        self.logs = logs or Logs(config.barnabas_log_level)
        self.log = self.logs.room("broker")
        self.clock = clock or LoopClock(loop, partial(self.log.unexpected, "a timer failed"))
        self.broker_id = max(0, config.broker_id)
        served, self.advertised_versions = served_versions(HANDLERS, config.barnabas_pose_as)
        self.metadata = ClusterMetadata()
        self.metrics = Metrics()
        self.fetches = Delayed(self.clock, "Fetch")
        self.produces = Delayed(self.clock, "Produce")
        self.deletions = Delayed(self.clock, "DeleteRecords")
        self.fetch_sessions = FetchSessions(
            lambda: config.max_incremental_fetch_session_cache_slots
        )
        self.turns = Turns()
        self.authorizer: Authorizer = AllowEverything()
        self.routes = Routes(served)
        self.dispatcher = Dispatcher(self, self.routes, self.logs.room("dispatch"))
        config.on_change(self._settings_changed)
        self._misuses = RareWarnings(self.log, self.clock.monotonic_ms)
        self.population = Population(limits_of(config))
        self.listeners: list[Listener] = []
        self.log_keeper = LogKeeper(
            self.clock, loop, partial(self.log.unexpected, "work on a disk failed"),
            in_threads=fs is REAL,
        )  # fmt: skip
        self.disks = make_disks(config, self.log_keeper, fs)
        self.followers = Fetchers(self, self.logs.room("replication"))
        self.hosting = Hosting(self)
        self.moves = Moves(self, self.logs.room("replication"))
        self.disks.on_directory_failed = self.hosting.directory_unusable
        self.groups = GroupCoordinator(
            config, self.clock, self.metadata, self.produces, self.fetches, self.disks.flush,
            self.logs.room("groups"),
        )  # fmt: skip
        self.coordinators = Leaderships()
        self.coordinators.add(self.groups.leadership)
        # Set when the broker cannot go on, with the reason.
        self.failed: asyncio.Future[str] = loop.create_future()
        self.is_serving = False
        self.transaction_parts = TransactionParts(
            self, self.dispatcher, self.logs.room("transactions")
        )
        self.control = ControlRequests(
            self.broker_id, self.metadata, self.hosting, lambda: self.membership.broker_epoch,
            self.turns, self.logs.room("replication"),
        )  # fmt: skip
        self.control_parts = ControlParts(self, self.control, self.logs.room("controller"))
        self.controller_requests = ControllerRequests(self)
        self.isr_parts = IsrParts(
            self, lambda: self.membership.broker_epoch, self.controller_requests.alter_partition,
            self.hosting.high_watermark_moved, self.logs.room("replication"),
        )  # fmt: skip
        self.http: HttpServer | None = None
        self._shared_ensemble = ensemble
        self.dial = dial
        self._registry_store: RegistryStore | None = None
        # What stands on the registry is made when that is open.
        self.registry: Registry
        self.features: Features
        self.membership: Membership
        self.topic_settings: TopicSettings
        self.live_settings: LiveSettings
        self.settings: SettingsServices
        self.replicas: Replicas
        self.topics: Topics
        self.controller: Controller
        self.producer_ids: ProducerIdPool
        self.transactions: TransactionCoordinator

    async def start(self) -> None:
        """Bring the broker up. Raises StartFailed with what to do about it."""
        with COLLECTOR.no_full_collections(STARTING):
            await self._start()

    async def _start(self) -> None:
        refuse_unsupported(self.config)
        for note in self.config.notes:
            self.log.warn(note.text, settings=", ".join(note.names))
        await self._serve_http()  # first of all: /health answers 503 while logs are loaded
        try:
            await self._find_registry()
            self._make_parts()
        except BaseException:
            self._let_go()
            await self._stop_http()
            raise
        logs_are_open = False
        try:
            await self.live_settings.start()
            topics = await self.registry.topics.read_all()
            replicas_of = replica_counter(
                {n: t.assignment for n, t in topics.items()}, self.broker_id
            )
            await open_disks(
                self.disks, self.config, self.topic_settings, self.clock,
                broker_id=self.broker_id, cluster_id=self.metadata.cluster_id,
                replicas_of=replicas_of, log=self.log,
            )  # fmt: skip
            logs_are_open = True
            self._show()
            bind_listeners(
                self.config, self.listeners, self.population, self.dispatcher.process, self.clock,
                self._connection_event,
            )  # fmt: skip
            endpoints = advertised(self.config, self.listeners, self.log)
            await self.membership.join(
                endpoints, self.config.broker_rack, waits=bool(self.config.zookeeper_connect)
            )
            await self.controller.start()
            self.hosting.started()
        except BaseException as error:
            # Directories that were not read to their end must not be marked as clean.
            await self._end("the broker cannot start", leaves=True, marks_clean=logs_are_open)
            if isinstance(error, (ZnodeError, RegistryError)):
                raise StartFailed(f"the registry refused the broker: {error}") from None
            raise
        for listener in self.listeners:
            listener.open()
        self.clock.call_later(IDLE_SWEEP_MS, self._sweep, coalesces=True)
        self.log_keeper.start()
        self.groups.start()
        self.transactions.start()
        self.isr_parts.start()
        self.is_serving = True

    async def stop(self) -> None:
        """Take the broker down: nothing new comes in, everything is on disk afterwards.

        Other brokers lead by then what they can.
        """
        if self.is_serving:
            self.followers.follow_no_more()
            await self._hand_over()
        failure = await self._end("the broker is stopping", leaves=True, marks_clean=True)
        if failure is not None:
            raise failure

    async def crash(self) -> None:
        """End as if the process had been killed: nothing is flushed, marked or said goodbye to."""
        failure = await self._end("the broker crashed", leaves=False, marks_clean=False)
        if failure is not None:
            raise failure

    async def settle(self) -> None:
        """Carry out everything that is due by now, background work included."""
        for _ in range(MOST_SETTLING_ROUNDS):
            due_ms = self.log_keeper.look()
            await asyncio.sleep(0)
            if due_ms > self.clock.monotonic_ms() and self.disks.is_idle:
                return
            await self.log_keeper.idle()

    def fail(self, reason: str) -> None:
        """The broker cannot go on; whoever runs it stops it and says why."""
        if not self.failed.done():
            self.failed.set_result(reason)

    def health(self) -> dict[str, object]:
        """How the broker is, in a few words and numbers."""
        serving = self.is_serving and not self.failed.done()
        return {
            "status": "ok" if serving else "starting",
            "broker_id": self.broker_id,
            "cluster_id": self.metadata.cluster_id,
            "controller": serving and self.controller.is_active,
            "partitions": len(self.replicas) if serving else 0,
            "offline_partitions": len(self.replicas.offline) if serving else 0,
        }

    # Parts of starting.

    async def _find_registry(self) -> None:
        """Lock the data directories, open the registry, learn who this broker is in it.

        Raises StartFailed.
        """
        try:
            lock_disks(self.disks)
            open_store = choose_store(self.config, self.disks.directories, self._shared_ensemble)
            self._registry_store = await open_store(self.clock, self.log_keeper.run)
            self.registry = registry_of(self.config, self._registry_store)
            await self.registry.cluster.ensure_paths()
            self.metadata.cluster_id = await self.registry.cluster.ensure_id()
            self.broker_id = await own_broker_id(
                self.config, noted_broker_id(self.disks), self.registry.brokers
            )
        except (JournalCorrupt, ZnodeError, OSError) as error:
            raise StartFailed(f"the registry cannot be opened: {error}") from None

    def _make_parts(self) -> None:
        """Make what stands on the registry."""
        registry = self.registry

        def is_known(topic: str, index: int) -> bool:
            return self.metadata.partition(topic, index) is not None

        self.features = Features(registry.cluster, features_of(self.config))
        self.membership = Membership(
            self.broker_id, registry, self.metadata, self.features.supported, self.clock,
            self.logs.room("registry"),
        )  # fmt: skip
        self.topic_settings = TopicSettings(
            registry.configs, self.config, self.logs.room("settings")
        )
        self.replicas = Replicas(
            self.broker_id, self.disks, is_known, self.metrics, self.isr_parts.leader_parts
        )
        self.replicas.verify_transactions(self.config.transaction_partition_verification_enable)
        self.disks.on_directory_failed = self._directory_failed
        blocks = ProducerIdBlocks(
            self, self.controller_requests, lambda: self.membership.broker_epoch
        )
        self.producer_ids = ProducerIdPool(blocks, self.broker_id)
        self.transactions = TransactionCoordinator(
            self.config, self.clock, self.metadata, self.produces, self.fetches, self.disks.flush,
            lambda: self.transaction_parts.markers, self.producer_ids.take,
            lambda: self.features.transaction_version, self.logs.room("transactions"),
        )  # fmt: skip
        self.coordinators.add(self.transactions.leadership)
        self.topics = Topics(registry, self.metadata, self.config, self.clock)
        self.live_settings = LiveSettings(
            self.broker_id, registry, self.config, self.topic_settings, self._logs_of, self.disks,
            self.clock, self.logs.room("settings"),
        )  # fmt: skip
        self.settings = SettingsServices(
            self.broker_id, self.config, self.metadata.topics, registry.configs,
            self.topic_settings, self.live_settings, LogLevels(self.logs),
        )  # fmt: skip
        self.failed_directories = FailedDirectories(
            self.broker_id, registry.log_dir_events, self.clock, self.logs.room("replication")
        )
        self.controller = Controller(
            self.broker_id, registry, self.metadata, self.features, self.control_parts.channels,
            self.clock, self.logs.room("controller"),
            config=self.config, rejoin=self.membership.rejoin,
            is_unclean_allowed=self.topic_settings.is_unclean_allowed,
        )  # fmt: skip
        self.live_settings.on_topic_changed = self.controller.settings_changed

    def _directory_failed(self, directory: DataDirectory) -> None:
        self.hosting.directory_failed(directory)
        self.failed_directories.tell()

    def _logs_of(self, topic: str) -> list[ManagedLog] | None:
        """The logs of a topic that are here; None if there is no such topic."""
        held = self.replicas.of_topic(topic)
        if not held and topic not in self.metadata.topics:
            return None
        return [partition.log for partition in held]

    @property
    def local_markers(self) -> "LocalMarkers":
        """What writes transaction markers here."""
        return self.transaction_parts.local_markers

    @property
    def verifier(self) -> "Verifier":
        """What asks whether batches belong to their transactions."""
        return self.transaction_parts.verifier

    def _show(self) -> None:
        """Show what the parts know among the metrics, and count requests if anybody can see it."""
        observe_services(self)
        observe_requests(self.routes.counts, self.metrics)
        if self.config.barnabas_http_port >= 0:
            self.dispatcher.meter = RequestMeter(self.metrics)

    async def _serve_http(self) -> None:
        """Open the port for /metrics and /health, if there is to be one.

        Under a control (`barnabas.http.control`) the port is the control's, which outlives
        brokers.
        """
        config = self.config
        host, port = config.barnabas_http_host, config.barnabas_http_port
        if port < 0 or config.barnabas_http_control:
            return
        try:
            self.http = await serve_observations(self, host, port, self.logs.room("http"))
        except OSError as error:
            raise StartFailed(
                f"cannot serve HTTP on {address(host, port)}: {error.strerror or error}; "
                "set `barnabas.http.port` to a free port"
            ) from None

    # The end.

    async def _hand_over(self) -> None:
        try:
            await Departure(
                self.broker_id, lambda: self.membership.broker_epoch, self.metadata, self.config,
                self.controller_requests.controlled_shutdown, self.clock, self.log,
            ).hand_over()  # fmt: skip
        except Exception as error:  # it stops all the same
            self.log.unexpected("others were not asked to lead", error)

    async def _end(self, reason: str, *, leaves: bool, marks_clean: bool) -> Exception | None:
        """Take every part down, in this order; none stays up because another failed.

        `leaves`: the registry hears of it. `marks_clean`: the logs are flushed, and the next
        start believes them. Returns the first failure.
        """
        self.is_serving = False
        steps: tuple[Step, ...] = (
            self._stop_http,
            partial(self._hang_up, reason),
            self.followers.stop,
            self.moves.stop,
            self.dispatcher.stop,
            self.turns.stop,
            self.producer_ids.stop,
            self.failed_directories.stop,
            self.live_settings.stop,
            self.groups.stop,
            self.transactions.stop,
            self.transaction_parts.stop,
            self.isr_parts.stop,
            self.controller.stop if leaves else self.controller.abandon,
            self.control_parts.stop,
            self.controller_requests.stop,
            self.registry.store.close if leaves else self._abandon_registry,
            *((self.log_keeper.complete, self.log_keeper.close) if marks_clean else ()),
            self.log_keeper.stop,
            self._let_go,
        )
        first: Exception | None = None
        for step in steps:
            try:
                pending = step()
                if pending is not None:
                    await pending
            except Exception as error:
                self.log.error("a part did not stop in good order", error=repr(error))
                first = first or error
        return first

    async def _stop_http(self) -> None:
        if self.http is not None:
            await self.http.stop()

    def _hang_up(self, reason: str) -> None:
        """Nothing new comes in, and nobody is waited for."""
        for listener in self.listeners:
            listener.close()
        for delayed in (self.fetches, self.produces, self.deletions):
            delayed.cancel_all()
        self.population.close(reason)

    def _abandon_registry(self) -> None:
        if self._registry_store is not None:
            self._registry_store.abandon()

    def _let_go(self) -> None:
        """Give up files, locks and timers; what has been closed stays so."""
        self.disks.abandon()
        if self._registry_store is not None:
            self._registry_store.close()
        if isinstance(self.clock, LoopClock):
            self.clock.close()

    # What happens by itself.

    def _sweep(self) -> None:
        self.clock.call_later(IDLE_SWEEP_MS, self._sweep, coalesces=True)
        self.population.sweep(self.clock.monotonic_ms())
        if self._registry_store is not None:
            self._registry_store.expire_sessions()

    def _connection_event(self, what: str, connection: Connection | None, reason: str) -> None:
        """A listener tells of a connection that was accepted, refused or closed."""
        peer = address(connection.peer_host, connection.peer_port) if connection else "?"
        if what == "refused":
            self.log.warn("connection refused", reason=reason)
        elif connection is not None and connection.is_misused:
            self._misuses.warn(
                "closed a client's connection", connection.peer_host, reason, peer=peer
            )
        else:
            self.log.debug(f"connection {what}", peer=peer, reason=reason)

    def _set_replication_quotas(self) -> None:
        config = self.config
        windows = config.replication_quota_window_num, config.replication_quota_window_size_seconds
        self.followers.quota.configure(
            self.broker_id, config.follower_replication_throttled_rate, *windows
        )
        leaders = self.replicas.leader_quota
        leaders.configure(self.broker_id, config.leader_replication_throttled_rate, *windows)
        self.moves.configure()

    def _settings_changed(self, names: set[str]) -> None:
        """Tell the parts that keep settings of their own."""
        if "barnabas.log.level" in names:
            self.logs.set_levels(self.config.barnabas_log_level)
        self.population.set_limits(limits_of(self.config))
        self.disks.reconfigure(log_manager_config(self.config))
        self._set_replication_quotas()
        if "num.replica.fetchers" in names:
            self.followers.resize()
        if "unclean.leader.election.enable" in names and self.is_serving:
            self.controller.settings_changed()
        if "transaction.partition.verification.enable" in names:
            self.replicas.verify_transactions(self.config.transaction_partition_verification_enable)
