"""What must hold at every moment, looked at again and again while a history runs."""

from collections.abc import Iterable

from barnabas.server.cluster.metadata import NO_LEADER
from barnabas.server.registry import paths
from barnabas.server.registry.bodies import (
    PartitionState,
    decode_number,
    decode_partition_state,
    decode_topic,
)
from barnabas.server.registry.znodes.ensemble import Ensemble
from barnabas.server.replication.partition import Partition

from .clients import TOPIC, History
from .machines import Machine

Epoch = tuple[int, int]
"""Partition and leader epoch."""


class Watching:
    """What has been seen of a cluster so far."""

    def __init__(self, ensemble: Ensemble, history: History, partitions: int) -> None:
        self._ensemble = ensemble
        self._faults = history.faults
        self._partitions = partitions
        self._leaders: dict[Epoch, int] = {}
        self._high_watermarks: dict[tuple[int, Epoch], int] = {}
        self._assigned: dict[int, tuple[set[int], set[int]]] = {}
        """The replicas of each partition, the last time and this time."""
        self._registered: dict[tuple[int, int], PartitionState] = {}
        """The registry's state by partition and partition epoch."""
        self._last_zxid = 0
        """The registry's last change when it was looked at."""

    def look(self, machines: Iterable[Machine]) -> None:
        """Compare how things are with how they were."""
        if self._last_zxid != self._ensemble.tree.last_zxid:
            self._last_zxid = self._ensemble.tree.last_zxid
            for index in range(self._partitions):
                self._look_at_registry(index)
        for machine in machines:
            if machine.is_serving:
                self._look_at(machine)

    def _look_at_registry(self, index: int) -> None:
        znode = self._ensemble.tree.nodes.get(paths.partition_state(TOPIC, index))
        if znode is None or not znode.data:
            return
        state = decode_partition_state(znode.data)
        self._look_at_author(index, state, znode.mzxid)
        key = (index, znode.version)
        before = self._registered.setdefault(key, state)
        if before != state:
            self._faults.append(f"{TOPIC}-{index}: state {key[1]} was {before}, is {state}")
        replicas = self._replicas(index)
        if not set(state.isr) <= replicas or state.leader not in (NO_LEADER, *state.isr):
            self._faults.append(f"{TOPIC}-{index}: {state} with replicas {replicas}")
        if not state.isr or len(set(state.isr)) != len(state.isr):
            self._faults.append(f"{TOPIC}-{index}: {state} makes no sense")

    def _replicas(self, index: int) -> set[int]:
        """Those assigned, and those assigned before: the topic is written first, then the state."""
        topic = self._ensemble.tree.nodes[paths.topic(TOPIC)]
        now = set(decode_topic(topic.data or b"").replicas[index])
        last = self._assigned.setdefault(index, (now, now))
        if last[1] != now:
            self._assigned[index] = last[1], now
        before, now = self._assigned[index]
        return before | now

    def _look_at_author(self, index: int, state: PartitionState, mzxid: int) -> None:
        """Once there is another controller nothing is written for the one before."""
        latest = self._ensemble.tree.nodes[paths.CONTROLLER_EPOCH]
        epoch = decode_number(latest.data or b"")
        if mzxid > latest.mzxid and state.controller_epoch != epoch:
            self._faults.append(
                f"{TOPIC}-{index}: written by controller {state.controller_epoch}, "
                f"when {epoch} ruled"
            )

    def _look_at(self, machine: Machine) -> None:
        assert machine.broker is not None
        for partition in machine.broker.replicas.of_topic(TOPIC):
            if partition.is_leader:
                name = f"{TOPIC}-{partition.index} in epoch {partition.leader_epoch}"
                self._look_at_leader(name, machine.broker_id, partition)
                self._look_at_high_watermark(name, machine.disk.boots, partition)
                self._look_at_isr(name, partition)

    def _look_at_leader(self, name: str, broker_id: int, partition: Partition) -> None:
        epoch = (partition.index, partition.leader_epoch)
        leader = self._leaders.setdefault(epoch, broker_id)
        if leader != broker_id:
            self._faults.append(f"{name}: {leader} and {broker_id} lead")

    def _look_at_high_watermark(self, name: str, boots: int, partition: Partition) -> None:
        life = (boots, (partition.index, partition.leader_epoch))
        high_watermark = partition.log.high_watermark
        if high_watermark < self._high_watermarks.get(life, 0):
            self._faults.append(f"{name}: the high watermark went back")
        self._high_watermarks[life] = high_watermark

    def _look_at_isr(self, name: str, partition: Partition) -> None:
        known = self._registered.get((partition.index, partition.partition_epoch))
        if known is not None and set(known.isr) != set(partition.isr):
            here, there = sorted(partition.isr), sorted(known.isr)
            self._faults.append(f"{name}: in sync {here}, in the registry {there}")
