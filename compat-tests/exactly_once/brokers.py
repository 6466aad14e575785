"""The broker under the check: ours or Apache Kafka's, behind a proxy, killed and started again."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Protocol

from kafka_server import ApacheKafka, free_ports
from own_broker import OwnBroker

INTERNAL_PARTITIONS = 4
SETTINGS = {
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "500",
    "offsets.topic.num.partitions": str(INTERNAL_PARTITIONS),
    "transaction.state.log.num.partitions": str(INTERNAL_PARTITIONS),
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}
ZOOKEEPER_SESSION_MS = 1_500


class Broker(Protocol):
    """Runs from the start. `data` is where its partitions are."""

    data: Path

    def kill(self) -> None: ...
    def start(self) -> None: ...
    def close(self) -> None: ...
    def complaints(self) -> str: ...


class Barnabas:
    """Ours."""

    def __init__(self, folder: Path, port: int, advertised: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        settings = [f"{name}={value}" for name, value in SETTINGS.items()]
        settings.append(f"advertised.listeners=PLAINTEXT://127.0.0.1:{advertised}")
        self._broker = OwnBroker(folder, settings, port)
        self.data = folder / "data"

    def kill(self) -> None:
        self._broker.kill()

    def start(self) -> None:
        self._broker.start()

    def close(self) -> None:
        self._broker.close()

    def complaints(self) -> str:
        return self._broker.complaints()


class Apache:
    """Theirs. It needs its old ZooKeeper session to be over before it starts again."""

    def __init__(self, version: str, folder: Path, port: int, advertised: int) -> None:
        settings = SETTINGS | {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{advertised}"}
        if version.startswith("3"):
            settings["zookeeper.session.timeout.ms"] = str(ZOOKEEPER_SESSION_MS)
        self._kafka = ApacheKafka(version, folder, settings, port)
        self.data = self._kafka.data
        self._kafka.start()

    def kill(self) -> None:
        self._kafka.kill()
        time.sleep(ZOOKEEPER_SESSION_MS * 2 / 1000)

    def start(self) -> None:
        self._kafka.start()

    def close(self) -> None:
        self._kafka.close()

    def complaints(self) -> str:
        return ""


def start_broker(kind: str, folder: Path, port: int, advertised: int) -> Broker:
    """`kind` is barnabas, or a version of Apache Kafka."""
    if kind == "barnabas":
        return Barnabas(folder, port, advertised)
    return Apache(kind, folder, port, advertised)


def two_ports() -> tuple[int, int]:
    """For the broker and for what stands before it."""
    first, second = free_ports(2)
    return first, second
