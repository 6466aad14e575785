"""What a cluster's ZooKeeper says, read from outside of it."""

from __future__ import annotations

import json
from collections.abc import Coroutine
from typing import Any, TypeVar

from barnabas.server.registry.znodes.store import NoNode
from barnabas.server.registry.znodes.zookeeper import ZookeeperStore
from barnabas.server.registry.znodes.zookeeper_session import ZookeeperServers
from barnabas.server.testing.loop_thread import LoopThread

CONNECT_MS = 30_000
SESSION_MS = 20_000
TIMEOUT_S = 30.0
T = TypeVar("T")


class Registry:
    """A session with it, until `close`."""

    def __init__(self, port: int, chroot: str) -> None:
        self._thread = LoopThread().open()
        self._store: ZookeeperStore = self._thread.run(self._connect(port, chroot), TIMEOUT_S)

    async def _connect(self, port: int, chroot: str) -> ZookeeperStore:
        store = ZookeeperStore(ZookeeperServers([("127.0.0.1", port)], SESSION_MS), chroot)
        await store.connect(CONNECT_MS)
        return store

    def close(self) -> None:
        self._ask(self._store.close())
        self._thread.close()

    @property
    def controller(self) -> int:
        """Which broker it is, -1 for none."""
        try:
            return int(self.json("/controller")["brokerid"])
        except NoNode:
            return -1

    @property
    def controller_epoch(self) -> int:
        return int(self._ask(self._store.get("/controller_epoch")).data or b"0")

    @property
    def brokers(self) -> set[int]:
        """Those that are registered."""
        return {int(each) for each in self._ask(self._store.children("/brokers/ids"))}

    @property
    def topics(self) -> set[str]:
        return set(self._ask(self._store.children("/brokers/topics")))

    def assignment(self, topic: str) -> dict[int, list[int]]:
        """The replicas of each partition."""
        found = self.json(f"/brokers/topics/{topic}")["partitions"]
        return {int(partition): replicas for partition, replicas in found.items()}

    def state(self, topic: str, partition: int = 0) -> dict[str, Any]:
        """leader, leader_epoch, isr, controller_epoch, and `version`: the partition epoch."""
        znode = self._ask(self._store.get(f"/brokers/topics/{topic}/partitions/{partition}/state"))
        return json.loads(znode.data or b"{}") | {"version": znode.stat.version}

    def json(self, path: str) -> dict[str, Any]:
        """A znode's body. Raises NoNode."""
        found: dict[str, Any] = json.loads(self._ask(self._store.get(path)).data or b"{}")
        return found

    def children(self, path: str) -> list[str]:
        return self._ask(self._store.children(path))

    def delete(self, path: str) -> None:
        """Raises NoNode."""
        self._ask(self._store.delete(path))

    def _ask(self, work: Coroutine[Any, Any, T]) -> T:
        return self._thread.run(work, TIMEOUT_S)
