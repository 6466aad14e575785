"""Apache Kafka itself as a server: 3.9.1 in ZooKeeper mode, 4.4.0 in KRaft mode, one node.

Both run from the jars in `.oracles`, with settings that make a small broker start quickly and
leave its logs alone. A stopped server starts again on the same data directory and port.
"""

from __future__ import annotations

import random
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from oracles import java_command, require_oracle, stop

PATIENCE_SECONDS = 90.0
PORTS = (11_000, 32_000)  # Linux gives connections 32768 and up
CLUSTER_ID = "YmFybmFiYXMtaXMtaGVyZQ"
SETTINGS = {
    "broker.id": "1",
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.enable": "false",
    "log.retention.ms": "-1",
    "num.io.threads": "2",
    "num.network.threads": "1",
    "num.recovery.threads.per.data.dir": "1",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
}
QUIET_LOGGING = """\
log4j.rootLogger=WARN, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d %p %m (%c)%n
"""


class ApacheKafka:
    """One node of one release, with a ZooKeeper of its own where the release needs one."""

    def __init__(
        self,
        version: str,
        folder: Path,
        settings: dict[str, str] | None = None,
        port: int | None = None,
    ) -> None:
        self.version = version
        self.data = folder / "data"
        free_port, self._controller_port, self._zookeeper_port = free_ports(3)
        self.port = port or free_port
        self.address = f"127.0.0.1:{self.port}"
        self._jars = require_oracle(f"jars-{version}")
        self._folder = folder
        self._settings = SETTINGS | (settings or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._zookeeper: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "log4j.properties").write_text(QUIET_LOGGING)
        if version.startswith("3"):
            self._configure_zookeeper_mode()
        else:
            self._configure_kraft_mode()

    @property
    def output(self) -> Path:
        """What the broker has logged."""
        return self._folder / "output.log"

    # --- setting up --------------------------------------------------------------------

    def _write(self, name: str, settings: dict[str, str]) -> Path:
        path = self._folder / name
        path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        return path

    def _configure_zookeeper_mode(self) -> None:
        self._write(
            "zookeeper.properties",
            {
                "dataDir": str(self._folder / "zookeeper"),
                "clientPort": str(self._zookeeper_port),
                "clientPortAddress": "127.0.0.1",
                "admin.enableServer": "false",
                "tickTime": "500",
            },
        )
        self._write(
            "server.properties",
            self._settings
            | {
                "listeners": f"PLAINTEXT://{self.address}",
                "log.dirs": str(self.data),
                "zookeeper.connect": f"127.0.0.1:{self._zookeeper_port}",
            },
        )

    def _configure_kraft_mode(self) -> None:
        controller = f"127.0.0.1:{self._controller_port}"
        settings = {name: value for name, value in self._settings.items() if name != "broker.id"}
        path = self._write(
            "server.properties",
            settings
            | {
                "process.roles": "broker,controller",
                "node.id": self._settings["broker.id"],
                "controller.quorum.voters": f"{self._settings['broker.id']}@{controller}",
                "controller.listener.names": "CONTROLLER",
                "listeners": f"PLAINTEXT://{self.address},CONTROLLER://{controller}",
                "log.dirs": str(self.data),
            },
        )
        command = self._java("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(path))
        subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_SECONDS)

    def _java(self, *program: str, heap: str = "512m") -> list[str]:
        command = java_command(self._jars, *program, heap=heap)
        quiet = f"-Dlog4j.configuration=file:{self._folder / 'log4j.properties'}"
        return [command[0], quiet, *command[1:]]

    # --- running -----------------------------------------------------------------------

    def start(self) -> None:
        """Start it, and its ZooKeeper the first time; returns once it answers."""
        if self.version.startswith("3") and self._zookeeper is None:
            self._zookeeper = self._spawn(
                "zookeeper.log",
                "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                str(self._folder / "zookeeper.properties"),
            )
        self._process = self._spawn(
            "output.log", "kafka.Kafka", str(self._folder / "server.properties")
        )
        self._wait_until_it_answers()

    def _spawn(self, log: str, *program: str) -> subprocess.Popen[bytes]:
        with (self._folder / log).open("ab") as output:
            return subprocess.Popen(
                self._java(*program), cwd=self._folder, stdout=output, stderr=output
            )

    def _wait_until_it_answers(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self._listens():
            if self._process.poll() is not None or time.monotonic() > deadline:
                tail = self.output.read_text(errors="replace")[-3000:]
                pytest.fail(f"Apache Kafka {self.version} did not start:\n{tail}")
            time.sleep(0.05)
        admin = AdminClient({"bootstrap.servers": self.address, "log_level": 0})
        while True:
            try:
                if admin.list_topics(timeout=5).brokers:
                    return
            except KafkaException:
                pass
            assert time.monotonic() < deadline, f"Apache Kafka {self.version} does not answer"

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def stop(self) -> None:
        """Stop it cleanly; its ZooKeeper stays."""
        assert self._process is not None
        self._process.terminate()
        self._process.wait(PATIENCE_SECONDS)
        self._process = None

    def kill(self) -> None:
        """SIGKILL to the broker; its ZooKeeper stays."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._process = None

    def close(self) -> None:
        """End every process, by force if need be, and remove the folder."""
        for process in (self._process, self._zookeeper):
            if process is not None:
                stop(process)
        self._process = self._zookeeper = None
        shutil.rmtree(self._folder, ignore_errors=True)


@contextmanager
def running_kafka(
    version: str, folder: Path, settings: dict[str, str] | None = None
) -> Iterator[ApacheKafka]:
    """A node that runs, for the length of a block."""
    kafka = ApacheKafka(version, folder, settings)
    try:
        kafka.start()
        yield kafka
    finally:
        kafka.close()


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, outside the range from which connections get theirs.

    A port of that range may be taken by a connection, of another test process perhaps, before
    the server for which it was found has started, or while it is stopped.
    """
    found: list[int] = []
    while len(found) < count:
        port = random.randrange(*PORTS)
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        if port not in found:
            found.append(port)
    return found
