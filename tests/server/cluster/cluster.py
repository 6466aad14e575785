"""Brokers in one event loop that share one tree, and a clock for their sessions."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from barnabas.server.broker import Broker
from barnabas.server.registry.znodes.embedded import EmbeddedStore
from barnabas.server.registry.znodes.ensemble import SESSION_TIMEOUT_MS, Ensemble
from barnabas.server.settings.config import load_config

START_MS = 1_700_000_000_000
SWEEP_MS = 1_000
PASSES = 100  # of the loop; an election takes a dozen
LEADERS_STAY = {"auto_leader_rebalance_enable": "false"}
"""For tests that say who leads: the controller would have a say once it has run for 5 s."""


class Cluster:
    """Brokers 0, 1, ... of one process."""

    def __init__(self, folder: Path, settings: dict[str, str]) -> None:
        """`settings` are every broker's."""
        self.folder = folder
        self.settings = settings
        self.monotonic_ms = 0.0
        self.ensemble = Ensemble(lambda: START_MS, monotonic_ms=lambda: self.monotonic_ms)
        self.brokers: dict[int, Broker] = {}

    async def start(self, broker_id: int, **settings: str) -> Broker:
        """Start a broker, for the first time or again."""
        given = {
            "broker.id": str(broker_id),
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "log.dirs": str(self.folder / str(broker_id)),
            "controlled.shutdown.retry.backoff.ms": "100",
            **{name.replace("_", "."): text for name, text in (self.settings | settings).items()},
        }
        broker = Broker(load_config((), given), ensemble=self.ensemble)
        await broker.start()
        self.brokers[broker_id] = broker
        return broker

    async def stop(self, broker: Broker) -> None:
        """Stop a broker in good order."""
        del self.brokers[broker.broker_id]
        await broker.stop()

    async def crash(self, broker: Broker) -> None:
        """Kill a broker; its session goes on until `let_sessions_expire`."""
        del self.brokers[broker.broker_id]
        await broker.crash()

    def let_sessions_expire(self) -> None:
        """Time passes, and the brokers that live notice whose sessions are over."""
        self._let_pass(SESSION_TIMEOUT_MS)

    async def let_sessions_nearly_expire(self) -> None:
        """Time passes, and nothing comes of it, though everybody has had a turn."""
        self._let_pass(SESSION_TIMEOUT_MS - 1)
        for _ in range(PASSES):
            await asyncio.sleep(0)

    def _let_pass(self, duration_ms: float) -> None:
        self.monotonic_ms += duration_ms
        for broker in self.brokers.values():
            broker.clock.advance(SWEEP_MS)


def session_of(broker: Broker) -> EmbeddedStore:
    """The broker's session, to be disturbed."""
    store = broker.registry.store
    assert isinstance(store, EmbeddedStore)
    return store


@contextlib.asynccontextmanager
async def cluster_of(folder: Path, count: int, **settings: str) -> AsyncIterator[Cluster]:
    """A cluster of running brokers; those that still run at the end are stopped."""
    cluster = Cluster(folder, settings)
    try:
        for broker_id in range(count):
            await cluster.start(broker_id)
        yield cluster
    finally:
        for broker in list(cluster.brokers.values()):
            await cluster.stop(broker)
        cluster.ensemble.close()
