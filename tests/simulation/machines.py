"""Brokers of a simulation: each with a disk that survives it."""

import random
from collections.abc import Callable
from typing import Final

from barnabas.server.broker import Broker
from barnabas.server.core.clock import LoopClock
from barnabas.server.core.startup import StartFailed
from barnabas.server.network.connection import Connection
from barnabas.server.observing.logs import Logs
from barnabas.server.settings.config import load_config
from tests.storage.concurrent.memory_disk import MemoryDisk

from .distant_registry import DistantEnsemble, DistantStore
from .network import Network
from .virtual_loop import VirtualLoop
from .wires import Wire

START_MS: Final = 1_700_000_000_000
SESSION_MS: Final = 2_000
SETTINGS: Final = {
    "log.cleaner.enable": "false",
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "replica.lag.time.max.ms": "2000",
    "zookeeper.session.timeout.ms": str(SESSION_MS),
    "replica.fetch.wait.max.ms": "100",
    "replica.socket.timeout.ms": "1000",
    "controller.socket.timeout.ms": "1000",
    "request.timeout.ms": "1000",
    "replica.high.watermark.checkpoint.interval.ms": "500",
    "group.initial.rebalance.delay.ms": "0",
    "controlled.shutdown.enable": "true",
    "log.segment.bytes": "4096",
    "barnabas.registry.sync": "false",
    "barnabas.log.level": "error",
}


class VirtualClock(LoopClock):
    """The loop's time."""

    def __init__(self, loop: VirtualLoop, on_error: Callable[[Exception], object]) -> None:
        super().__init__(loop, on_error)
        self._virtual = loop

    def now_ms(self) -> int:
        return START_MS + int(self._virtual.time() * 1000)

    def monotonic_ms(self) -> float:
        return self._virtual.time() * 1000


class Machine:
    """One broker's: its id, its disk, and the broker while it runs."""

    def __init__(
        self,
        broker_id: int,
        network: Network,
        ensemble: DistantEnsemble,
        errors: list[str],
        protocol: str,
    ) -> None:
        """`protocol` is `inter.broker.protocol.version`."""
        self.broker_id = broker_id
        self._protocol = protocol
        self.broker: Broker | None = None
        self.is_up = False
        self._network = network
        self._ensemble = ensemble
        self._errors = errors
        self.disk = MemoryDisk()
        self.disk.now_ms = lambda: START_MS + int(network.loop.time() * 1000)
        self.disk.boot().make_directory("/data")
        self.disk.root.sync()
        network.hosts[broker_id] = self

    @property
    def is_serving(self) -> bool:
        """Whether a broker runs, and is through with its start."""
        return self.broker is not None and self.broker.is_serving

    def session(self) -> DistantStore:
        """The broker's with the registry."""
        assert self.broker is not None
        store = self.broker.registry.store
        assert isinstance(store, DistantStore)
        return store

    async def try_to_start(self) -> None:
        """Run a broker, unless its last one's session is still there."""
        self._ensemble.expire_sessions()
        try:
            await self.start()
        except StartFailed as error:
            if "registered" not in str(error):
                raise
            await self.kill()

    async def start(self) -> None:
        """Run a broker on what is on the disk."""
        settings = {
            **SETTINGS,
            "broker.id": str(self.broker_id),
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "advertised.listeners": f"PLAINTEXT://broker{self.broker_id}:9092",
            "log.dirs": "/data",
            "inter.broker.protocol.version": self._protocol,
        }
        clock = VirtualClock(self._network.loop, self._failed)
        self.broker = broker = Broker(
            load_config((), settings),
            clock=clock,
            logs=Logs("error", stream=self),  # type: ignore[arg-type]
            ensemble=self._ensemble,
            dial=self._network.dial_from(self.broker_id),
            fs=self.disk.boot(),
        )
        self.is_up = True
        await broker.start()

    def write(self, text: str) -> None:
        """What the broker says at ERROR: tracebacks are faults."""
        if "Traceback" in text:
            self._errors.append(f"broker {self.broker_id}: {text}")

    def flush(self) -> None:
        """A stream has this."""

    def _failed(self, error: Exception) -> None:
        self._errors.append(f"broker {self.broker_id}: a timer failed: {error!r}")

    async def stop(self) -> None:
        """In good order."""
        broker, self.broker = self.broker, None
        if broker is not None:
            await broker.stop()
        self.is_up = False
        self._network.host_died(self.broker_id)

    async def kill(self, chance: random.Random | None = None) -> None:
        """As a process is; with `chance` the machine loses power, and what was not synced."""
        broker, self.broker = self.broker, None
        self.is_up = False
        if broker is None:
            return
        if chance is None:
            self.disk.kill()
        else:
            self.disk.cut_power(chance)
        self._network.host_died(self.broker_id)
        await broker.crash()

    @property
    def listens(self) -> bool:
        """Whether clients can connect."""
        return self.is_serving

    def accept(self, channel: Wire) -> Connection:
        """Somebody has connected."""
        assert self.broker is not None
        return self.broker.listeners[0].serve(channel, "127.0.0.1", 1)

    def read_file(self, fd: int, size: int, position: int) -> bytes:
        """What `sendfile` would send."""
        return self.disk._pread(fd, size, position)
