"""Brokers with a ZooKeeper and wires between all of them, and what a nemesis may do to them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from kafka_server import free_ports
from oracles import require_oracle, require_program

from barnabas.server.testing.zookeeper import ZookeeperServer
from cluster.disks import Disk, plain_disk
from cluster.links import ZOOKEEPER, Links
from cluster.nodes import KINDS, Node, Ports

TICK_MS = 500


class Cluster:
    """Runs from `start` to `close`. Brokers have the ids 1, 2, ...; ZooKeeper has 0."""

    def __init__(
        self,
        kinds: Sequence[str],
        folder: Path,
        settings: dict[str, str] | None = None,
        *,
        has_links: bool = True,
        disk: Disk = plain_disk,
    ) -> None:
        """`kinds` says broker by broker what runs: a key of KINDS. Without links brokers reach
        each other directly, for who measures.
        """
        require_program("java")
        self._folder = folder
        self._settings = settings or {}
        self._has_links = has_links
        self.zookeeper = ZookeeperServer(
            folder / "zookeeper", *free_ports(1), jars=require_oracle("jars-3.9.1"), tick_ms=TICK_MS
        )
        self.links = Links(lambda broker: self.nodes[broker].pid)
        ids = range(1, len(kinds) + 1)
        self._ports = {broker: Ports(*free_ports(3)) for broker in ids}
        self._gates = dict(zip(ids, free_ports(len(kinds)), strict=True))
        self.nodes: dict[int, Node] = {}
        for broker, kind in zip(ids, kinds, strict=True):
            self.nodes[broker] = self._node(broker, kind)
        self.disks = {broker: disk(node.data) for broker, node in self.nodes.items()}

    def _node(self, broker: int, kind: str) -> Node:
        ports = self._ports[broker]
        if not self._has_links:
            ports = ports._replace(advertised=ports.internal)
        gate = self._gates[broker] if self._has_links else self.zookeeper.port
        folder = self._folder / f"broker-{broker}"
        return KINDS[kind](broker, folder, ports, f"127.0.0.1:{gate}/nl", self._settings)

    def become(self, broker: int, kind: str) -> None:
        """What runs with its id and data directory from its next start on; it does not run now."""
        assert self.nodes[broker].process is None
        self.nodes[broker] = self._node(broker, kind)

    @property
    def bootstrap(self) -> str:
        """Every broker's address, as clients take it."""
        return ",".join(node.address for node in self.nodes.values())

    @property
    def running(self) -> list[Node]:
        return [node for node in self.nodes.values() if node.is_wanted]

    def start(self, *, one_by_one: bool = False) -> None:
        """ZooKeeper, the wires, then all brokers, at once or in turn; returns when all listen."""
        self.zookeeper.start()
        ids = list(self.nodes)
        if self._has_links:
            for broker, ports in self._ports.items():
                self.links.lay(broker, ports.advertised, ports.internal, ids)
                self.links.lay(ZOOKEEPER, self._gates[broker], self.zookeeper.port, [broker])
        for node in self.nodes.values():
            node.spawn()
            if one_by_one:
                node.wait()
        for node in self.nodes.values():
            node.wait()

    def look(self) -> None:
        """Start again what has ended by itself and is to run."""
        for node in self.nodes.values():
            if not self.disks[node.broker_id].is_full:
                node.look()

    def pause_zookeeper(self) -> None:
        """SIGSTOP."""
        if self.zookeeper.process is not None:
            os.kill(self.zookeeper.process.pid, signal.SIGSTOP)

    def resume_zookeeper(self) -> None:
        """SIGCONT; started again if it was killed."""
        if self.zookeeper.process is None:
            self.zookeeper.start()
        else:
            os.kill(self.zookeeper.process.pid, signal.SIGCONT)

    def heal(self) -> None:
        """Everything runs, every wire carries, every disk has room."""
        self.links.mend()
        self.resume_zookeeper()
        for broker, node in self.nodes.items():
            self.disks[broker].empty()
            node.resume()
            if not node.is_wanted:
                node.kill()
                node.spawn()
        for node in self.nodes.values():
            node.wait()

    def stop(self) -> list[int]:
        """All brokers cleanly, one after the other; those that did not end in time."""
        return [broker for broker, node in self.nodes.items() if not node.stop()]

    def close(self) -> None:
        """End everything, by force."""
        for node in self.nodes.values():
            node.kill()
        self.resume_if_paused()
        self.zookeeper.stop()
        self.links.close()

    def resume_if_paused(self) -> None:
        """So that ZooKeeper can be stopped."""
        if self.zookeeper.process is not None:
            os.kill(self.zookeeper.process.pid, signal.SIGCONT)


@contextmanager
def running_cluster(
    kinds: Sequence[str],
    folder: Path,
    settings: dict[str, str] | None = None,
    *,
    has_links: bool = True,
    disk: Disk = plain_disk,
) -> Iterator[Cluster]:
    """A cluster that runs, for the length of a block; its data stays."""
    cluster = Cluster(kinds, folder, settings, has_links=has_links, disk=disk)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.close()
        for disk_of in cluster.disks.values():
            disk_of.remove()
