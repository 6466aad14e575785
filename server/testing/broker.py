"""`barnabas.Broker`: a whole broker inside the process of a test.

    with barnabas.Broker() as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})

It runs in a thread with an event loop of its own, on a free port of 127.0.0.1, in a temporary
directory, and is ready when `start` returns. Everything a test does to it (`clock`, `faults`,
`requests`, `snapshot`) is carried out on that loop, so a test never sees half a change.
"""

import asyncio
import shutil
import tempfile
import threading
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

from barnabas.server.broker import Broker as ServerBroker
from barnabas.server.config import BrokerConfig, load_config
from barnabas.server.logs import Logs
from barnabas.server.registry.configs import BROKERS
from barnabas.server.testing.clock import TestClock
from barnabas.server.testing.faults import TestFaults
from barnabas.server.testing.requests import RequestLog

T = TypeVar("T")

# What a test wants that a server does not: no waiting for more members, small internal topics,
# every produced record looked at.
TEST_SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "produce.validation": "full",
    "log.initial.task.delay.ms": "0",
    "barnabas.log.level": "error",
}
START_TIMEOUT_S = 30.0


class Broker:
    """One broker for tests.

    `settings` are Kafka's, by name. `data_dir` keeps the data where it is after the stop;
    without it a temporary directory goes with the broker.
    """

    def __init__(
        self,
        settings: Mapping[str, object] | None = None,
        *,
        data_dir: str | Path | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        pose_as: str = "",
    ) -> None:
        self._own_dir = data_dir is None
        self._data_dir = Path(data_dir) if data_dir is not None else None
        self._host, self._port = host, port
        self._settings = {**TEST_SETTINGS, **{k: str(v) for k, v in (settings or {}).items()}}
        if pose_as:
            self._settings["barnabas.pose.as"] = pose_as
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._broker: ServerBroker | None = None
        self.clock = TestClock(self)
        self.faults = TestFaults(self)
        self.requests = RequestLog(self)

    # Life.

    def start(self) -> Self:
        """Start, and return when clients can connect. Raises what kept it from starting."""
        if self._thread is not None:
            return self
        if self._data_dir is None:
            self._data_dir = Path(tempfile.mkdtemp(prefix="barnabas-"))
        outcome: list[BaseException | None] = []
        started = threading.Event()
        config = self._config()
        self._thread = threading.Thread(
            target=self._run, args=(config, started, outcome), name="barnabas", daemon=True
        )
        self._thread.start()
        if not started.wait(START_TIMEOUT_S):
            raise TimeoutError(f"the broker did not start in {START_TIMEOUT_S:.0f} s")
        if outcome[0] is not None:
            self._thread.join()
            self._thread = None
            raise outcome[0]
        return self

    def stop(self) -> None:
        """Stop in good order; a temporary directory is removed."""
        self.halt(ServerBroker.stop)
        if self._own_dir and self._data_dir is not None:
            shutil.rmtree(self._data_dir, ignore_errors=True)
            self._data_dir = None

    def kill(self) -> None:
        """Stop as a crash would: nothing is flushed or marked; the data stays for `start`."""
        self.halt(ServerBroker.crash)

    def restart(self) -> None:
        """Stop and start again on the same port, with the same data."""
        port = self.port
        self.halt(ServerBroker.stop)
        self.come_back(port)

    def halt(self, how: Callable[[ServerBroker], Coroutine[Any, Any, None]]) -> None:
        """Stop in the way given; the data stays."""
        if self._thread is None or self._loop is None or self._broker is None:
            return
        self.run(how(self._broker))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._thread = self._loop = self._broker = None

    def come_back(self, port: int) -> None:
        """Start again on a port that was ours before."""
        self._port = port
        self.start()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # Where it is.

    @property
    def port(self) -> int:
        """The port of the first listener."""
        return self.server.listeners[0].port

    @property
    def bootstrap_servers(self) -> str:
        """What clients call bootstrap.servers."""
        return f"{self._host}:{self.port}"

    @property
    def data_dir(self) -> Path:
        """Where the logs are."""
        if self._data_dir is None:
            raise RuntimeError("the broker has not been started")
        return self._data_dir

    @property
    def server(self) -> ServerBroker:
        """The broker itself; touch it only through `call`."""
        if self._broker is None:
            raise RuntimeError("the broker is not running")
        return self._broker

    # What a test does with it.

    def call(self, function: Callable[[], T]) -> T:
        """Call `function` on the broker's loop and return what it returns."""

        async def on_loop() -> T:
            return function()

        return self.run(on_loop())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the broker's loop and return what it returns."""
        if self._loop is None:
            work.close()
            raise RuntimeError("the broker is not running")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def create_topic(
        self, name: str, partitions: int = 1, settings: Mapping[str, object] | None = None
    ) -> str:
        """Create a topic and wait until it has leaders; its name, for chaining."""
        topics = self.server.topics

        async def create() -> None:
            wanted = {key: str(value) for key, value in (settings or {}).items()}
            await topics.create(name, topics.place(partitions, 1), wanted)
            await topics.wait_until_served(name, 10_000, partitions)

        self.run(create())
        return name

    def clear(self) -> None:
        """Delete every topic, internal ones and with them all groups too; forget faults.

        Settings that were changed while the broker ran are as they were at its start.
        """
        self.faults.clear()
        topics, registry = self.server.topics, self.server.registry

        async def clear() -> None:
            names = list(self.server.metadata.topics)
            for name in names:
                await topics.mark_for_deletion(name)
            for name in names:
                await topics.wait_until_deleted(name, 10_000)
            await registry.consumers.delete_all()
            for name in await registry.configs.read_all(BROKERS):
                await registry.configs.write(f"{BROKERS}/{name}", {})
                await registry.configs.notify(f"{BROKERS}/{name}")
            await self.server.live_settings.catch_up()

        self.run(clear())

    def snapshot(self, directory: str | Path) -> None:
        """Copy the state of the stopped or running broker, by hard links where that is safe.

        Closed segments never change again and are linked; what is still written is copied.
        """
        from barnabas.server.testing.snapshots import take_snapshot

        take_snapshot(self, Path(directory))

    def restore(self, directory: str | Path) -> None:
        """Go back to a snapshot: stop, put its files in the place of ours, start."""
        from barnabas.server.testing.snapshots import put_back

        put_back(self, Path(directory))

    # How it runs.

    def _config(self) -> BrokerConfig:
        settings = {
            "listeners": f"PLAINTEXT://{self._host}:{self._port}",
            "log.dirs": str(self._data_dir),
            **self._settings,
        }
        return load_config((), settings)

    def _run(
        self,
        config: BrokerConfig,
        started: threading.Event,
        outcome: list[BaseException | None],
    ) -> None:
        loop = asyncio.new_event_loop()
        try:
            self._broker = loop.run_until_complete(_started(config))
            self._loop = loop
            self.faults.attach(self._broker)
            self.requests.attach(self._broker)
            outcome.append(None)
        except BaseException as error:
            outcome.append(error)
            started.set()
            loop.close()
            return
        started.set()
        try:
            loop.run_forever()
        finally:
            loop.close()


async def _started(config: BrokerConfig) -> ServerBroker:
    broker = ServerBroker(config, logs=Logs(config.barnabas_log_level))
    await broker.start()
    return broker
