"""When a history is over, and what must be true then."""

from collections.abc import Sequence
from typing import Final

from barnabas.server.registry import paths
from barnabas.server.registry.bodies import PartitionState, decode_partition_state, decode_topic
from barnabas.server.registry.znodes.ensemble import Ensemble
from barnabas.server.replication.partition import Partition
from barnabas.storage.batch.records import decode_all

from .clients import TOPIC, History
from .machines import Machine

BROKERS: Final = 4
REPLICAS: Final = 3
PARTITIONS: Final = 2


class Verdict:
    """Over the brokers of one history."""

    def __init__(self, machines: Sequence[Machine], ensemble: Ensemble, history: History) -> None:
        self._machines = machines
        self._ensemble = ensemble
        self._history = history

    def are_all_in_sync(self) -> bool:
        """Whether every partition has a leader, and every broker follows it closely."""
        return all(each.is_serving for each in self._machines) and all(
            self._is_in_sync(index) for index in range(PARTITIONS)
        )

    def _is_in_sync(self, index: int) -> bool:
        state, replicas = self.state_of(index), set(self.replicas_of(index))
        if state is None or state.leader < 0 or set(state.isr) != replicas:
            return False
        held = {
            machine.broker_id: partition
            for machine in self._machines
            if (partition := replica(machine, index)) is not None
        }
        return (
            held.keys() == replicas
            and set(held[state.leader].isr) == replicas
            and {held[replica].leader_epoch for replica in replicas} == {state.leader_epoch}
            and [id for id, each in held.items() if each.is_leader] == [state.leader]
        )

    def state_of(self, index: int) -> PartitionState | None:
        """As the registry has it."""
        znode = self._ensemble.tree.nodes.get(paths.partition_state(TOPIC, index))
        return decode_partition_state(znode.data) if znode is not None and znode.data else None

    def leads(self, index: int, broker_id: int) -> bool:
        """Whether a broker does, as the registry has it."""
        state = self.state_of(index)
        return state is not None and state.leader == broker_id

    def replicas_of(self, index: int) -> Sequence[int]:
        """As the registry has it, with those that are on their way."""
        topic = self._ensemble.tree.nodes[paths.topic(TOPIC)]
        return decode_topic(topic.data or b"").replicas[index]

    def describe(self) -> str:
        """What every broker believes, for whoever wonders what is stuck."""
        return "; ".join(
            f"{machine.broker_id}:{p.index} {p.state.value} epoch {p.leader_epoch} "
            f"isr {list(p.isr)} hw {p.log.high_watermark} end {p.log.log_end_offset}"
            for machine in self._machines
            if machine.broker is not None
            for p in machine.broker.replicas.of_topic(TOPIC)
        )

    def give(self) -> None:
        """Nothing that was promised is lost, and all replicas are one."""
        for index in range(PARTITIONS):
            one, *others = self.replicas_of(index)
            first = self._bytes(one, index)
            for other in others:
                if self._bytes(other, index) != first:
                    self._fault(f"{TOPIC}-{index}: replicas {one} and {other} differ")
            self._check(index, first)

    def _check(self, index: int, data: bytes) -> None:
        found = {each.offset: bytes(each.value or b"") for each in decode_all(memoryview(data))}
        if len(set(found.values())) != len(found):
            self._fault(f"{TOPIC}-{index}: a record is there twice")
        for (partition, offset), value in self._history.read.items():
            if partition == index and found.get(offset) != value:
                self._fault(f"{TOPIC}-{index}: {value!r}, which was read, is lost")
        for value, (partition, offset) in self._history.acknowledged.items():
            if partition == index and found.get(offset) != value:
                self._fault(f"{TOPIC}-{index}: {value!r}, acknowledged at {offset}, is lost")

    def _fault(self, what: str) -> None:
        self._history.faults.append(what)

    def _bytes(self, broker_id: int, index: int) -> bytes:
        disk = self._machines[broker_id].disk
        folder = f"/data/{TOPIC}-{index}"
        names = sorted(name for name in disk._list_directory(folder) if name.endswith(".log"))
        return b"".join(disk.read(f"{folder}/{name}") for name in names)


def replica(machine: Machine, index: int) -> Partition | None:
    """A broker's, if it runs and has one."""
    if not machine.is_serving or machine.broker is None:
        return None
    return machine.broker.replicas.find(TOPIC, index)
