"""`barnabas.Cluster`: several brokers inside the process of a test, or in children of it.

    with barnabas.Cluster(brokers=3) as cluster:
        cluster.create_topic("orders")
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"})
        cluster.leader_of("orders").kill()

Each is a `barnabas.Broker` (`cluster[0]`), with faults and a log of requests of its own. In the
process they share an event loop and a registry; with `process=True` each is a process, and the
registry an Apache ZooKeeper.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from barnabas.server.testing.abandoned import Watch
from barnabas.server.testing.broker import end_lost, texts
from barnabas.server.testing.cluster_clock import ClusterClock
from barnabas.server.testing.cluster_links import End, Links, id_of
from barnabas.server.testing.cluster_view import (
    NO_LEADER,
    PATIENCE_S,
    PartitionState,
    agreed_leader,
    partition_of,
    partitions_of,
    wait,
)
from barnabas.server.testing.faults import PATH as FAULTS
from barnabas.server.testing.ground import Ground, ProcessGround, ThreadGround
from barnabas.server.testing.link_commands import REGISTRY
from barnabas.server.testing.member import Member
from barnabas.server.testing.refusals import NotRunning

if TYPE_CHECKING:
    from barnabas.server.testing.zookeeper import ZookeeperServer

MOST_REPLICAS: Final = 3  # of what is created without a number


class Cluster:
    """Brokers 0, 1, ... for tests.

    `settings` are Kafka's, of all brokers; `broker_settings` those of one, by its id; `racks` the
    brokers' racks in order. `data_dir` keeps everything where it is after the stop; without it a
    temporary directory goes with the cluster. Raises ValueError.
    """

    def __init__(
        self,
        brokers: int = 3,
        settings: Mapping[str, object] | None = None,
        *,
        broker_settings: Mapping[int, Mapping[str, object]] | None = None,
        racks: Sequence[str] | None = None,
        data_dir: str | Path | None = None,
        process: bool = False,
    ) -> None:
        if brokers < 1:
            raise ValueError(f"a cluster has one broker at least, not {brokers}")
        if racks is not None and len(racks) != brokers:
            raise ValueError(f"racks are given for {len(racks)} brokers, of {brokers}")
        self.process = process
        self.ground: Ground = ProcessGround() if process else ThreadGround()
        self._own_dir = data_dir is None
        self._data_dir = Path(data_dir).absolute() if data_dir is not None else None
        self._is_open = False
        shared, own = {**_sizes(brokers), **texts(settings or {})}, broker_settings or {}
        self.brokers: tuple[Member, ...] = tuple(
            Member(each, self, self.ground, {**shared, **_rack(racks, each), **own.get(each, {})})
            for each in range(brokers)
        )  # fmt: skip
        self._watch: Watch | None = None
        self.clock = ClusterClock(self)
        self._links = Links(self)

    def __repr__(self) -> str:
        running = sum(broker.is_running for broker in self.brokers)
        return f"<Cluster of {len(self.brokers)} brokers, {running} of them running>"

    # Life.

    def start(self) -> Self:
        """Start all brokers; returns when they know each other. Raises what kept one from it."""
        try:
            self._open()
            for broker in self.brokers:
                broker.start()
            self.wait_for_brokers()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop all brokers in good order, the controller last; a temporary directory goes."""
        if not self._is_open:
            return
        if self._watch is not None:
            self._watch.dismiss()
        try:
            _do_all([*(broker.end for broker in self._controller_last()), self.ground.close])
        finally:
            self._is_open = False
            if self._own_dir and self._data_dir is not None:
                shutil.rmtree(self._data_dir, ignore_errors=True)
                self._data_dir = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # Who is there.

    def __getitem__(self, broker_id: int) -> Member:
        if not 0 <= broker_id < len(self.brokers):
            raise LookupError(f"there is no broker {broker_id}; they are 0 to {len(self) - 1}")
        return self.brokers[broker_id]

    def __iter__(self) -> Iterator[Member]:
        return iter(self.brokers)

    def __len__(self) -> int:
        return len(self.brokers)

    @property
    def bootstrap_servers(self) -> str:
        """What clients call bootstrap.servers: all brokers, running or not."""
        return ",".join(broker.bootstrap_servers for broker in self.brokers)

    @property
    def data_dir(self) -> Path:
        """Where everything is: the brokers' folders, and the registry's. Raises RuntimeError."""
        if self._data_dir is None:
            raise RuntimeError("the cluster has not been started")
        return self._data_dir

    @property
    def running(self) -> list[Member]:
        """The brokers that run. Raises RuntimeError if none does."""
        found = [broker for broker in self.brokers if broker.is_running]
        if not found:
            raise NotRunning("no broker of the cluster is running")
        return found

    @property
    def controller(self) -> Member:
        """The broker that is controller; waits until there is one. Raises TimeoutError."""
        return wait(self._find_controller, lambda: "no broker is controller")

    @property
    def zookeeper(self) -> "ZookeeperServer":
        """The registry of brokers in processes. Raises RuntimeError for others."""
        if not isinstance(self.ground, ProcessGround) or self.ground.zookeeper is None:
            raise NotRunning("there is no ZooKeeper: say process=True, and start the cluster")
        return self.ground.zookeeper

    def wait_for_brokers(self, timeout_s: float = PATIENCE_S) -> None:
        """Wait until all running brokers know of one another and of one controller.

        Each has a session with the registry then. Raises TimeoutError.
        """
        running = self.running
        ids = [broker.broker_id for broker in running]

        def know_each_other() -> bool:
            states = [broker.state() for broker in running]
            seen = {(*state["brokers"], state["controller_id"]) for state in states}
            has_session = all(state["session"] == "established" for state in states)
            return has_session and len(seen) == 1 and states[0]["brokers"] == ids

        wait(know_each_other, lambda: f"brokers {ids} do not know each other", timeout_s)

    # Topics.

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replicas: int | None = None,
        settings: Mapping[str, object] | None = None,
    ) -> str:
        """Create a topic and wait until all brokers know its leaders; its name, for chaining.

        It has as many replicas as there are brokers, up to three, unless it is said.
        """
        self.controller.command(
            "create_topic", "POST", "/control/topics", name=name, partitions=partitions,
            settings=texts(settings or {}), **({} if replicas is None else {"replicas": replicas}),
        )  # fmt: skip
        for partition in range(partitions):
            self.leader_of(name, partition)
        return name

    def partition(self, topic: str, partition: int = 0) -> PartitionState:
        """How a partition is, as the controller knows it. Raises LookupError."""
        return partition_of(self.controller, topic, partition)

    def leader_of(self, topic: str, partition: int = 0) -> Member:
        """The broker that leads a partition, once one does and all know it.

        A broker that was killed leads until its session is over. Raises TimeoutError.
        """
        return self._wait_for_leader(topic, partition, NO_LEADER)

    def wait_for_leader(
        self, topic: str, partition: int = 0, *, other_than: int | Member
    ) -> Member:
        """The broker that leads, once it is another than this one. Raises TimeoutError."""
        return self._wait_for_leader(topic, partition, id_of(other_than))

    def wait_for_isr(
        self, topic: str, size: int, partition: int | None = None, timeout_s: float = PATIENCE_S
    ) -> None:
        """Wait until so many replicas of a partition, or of each one, are in sync.

        All brokers know it then. Raises TimeoutError, with what is in sync instead.
        """

        def in_sync(broker: Member) -> list[list[int]]:
            known = partitions_of(broker, topic)
            return [each.isr for n, each in enumerate(known) if partition in (None, n)]

        def all_in_sync() -> bool:
            views = [in_sync(broker) for broker in self._links.reached(self.controller)]
            return all(views) and all(len(isr) == size for isrs in views for isr in isrs)

        def instead() -> str:
            isrs = in_sync(self.controller)
            return f"not {size} replicas of {topic} are in sync, but {isrs or 'there is none'}"

        wait(all_in_sync, instead, timeout_s)

    def clear(self) -> None:
        """Heal all links, start all brokers, delete all topics and groups, forget faults."""
        self._links.heal_all()
        self.start()
        for broker in self.brokers:
            broker.ask("DELETE", FAULTS)
        self.controller.ask("POST", "/control/clear")
        wait(lambda: not any(map(_topics, self.brokers)), lambda: "there are topics still")
        _do_all(broker.faults.check for broker in self.brokers)

    # Links.

    def cut(self, one: End, other: End, *, one_way: bool = False, resets: bool = False) -> None:
        """Cut the link between two brokers, or between a broker and "registry".

        What is sent waits until the link is healed, as where a network loses packets. `one_way`:
        only what `one` sends does not arrive. `resets`: connections end at once, and new ones are
        refused. Clients go on reaching every broker. Raises ValueError, LookupError.
        """
        self._links.cut(one, other, one_way=one_way, resets=resets)

    def heal(
        self, one: End | None = None, other: End | None = None, *, one_way: bool = False
    ) -> None:
        """Heal a link, in both directions or in one; without arguments all of them."""
        if one is not None and other is not None:
            return self._links.heal(one, other, one_way=one_way)
        if one is not None or other is not None:
            raise ValueError("say both ends of the link, or none for all links")
        self._links.heal_all()

    def isolate(self, broker: int | Member, *, resets: bool = False) -> None:
        """Cut a broker off from all others and from the registry."""
        for other in self.brokers:
            if other.broker_id != id_of(broker):
                self.cut(broker, other, resets=resets)
        self.cut(broker, REGISTRY)

    # How.

    def _open(self) -> None:
        if self._is_open:
            return
        if self._data_dir is None:
            self._data_dir = Path(tempfile.mkdtemp(prefix="barnabas-"))
        self._data_dir.mkdir(parents=True, exist_ok=True)
        self._is_open = True
        self.ground.open(self._data_dir)
        self._watch = Watch(
            self, partial(_end_lost, self.ground, self._data_dir if self._own_dir else None)
        )
        for broker in self.brokers:
            broker.live_in(self._data_dir / f"broker-{broker.broker_id}")

    def _find_controller(self) -> Member | None:
        states = [(broker.state()["controller_epoch"], broker) for broker in self.running]
        active = [(epoch, each.broker_id) for epoch, each in states if epoch is not None]
        return self[max(active)[1]] if active else None

    def _controller_last(self) -> list[Member]:
        def is_controller(broker: Member) -> bool:
            return broker.is_running and broker.state()["controller_epoch"] is not None

        return sorted(self.brokers, key=is_controller)

    def _wait_for_leader(self, topic: str, partition: int, former: int) -> Member:
        def led() -> Member | None:
            leader = agreed_leader(self._links.reached(self.controller), topic, partition)
            return None if leader in (former, NO_LEADER) else self[leader]

        by = "" if former == NO_LEADER else f" other than {former}"
        return wait(led, lambda: f"{topic}-{partition} has no leader{by} that all brokers know")


def _sizes(brokers: int) -> dict[str, str]:
    """As many replicas as in a real cluster, if there are so many brokers.

    Who leads is for tests to say: it would be rebalanced 5 s after an election, and every 300 s.
    """
    replicas = str(min(brokers, MOST_REPLICAS))
    return {
        "auto.leader.rebalance.enable": "false",
        "default.replication.factor": replicas,
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": str(min(brokers, 2)),
    }


def _rack(racks: Sequence[str] | None, broker_id: int) -> dict[str, str]:
    return {} if racks is None else {"broker.rack": racks[broker_id]}


def _topics(broker: Member) -> list[object]:
    found: list[object] = broker.ask("GET", "/control/topics")["topics"]
    return found


def _end_lost(ground: Ground, folder: Path | None) -> None:
    """End a cluster that nobody can stop any more, and take its folder along."""
    for link in ground.links:
        end_lost(link, None)
    with suppress(Exception):
        ground.close()
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def _do_all(steps: Iterable[Callable[[], object]]) -> None:
    """Take every step, whatever becomes of the others; raises the first failure."""
    first: Exception | None = None
    for step in steps:
        try:
            step()
        except Exception as error:
            first = first or error
    if first is not None:
        raise first
