"""One broker that tests can stop, crash, restart and set back, always on the same ports.

What a test has asked for (faults), seen (requests) and said (a pose) outlives each of the
brokers that this host makes. With `barnabas.http.control` the HTTP port is the host's own, and
stays open while the broker is down; without it the broker has its port to itself, if any.
Everything here happens on one event loop; changes of the broker's life wait for each other.
"""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.server.broker import Broker
from barnabas.server.cluster.new_topics import check_partition_count
from barnabas.server.core.addresses import address, local_address
from barnabas.server.core.clock import Clock
from barnabas.server.core.errors import ApiError
from barnabas.server.core.startup import StartFailed
from barnabas.server.observing.logs import Logs
from barnabas.server.registry.configs import BROKERS
from barnabas.server.registry.znodes.ensemble import Ensemble
from barnabas.server.requests.faults import Faults
from barnabas.server.settings.config import BrokerConfig
from barnabas.server.settings.endpoints import Endpoint
from barnabas.server.testing.cuts import Cuts
from barnabas.server.testing.held_ports import HeldPorts
from barnabas.server.testing.refusals import BadCommand, NotRunning
from barnabas.server.testing.seen import SeenRequests
from barnabas.server.testing.snapshots import is_snapshot, is_taken, put_back, take_snapshot
from barnabas.wire.error_codes import ErrorCode

if TYPE_CHECKING:
    from barnabas.server.observing.http import HttpServer

TOPIC_TIMEOUT_MS = 10_000

Load = Callable[[Mapping[str, str]], BrokerConfig]


class Host:
    """A broker and its control.

    `load` makes the configuration, with the settings it is given above all others; it is
    called again for every start. It may raise ConfigError.
    """

    def __init__(
        self, load: Load, *, ensemble: Ensemble | None = None, clock: Clock | None = None
    ) -> None:
        """`ensemble` is the registry of several brokers of this event loop, `clock` its time."""
        self._load = load
        self._ensemble = ensemble
        self._former_session: int | None = None
        self._pinned: dict[str, str] = {}
        self._shared_clock = clock
        self._clock = clock  # else of the latest broker: what tests did to it stays done
        self._broker: Broker | None = None
        # The one that runs or is being started, for who only looks at it.
        self.observed: Broker | None = None
        self._life = asyncio.Lock()
        self.config = load({})
        # The control's own: what is set on a broker's log levels ends with that broker.
        self.logs = Logs(self.config.barnabas_log_level)
        self.endpoints: list[Endpoint] = []
        self._held = HeldPorts()
        self.faults = Faults()
        self.cuts = Cuts()
        self.registry_is_cut = False
        self.seen = SeenRequests()
        self.http: HttpServer | None = None
        # Called when a broker cannot go on, with the reason.
        self.on_failed: Callable[[str], object] = lambda reason: None

    # Life.

    @property
    def is_running(self) -> bool:
        """Whether the broker serves."""
        return self._broker is not None

    @property
    def broker(self) -> Broker:
        """The broker that runs now. Raises NotRunning."""
        if self._broker is None:
            raise NotRunning("the broker is not running")
        return self._broker

    @property
    def bootstrap_servers(self) -> str:
        """Where clients of this machine reach the first listener, also while the broker is down."""
        return local_address(self.endpoints[0].host, self.endpoints[0].port)

    async def open(self) -> None:
        """Start the broker and, if it is to be had, the port of the control.

        Raises StartFailed; nothing is left open then.
        """
        async with self._life:
            await self._open_control()
            try:
                await self._start()
            except BaseException:
                if self.http is not None:
                    await self.http.stop()
                raise

    async def close(self) -> None:
        """Stop the broker in good order, and close the control."""
        async with self._life:
            if self.http is not None:
                await self.http.stop()
            await self._stop()
            self._held.release()

    async def start(self) -> None:
        """Bring the broker back; harmless while it runs. Raises StartFailed."""
        async with self._life:
            if self._broker is None:
                await self._start()

    async def stop(self) -> None:
        """Stop in good order; harmless while it does not run."""
        async with self._life:
            await self._stop()

    async def crash(self) -> None:
        """Stop as a crash would: nothing is flushed, marked or said goodbye to."""
        async with self._life:
            broker = self._take_down()
            if broker is not None:
                await broker.crash()
                self._held.hold(self.endpoints)

    async def restart(self) -> None:
        """Stop, and start again. Raises StartFailed."""
        async with self._life:
            await self._stop()
            await self._start()

    async def pose_as(self, release: str) -> None:
        """Restart as another Kafka, or as ourselves (""). Raises ConfigError, StartFailed."""
        async with self._life:
            pose = {"barnabas.pose.as": release}
            self._load({**self._pinned, **pose})
            self._pinned |= pose
            await self._stop()
            await self._start()

    async def snapshot(self, directory: Path) -> None:
        """Copy the broker's data into a new folder. Raises BadCommand, OSError."""
        if is_taken(directory):
            raise BadCommand(f"{directory} exists; a snapshot goes into a new folder")
        await self._while_stopped(lambda data_dir: take_snapshot(data_dir, directory))

    async def restore(self, directory: Path) -> None:
        """Set the broker's data back to a snapshot. Raises BadCommand, OSError."""
        if not is_snapshot(directory):
            raise BadCommand(f"there is no snapshot in {directory}")
        await self._while_stopped(lambda data_dir: put_back(directory, data_dir))

    # What is done to a broker that runs.

    def now_ms(self) -> int:
        """What the broker believes the time to be, in ms since 1970."""
        return self.broker.clock.now_ms()

    async def advance(self, duration: float | str) -> None:
        """Let time pass at once, and what falls due meanwhile happen. Raises ValueError."""
        broker = self.broker
        broker.clock.advance(duration)
        await broker.settle()

    async def create_topic(
        self, name: str, partitions: int, replicas: int | None, settings: Mapping[str, str]
    ) -> None:
        """Create a topic and wait until it has leaders. Raises ApiError."""
        check_partition_count(partitions)
        topics = self.broker.topics
        factor = replicas or self.config.default_replication_factor
        await topics.create(name, topics.place(partitions, factor), dict(settings))
        await topics.wait_until_served(name, TOPIC_TIMEOUT_MS, partitions)

    async def clear(self) -> None:
        """Delete every topic, internal ones and with them all groups too; forget faults.

        Settings that were changed while the broker ran are as they were at its start.
        """
        self.faults.clear()
        broker = self.broker
        doomed = [(topic.name, topic.topic_id) for topic in broker.metadata.topics.values()]
        for name, topic_id in doomed:
            try:
                await broker.topics.mark_for_deletion(name, topic_id)
            except ApiError as error:  # a client has deleted it meanwhile
                if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    raise
        for name, topic_id in doomed:
            await broker.topics.wait_until_deleted(name, TOPIC_TIMEOUT_MS, topic_id)
        await broker.registry.consumers.delete_all()
        configs = broker.registry.configs
        for name in await configs.read_all(BROKERS):
            await configs.update(f"{BROKERS}/{name}", lambda _: {})
            await configs.notify(f"{BROKERS}/{name}")
        await broker.live_settings.catch_up()

    def cut_registry(self) -> None:
        """Let the broker lose the registry; harmless when it has."""
        self.registry_is_cut = True
        if self._broker is not None:
            self._broker.registry.store.suspend()

    def heal_registry(self) -> None:
        """Let the broker find the registry again."""
        self.registry_is_cut = False
        if self._broker is not None:
            self._broker.registry.store.resume()

    # How.

    async def _start(self) -> None:
        if self.registry_is_cut:
            raise StartFailed("the registry cannot be reached: the line to it is cut")
        self._end_former_session()
        self.config = self._load(self._pinned)
        broker = Broker(
            self.config, logs=Logs(self.config.barnabas_log_level), ensemble=self._ensemble,
            dial=self.cuts.dial,
        )  # fmt: skip
        if self._clock is not None:
            broker.clock.follow(self._clock)
        self._clock = self._shared_clock or broker.clock
        self.observed = broker
        try:
            await broker.start()
        except BaseException:
            self.observed = None
            raise
        self._held.release()
        broker.dispatcher.faults = self.faults
        broker.dispatcher.observer = self.seen.observe
        bound = zip(self.config.endpoints, broker.listeners, strict=True)
        self.endpoints = [each._replace(port=listener.port) for each, listener in bound]
        self._pinned["listeners"] = ",".join(map(str, self.endpoints))
        broker.failed.add_done_callback(lambda failed: self.on_failed(failed.result()))
        self._broker = broker

    async def _stop(self) -> None:
        broker = self._take_down()
        if broker is not None:
            await broker.stop()
            self._held.hold(self.endpoints)

    def _take_down(self) -> Broker | None:
        broker, self._broker, self.observed = self._broker, None, None
        if broker is not None:
            self._former_session = broker.registry.store.session_id
        return broker

    def _end_former_session(self) -> None:
        """A broker that was killed comes back after its session, as it would wait for that.

        With ZooKeeper it does wait.
        """
        former, ensemble = self._former_session, self._ensemble
        if ensemble is not None and former is not None and ensemble.is_live(former):
            ensemble.end_session(former)

    async def _while_stopped(self, change: Callable[[Path], None]) -> None:
        """Change the data directory; a broker that ran runs again afterwards, whatever happens."""
        data_dirs = self.config.data_dirs
        if len(data_dirs) > 1:
            raise BadCommand(f"snapshots take one data directory; log.dirs has {len(data_dirs)}")
        async with self._life:
            ran = self.is_running
            await self._stop()
            try:
                change(Path(data_dirs[0]))
            finally:
                if ran:
                    await self._start()

    async def _open_control(self) -> None:
        if not self.config.barnabas_http_control:
            return
        from barnabas.server.testing.control_port import open_control

        host, port = self.config.barnabas_http_host, self.config.barnabas_http_port
        try:
            self.http = await open_control(self, host, port)
        except OSError as error:
            raise StartFailed(
                f"cannot serve HTTP on {address(host, port)}: {error.strerror or error}; "
                "set `barnabas.http.port` to a free port"
            ) from None
