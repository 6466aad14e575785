"""Brokers whose registry is a part of a real Apache ZooKeeper."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from zookeeper_worlds import LONG_SESSION_MS

import barnabas
from barnabas.server.registry.znodes.zookeeper import ZookeeperStore
from barnabas.server.testing.zookeeper import ZookeeperServer

T = TypeVar("T")

_chroots = itertools.count()


class Home:
    """A part of ZooKeeper's tree and a data directory, and brokers that live there in turn."""

    def __init__(self, zookeeper: ZookeeperServer, folder: Path) -> None:
        self._folder = folder
        self.address = f"{zookeeper.address}/broker-{next(_chroots)}"

    def broker(
        self, settings: dict[str, object] | None = None, folder: str = "data"
    ) -> barnabas.Broker:
        """A broker, not started."""
        mine = {
            "zookeeper.connect": self.address,
            "zookeeper.session.timeout.ms": LONG_SESSION_MS,
            "offsets.topic.replication.factor": 1,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
        }
        return barnabas.Broker(mine | (settings or {}), data_dir=self._folder / folder)


def ask(broker: barnabas.Broker, work: Callable[[ZookeeperStore], Coroutine[Any, Any, T]]) -> T:
    """Do something in the broker's own session."""

    async def asked() -> T:
        store = broker.server.registry.store
        assert isinstance(store, ZookeeperStore)
        return await work(store)

    return broker.run(asked())
