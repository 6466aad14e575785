"""Three brokers with a ZooKeeper, ours or Apache Kafka 3.9.1, as processes that are measured.

They are those of `compat-tests/cluster`, without its wires. Sessions last six seconds. Questions
go by hand to a broker that runs, as in `raw.py`; ZooKeeper's own share is not counted.
"""

import contextlib
import shutil
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psutil
import raw
from peers import Kafka
from raw import Reader, string

sys.path.insert(1, str(Path(__file__).parents[2] / "compat-tests"))

from cluster.cluster import Cluster
from cluster.nodes import KINDS as NODES
from cluster.nodes import SESSION_MS, KafkaNode, Node

SESSION_S = SESSION_MS / 1000
KINDS = ("barnabas", "kafka")
HEAP = ("-Xms512m", "-Xmx512m")
PATIENCE_S = 180.0
SETTINGS = {
    "auto.leader.rebalance.enable": "false",
    "log.segment.bytes": str(1 << 30),
    "log.index.size.max.bytes": str(10 << 20),
    "replica.lag.time.max.ms": "30000",
}
METADATA, CREATE_TOPICS, PRODUCE = 3, 19, 0
ASK_S = 2.0


class KafkaAsShipped(KafkaNode):
    """Apache Kafka 3.9.1 with the flags of its start script, but for the heap."""

    def command(self) -> list[str]:
        java, *rest = super().command()
        quick = next(at for at, flag in enumerate(rest) if flag == "-cp")
        quiet = [flag for flag in rest[:quick] if flag.startswith("-Dlog4j")]
        flags = [flag for flag in Kafka.FLAGS if not flag.startswith(("-Xms", "-Xmx"))]
        return [java, *quiet, *HEAP, *flags, *rest[quick:]]


NODES["kafka"] = KafkaAsShipped


class Led(NamedTuple):
    """A partition as Metadata has it."""

    leader: int
    isr: list[int]


class Answer(NamedTuple):
    """What Metadata says: who is controller, and every partition asked for."""

    controller: int
    partitions: dict[tuple[str, int], Led]


class TimedOut(Exception):
    """What was waited for did not come."""


class Trio:
    """Runs; its brokers have the ids 1, 2, 3."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    @property
    def nodes(self) -> dict[int, Node]:
        return self.cluster.nodes

    def cpu_seconds(self) -> float:
        """Of all three together, since they were started."""
        return sum(_cpu_seconds(node) for node in self.nodes.values())

    def resident_megabytes(self) -> list[float]:
        """Of each."""
        return [
            sum(each.memory_info().rss for each in _tree(node)) / 1e6
            for node in self.nodes.values()
        ]

    def ask(self, *topics: str) -> Answer | None:
        """Metadata v1 from whichever broker answers first."""
        return next(self.ask_each(*topics), None)

    def ask_each(self, *topics: str) -> Iterator[Answer]:
        """Metadata v1 from each broker that answers."""
        body = struct.pack(">i", len(topics)) + b"".join(map(string, topics))
        for node in self.nodes.values():
            if node.is_wanted and not node.is_paused:
                with contextlib.suppress(OSError, raw.RawError):
                    with raw.Connection(node.address, ASK_S) as connection:
                        yield _read_metadata(connection.call(METADATA, 1, body))

    def wait_for(self, topics: Mapping[str, int], holds: Callable[[Led], bool]) -> None:
        """Until every partition of the topics (name -> count) is as it should. Raises TimedOut."""
        deadline = time.monotonic() + PATIENCE_S
        wanted = sum(topics.values())
        while time.monotonic() < deadline:
            answer = self.ask(*topics)
            if answer and sum(map(holds, answer.partitions.values())) == wanted:
                return
            time.sleep(0.01)
        raise TimedOut(f"partitions of {', '.join(topics)}: {answer}")

    def wait_until_in_sync(self, topics: Mapping[str, int]) -> None:
        """Until each has three replicas in sync. Raises TimedOut."""
        self.wait_for(topics, lambda led: len(led.isr) == len(self.nodes) and led.leader > 0)

    def wait_until_known(self, topics: Mapping[str, int]) -> None:
        """Until every broker says who leads each. Raises TimedOut."""
        deadline, wanted = time.monotonic() + PATIENCE_S, sum(topics.values()) * len(self.nodes)
        while True:
            answers = self.ask_each(*topics)
            if wanted == sum(
                led.leader > 0 for each in answers for led in each.partitions.values()
            ):
                return
            if time.monotonic() > deadline:
                raise TimedOut(f"all brokers to know {', '.join(topics)}")
            time.sleep(0.01)

    def create(self, assigned: Mapping[str, list[list[int]]]) -> None:
        """Topics with the replicas of each partition, by the controller. Raises TimedOut."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.try_to_create(assigned):
            if time.monotonic() > deadline:
                raise TimedOut(f"creating {', '.join(assigned)}")
            time.sleep(0.01)

    def try_to_create(self, assigned: Mapping[str, list[list[int]]]) -> bool:
        """CreateTopics v4, once, to whoever is said to be controller."""
        answer = self.ask()
        node = self.nodes.get(answer.controller) if answer else None
        if node is None or not node.is_wanted:
            return False
        body = struct.pack(">i", len(assigned))
        for topic, partitions in assigned.items():
            body += string(topic) + struct.pack(">ihi", -1, -1, len(partitions))
            for index, replicas in enumerate(partitions):
                body += struct.pack(f">ii{len(replicas)}i", index, len(replicas), *replicas)
            body += struct.pack(">i", 0)
        body += struct.pack(">i?", 60_000, False)
        try:
            with raw.Connection(node.address, PATIENCE_S) as connection:
                answered = connection.call(CREATE_TOPICS, 4, body)
        except (OSError, raw.RawError):
            return False
        reply = Reader(answered)
        reply.number(">i")  # throttle time
        codes = []
        for _ in range(reply.number(">i")):
            reply.string()
            codes.append(reply.number(">h"))
            reply.string()
        return not any(codes)


class Prober:
    """Appends one record after the other to a partition with acks=all, wherever its leader is."""

    def __init__(self, trio: Trio, topic: str, batch: bytes) -> None:
        self._trio, self._topic = trio, topic
        head = struct.pack(">hhii", -1, -1, 5_000, 1) + string(topic)
        self._body = head + struct.pack(">iii", 1, 0, len(batch)) + batch
        self._connection: raw.Connection | None = None
        self.failed = 0

    def append(self) -> None:
        """Until one is acknowledged. Raises TimedOut."""
        deadline = time.monotonic() + PATIENCE_S
        while not self._try():
            self.failed += 1
            if time.monotonic() > deadline:
                raise TimedOut(f"nobody takes a record of {self._topic}")
            time.sleep(0.005)

    def _try(self) -> bool:
        try:
            if self._connection is None and not self._connect():
                return False
            assert self._connection is not None
            reply = Reader(self._connection.call(PRODUCE, 3, self._body))
        except (OSError, raw.RawError):
            self._connection = None
            return False
        reply.number(">i")
        reply.string()
        reply.number(">i")
        reply.number(">i")
        if reply.number(">h"):
            self._connection = None
            return False
        return True

    def _connect(self) -> bool:
        answer = self._trio.ask(self._topic)
        led = answer.partitions.get((self._topic, 0)) if answer else None
        node = self._trio.nodes.get(led.leader) if led else None
        if node is None or not node.is_wanted:
            return False
        self._connection = raw.Connection(node.address, ASK_S)
        return True


@contextmanager
def running_trio(kind: str, settings: Mapping[str, str] | None = None) -> Iterator[Trio]:
    """Three brokers of a kind (of KINDS), for the length of a block; their data goes with them."""
    folder = Path(tempfile.mkdtemp(prefix=f"barnabas-bench-{kind}-"))
    more = SETTINGS | dict(settings or {})
    cluster = Cluster([kind] * 3, folder, more, has_links=False)
    try:
        cluster.start()
        yield Trio(cluster)
    finally:
        cluster.close()
        shutil.rmtree(folder, ignore_errors=True)


def _read_metadata(body: bytes) -> Answer:
    reader = Reader(body)
    for _ in range(reader.number(">i")):
        reader.number(">i")
        reader.string()
        reader.number(">i")
        reader.string()
    controller = reader.number(">i")
    found = {}
    for _ in range(reader.number(">i")):
        reader.number(">h")
        topic = reader.string()
        reader.number(">?")
        for _ in range(reader.number(">i")):
            reader.number(">h")
            index, leader = reader.number(">i"), reader.number(">i")
            _ids(reader)
            found[topic, index] = Led(leader, _ids(reader))
    return Answer(controller, found)


def _ids(reader: Reader) -> list[int]:
    return [reader.number(">i") for _ in range(reader.number(">i"))]


def _tree(node: Node) -> list[psutil.Process]:
    if node.process is None:
        return []
    own = psutil.Process(node.process.pid)
    return [own, *own.children(recursive=True)]


def _cpu_seconds(node: Node) -> float:
    used = 0.0
    for each in _tree(node):
        times = each.cpu_times()
        used += times.user + times.system + times.children_user + times.children_system
    return used
