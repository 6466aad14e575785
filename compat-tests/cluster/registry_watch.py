"""Reads the state znodes of all partitions again and again, and writes down what changes."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

from exactly_once.workers.recorder import Recorder

from barnabas.server.registry.znodes.store import ZnodeError
from barnabas.server.registry.znodes.zookeeper import ZookeeperStore
from barnabas.server.registry.znodes.zookeeper_session import ZookeeperServers

EVERY_S = 0.2
CONNECT_MS = 5_000
SESSION_MS = 20_000
TOPICS = "/brokers/topics"


class RegistryWatch:
    """In a thread with a session of its own; `states` is what it has read last."""

    def __init__(self, port: int, chroot: str, history: Path) -> None:
        self.states: dict[tuple[str, int], dict[str, Any]] = {}
        """By topic and partition: leader, leader_epoch, isr, and the znode's version."""
        self.controller_epoch = 0
        self.is_fresh = False
        """The last round was answered."""
        self._assignments: dict[str, dict[str, list[int]]] = {}
        self._recorder = Recorder(history)
        self._servers = ZookeeperServers([("127.0.0.1", port)], SESSION_MS)
        self._chroot = chroot
        self._over = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop."""
        self._over.set()
        self._thread.join(30)

    def lacking(self) -> list[str]:
        """Partitions without a leader or a full in-sync set; something even before any is known."""
        if not self.is_fresh or not self.states:
            return ["the registry is not there"]
        return [
            f"{topic}-{partition} {state}"
            for (topic, partition), state in list(self.states.items())
            if state["leader"] < 0 or len(state["isr"]) < len(self._replicas(topic, partition))
        ]

    def _replicas(self, topic: str, partition: int) -> list[int]:
        return self._assignments.get(topic, {}).get(str(partition), [])

    async def _run(self) -> None:
        store = ZookeeperStore(self._servers, self._chroot)
        while not self._over.is_set():
            try:
                await store.connect(CONNECT_MS)
                break
            except (ZnodeError, OSError):
                await asyncio.sleep(EVERY_S)
        while not self._over.is_set():
            try:
                await asyncio.wait_for(self._read(store), CONNECT_MS / 1000)
                self.is_fresh = True
            except (ZnodeError, OSError, TimeoutError):
                self.is_fresh = False
            await asyncio.sleep(EVERY_S)
        store.abandon()

    async def _read(self, store: ZookeeperStore) -> None:
        topics = await store.children(TOPICS)
        bodies = await store.get_many([f"{TOPICS}/{topic}" for topic in topics])
        wanted = []
        for topic, znode in zip(topics, bodies, strict=True):
            if znode is not None:
                self._assignments[topic] = json.loads(znode.data or b"{}")["partitions"]
                wanted += [(topic, int(number)) for number in self._assignments[topic]]
        paths = [f"{TOPICS}/{topic}/partitions/{number}/state" for topic, number in wanted]
        for place, znode in zip(wanted, await store.get_many(paths), strict=True):
            if znode is not None:
                state = json.loads(znode.data or b"{}")
                self._note(place, state | {"version": znode.stat.version})

    def _note(self, place: tuple[str, int], state: dict[str, Any]) -> None:
        if self.states.get(place) == state:
            return
        self.states[place] = state
        self.controller_epoch = max(self.controller_epoch, state["controller_epoch"])
        told = {name: state[name] for name in ("leader", "leader_epoch", "isr", "controller_epoch")}
        replicas = self._replicas(*place)
        self._recorder.note("state", t=place[0], q=place[1], replicas=replicas, **told)
