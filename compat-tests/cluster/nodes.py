"""A broker process of the cluster: ours or Apache Kafka's, on a data directory that outlives it.

Clients reach it at its CLIENT listener, brokers at INTERNAL, which it advertises as the end of a
wire (`links.py`).
"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import NamedTuple

from kafka_server import QUIET_LOGGING
from oracles import java_command, require_oracle

STOP_S = 60.0
START_S = 300.0  # of a JVM beside a run of CI
SESSION_MS = 6_000
INTERNAL_PARTITIONS = 4
SETTINGS = {
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "true",
    "leader.imbalance.check.interval.seconds": "20",
    "controlled.shutdown.retry.backoff.ms": "500",
    "default.replication.factor": "3",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    "inter.broker.listener.name": "INTERNAL",
    "listener.security.protocol.map": "CLIENT:PLAINTEXT,INTERNAL:PLAINTEXT",
    "log.cleaner.enable": "false",
    "log.segment.bytes": str(4 << 20),
    "log.index.size.max.bytes": str(1 << 20),
    "min.insync.replicas": "2",
    "num.recovery.threads.per.data.dir": "1",
    "offsets.topic.num.partitions": str(INTERNAL_PARTITIONS),
    "offsets.topic.replication.factor": "3",
    "replica.lag.time.max.ms": "5000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "transaction.state.log.min.isr": "2",
    "transaction.state.log.num.partitions": str(INTERNAL_PARTITIONS),
    "transaction.state.log.replication.factor": "3",
    "unclean.leader.election.enable": "false",
    "zookeeper.session.timeout.ms": str(SESSION_MS),
    "zookeeper.connection.timeout.ms": "30000",
}


EXPECTED_ERRORS = (
    "the session with the registry has ended",
    "an event failed and is tried again",
)
"""What a broker may well log while ZooKeeper is away."""


class Ports(NamedTuple):
    """Where a broker listens for clients and for brokers, and what it advertises to the latter."""

    client: int
    internal: int
    advertised: int


class NotStarted(AssertionError):
    """The broker ended, or does not listen in time; the end of its log."""


class Node(ABC):
    """One broker; not started."""

    def __init__(
        self, broker_id: int, folder: Path, ports: Ports, zookeeper: str, settings: dict[str, str]
    ) -> None:
        self.broker_id = broker_id
        self.folder = folder
        self.data = folder / "data"
        self.ports = ports
        self.is_wanted = False
        """It is to run: whoever looks after it starts it again if it ends."""
        self.is_paused = False
        self.exits = 0
        self.settings = (
            SETTINGS
            | settings
            | {
                "broker.id": str(broker_id),
                "listeners": f"CLIENT://127.0.0.1:{ports.client},INTERNAL://127.0.0.1:{ports.internal}",
                "advertised.listeners": f"CLIENT://127.0.0.1:{ports.client},"
                f"INTERNAL://127.0.0.1:{ports.advertised}",
                "log.dirs": str(self.data),
                "zookeeper.connect": zookeeper,
            }
        )
        self.process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)

    @abstractmethod
    def command(self) -> list[str]:
        """What to run."""

    @abstractmethod
    def complaints(self) -> list[str]:
        """What it has logged that should not be in a log."""

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.ports.client}"

    @property
    def log(self) -> Path:
        return self.folder / "output.log"

    @property
    def pid(self) -> int | None:
        return None if self.process is None else self.process.pid

    def spawn(self) -> None:
        """Start it, and do not wait."""
        self.is_wanted = True
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                self.command(), cwd=self.folder, stdout=output, stderr=output
            )

    def look(self) -> None:
        """Start it again if it has ended by itself: Apache Kafka does if its session lives on."""
        if self.is_wanted and self.process is not None and self.process.poll() is not None:
            self.exits += 1
            self.spawn()

    def start(self) -> None:
        """Start it and wait until it listens. Raises NotStarted."""
        self.spawn()
        self.wait()

    def wait(self) -> None:
        """Until it listens, started again as often as it takes. Raises NotStarted."""
        deadline = time.monotonic() + START_S
        while not listens(self.ports.client):
            self.look()
            if time.monotonic() > deadline:
                tail = self.log.read_text(errors="replace")[-3000:]
                raise NotStarted(f"broker {self.broker_id}:\n{tail}")
            time.sleep(0.05)

    def kill(self) -> None:
        """SIGKILL."""
        self.is_wanted = self.is_paused = False
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def terminate(self) -> None:
        """SIGTERM, and do not wait: it is not to run any more."""
        self.is_wanted = False
        if self.process is not None:
            self.resume()
            self.process.terminate()

    def stop(self) -> bool:
        """SIGTERM, and wait; whether it ended in time by itself."""
        self.terminate()
        if self.process is None:
            return True
        try:
            self.process.wait(STOP_S)
            return True
        except subprocess.TimeoutExpired:
            return False
        finally:
            self.kill()

    def pause(self) -> None:
        """SIGSTOP."""
        if self.process is not None and self.process.poll() is None:
            self.is_paused = True
            self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        if self.is_paused and self.process is not None:
            self.process.send_signal(signal.SIGCONT)
        self.is_paused = False


class KafkaNode(Node):
    """Apache Kafka 3.9.1 in ZooKeeper mode."""

    HEAP = "512m"

    def command(self) -> list[str]:
        properties = self.folder / "server.properties"
        properties.write_text("".join(f"{name}={at}\n" for name, at in self.settings.items()))
        (self.folder / "log4j.properties").write_text(QUIET_LOGGING)
        jars = require_oracle("jars-3.9.1")
        java, *rest = java_command(jars, "kafka.Kafka", str(properties), heap=self.HEAP)
        return [java, f"-Dlog4j.configuration=file:{self.folder / 'log4j.properties'}", *rest]

    def complaints(self) -> list[str]:
        return []  # it logs errors whenever a peer does not answer


class BarnabasNode(Node):
    """Ours."""

    def command(self) -> list[str]:
        properties = self.folder / "server.properties"
        properties.write_text("".join(f"{name}={at}\n" for name, at in self.settings.items()))
        return [sys.executable, "-m", "barnabas", "start", "--config", str(properties)]

    def complaints(self) -> list[str]:
        from tests.broker_output import complaints_in

        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return [
            said
            for said in complaints_in(text)
            if not any(expected in said for expected in EXPECTED_ERRORS)
        ]


KINDS: dict[str, type[Node]] = {"barnabas": BarnabasNode, "3.9.1": KafkaNode}


def listens(port: int) -> bool:
    """Whether anybody does, of 127.0.0.1."""
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
