"""What is compared: brokers, each started as users start it, measured from outside.

A peer owns its data directory and its process. CPU seconds are user plus system of the whole
process tree, children that have ended included; resident memory is the tree's sum.
"""

import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from pathlib import Path

import psutil
import raw

from barnabas.server.testing.zookeeper import ZookeeperServer

ROOT = Path(__file__).parents[2]
JARS = ROOT / ".oracles" / "jars-4.4.0"
START_TIMEOUT_SECONDS = 120
JARS_3_9 = ROOT / ".oracles" / "jars-3.9.1"
DELETE_DELAY_SECONDS = 1.0
SMALL = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.backoff.ms": "500",
    "log.segment.delete.delay.ms": f"{DELETE_DELAY_SECONDS * 1000:.0f}",
}


class PeerError(Exception):
    """A broker did not start."""


class Peer(ABC):
    """One broker process over a data directory that outlives restarts."""

    name: str
    is_broker = True  # or takes batches and nothing else

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"barnabas-bench-{self.name.lower()}-"))
        self.log = self.folder / "output.log"
        self.address = ""
        self.start_seconds = 0.0
        self.start_cpu_seconds = 0.0
        self._process: psutil.Popen | None = None

    @abstractmethod
    def command(self) -> list[str]:
        """The command line; called before every start."""

    @abstractmethod
    def find_address(self) -> str:
        """The host:port it listens on, empty while that is not known."""

    def start(self) -> None:
        """Starts it and notes how long the first ApiVersions answer took."""
        command = self.command()
        with self.log.open("wb") as log:
            started = time.perf_counter()
            self._process = psutil.Popen(command, cwd=ROOT, stdout=log, stderr=log)
        while not (address := self.find_address()):
            self.check_alive(started)
            time.sleep(0.001)
        self.address = address
        while not self.answers():
            self.check_alive(started)
            time.sleep(0.001)
        self.start_seconds = time.perf_counter() - started
        self.start_cpu_seconds = self.cpu_seconds()

    def answers(self) -> bool:
        """Whether it serves requests now."""
        return raw.answers(self.address)

    def check_alive(self, started: float) -> None:
        if self.process.poll() is not None or time.perf_counter() - started > START_TIMEOUT_SECONDS:
            tail = self.log.read_text(errors="replace")[-800:]
            raise PeerError(f"{self.name} did not start: {tail}")

    @property
    def process(self) -> psutil.Popen:
        if self._process is None:
            raise PeerError(f"{self.name} is not running")
        return self._process

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def cpu_seconds(self) -> float:
        own = self.process.cpu_times()
        used = own.user + own.system + own.children_user + own.children_system
        for child in self.process.children(recursive=True):
            times = child.cpu_times()
            used += times.user + times.system
        return float(used)

    def resident_megabytes(self) -> float:
        tree = [self.process, *self.process.children(recursive=True)]
        return sum(member.memory_info().rss for member in tree) / 1e6

    def stop(self) -> None:
        """A clean shutdown; returns when the process has gone."""
        self.process.send_signal(signal.SIGTERM)
        self._gone()

    def kill(self) -> None:
        """kill -9 of the whole process tree."""
        for member in [*self.process.children(recursive=True), self.process]:
            member.kill()
        self._gone()

    def _gone(self) -> None:
        self.process.wait(timeout=START_TIMEOUT_SECONDS)
        self._process = None

    def discard(self) -> None:
        """Ends it for good and removes its data."""
        if self.is_running():
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Kafka(Peer):
    """Apache Kafka 4.4.0: one node in KRaft mode, 1 GB heap, the flags of its start script."""

    name = "Kafka"
    FLAGS = (
        "-Xms1G -Xmx1G -server -XX:+UseG1GC -XX:MaxGCPauseMillis=20"
        " -XX:InitiatingHeapOccupancyPercent=35 -XX:+ExplicitGCInvokesConcurrent"
        " -Djava.awt.headless=true"
    ).split()

    def command(self) -> list[str]:
        if not JARS.is_dir():
            raise PeerError("Apache Kafka is not here: run scripts/oracles first")
        properties = self.folder / "server.properties"
        if not properties.exists():
            self._format(properties)
        return ["java", *self.FLAGS, "-cp", f"{JARS}/*", "kafka.Kafka", str(properties)]

    def find_address(self) -> str:
        return f"127.0.0.1:{self._port}"

    def _format(self, properties: Path) -> None:
        self._port, controller_port = _free_ports(2)
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://127.0.0.1:{self._port},"
            f"CONTROLLER://127.0.0.1:{controller_port}",
            "log.dirs": str(self.folder / "data"),
            **SMALL,
        }
        properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        cluster_id = "YmFybmFiYXNiZW5jaG1hcg"
        tool = ["java", "-cp", f"{JARS}/*", "kafka.tools.StorageTool"]
        subprocess.run(
            [*tool, "format", "-t", cluster_id, "-c", str(properties)],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


class Barnabas(Peer):
    """This broker, as `barnabas start` runs it; what it prints first names the port."""

    name = "Barnabas"

    def command(self) -> list[str]:
        start = [sys.executable, "-m", "barnabas", "start", "--listen", "127.0.0.1:0"]
        settings = (
            "group.initial.rebalance.delay.ms=0",
            "log.cleaner.backoff.ms=500",
            f"log.segment.delete.delay.ms={DELETE_DELAY_SECONDS * 1000:.0f}",
        )
        flags = [part for setting in settings for part in ("--set", setting)]
        return [*start, "--data-dir", str(self.folder / "data"), *flags]

    def find_address(self) -> str:
        found = re.search(r"127\.0\.0\.1:\d+", self.log.read_text(errors="replace"))
        return found[0] if found else ""


class Bare(Peer):
    """`bare.py`: no broker, but the floor that one in Python stands on."""

    name = "Bare"
    is_broker = False

    def command(self) -> list[str]:
        return [sys.executable, str(Path(__file__).parent / "bare.py"), str(self.folder / "log")]

    def find_address(self) -> str:
        return self.log.read_text(errors="replace").strip()

    def answers(self) -> bool:
        return True


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [open_socket.getsockname()[1] for open_socket in sockets]
    for open_socket in sockets:
        open_socket.close()
    return ports


class BarnabasOnZookeeper(Barnabas):
    """The same with an Apache ZooKeeper as its registry, which is not counted."""

    def __init__(self) -> None:
        super().__init__()
        self._zookeeper = ZookeeperServer(self.folder / "zookeeper", jars=JARS_3_9)
        self._zookeeper.start()

    def command(self) -> list[str]:
        connect = f"zookeeper.connect={self._zookeeper.address}/bench"
        return [*super().command(), "--set", connect, "--set", "broker.id=1"]

    def discard(self) -> None:
        super().discard()
        self._zookeeper.stop()


class KafkaOnZookeeper(Kafka):
    """Apache Kafka 3.9.1 with an Apache ZooKeeper, which is not counted."""

    def __init__(self) -> None:
        super().__init__()
        self._zookeeper = ZookeeperServer(self.folder / "zookeeper", jars=JARS_3_9)
        self._zookeeper.start()

    def command(self) -> list[str]:
        properties = self.folder / "server.properties"
        if not properties.exists():
            (self._port,) = _free_ports(1)
            settings = {
                "broker.id": "1",
                "zookeeper.connect": f"{self._zookeeper.address}/bench",
                "listeners": f"PLAINTEXT://127.0.0.1:{self._port}",
                "log.dirs": str(self.folder / "data"),
                **SMALL,
            }
            properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        return ["java", *self.FLAGS, "-cp", f"{JARS_3_9}/*", "kafka.Kafka", str(properties)]

    def discard(self) -> None:
        super().discard()
        self._zookeeper.stop()


PEERS: dict[str, type[Peer]] = {"barnabas": Barnabas, "kafka": Kafka, "bare": Bare}
ZOOKEEPER_PEERS: dict[str, type[Peer]] = {
    "barnabas": BarnabasOnZookeeper,
    "kafka": KafkaOnZookeeper,
}
