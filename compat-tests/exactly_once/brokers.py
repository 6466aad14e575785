"""The broker under the check: ours or Apache Kafka's, behind a proxy, killed and started again."""

from __future__ import annotations

import json
import time
import urllib.request
from pathlib import Path
from random import Random
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
MARKER_FAULTS = ("drop", "close", "close_after", "delay")


class Broker(Protocol):
    """Runs from the start. `data` is where its partitions are."""

    data: Path

    def kill(self) -> None: ...
    def start(self) -> None: ...
    def close(self) -> None: ...
    def complaints(self) -> str: ...
    def lose_markers(self, chance: Random) -> None: ...


class Barnabas:
    """Ours, as itself or posing as a release. It asks itself for markers: no proxy sees that."""

    def __init__(self, pose: str, folder: Path, port: int, advertised: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (self._control,) = free_ports(1)
        settings = SETTINGS | {
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{advertised}",
            "barnabas.http.port": str(self._control),
            "barnabas.http.control": "true",
        }
        if pose:
            settings["barnabas.pose.as"] = pose
        lines = [f"{name}={value}" for name, value in settings.items()]
        self._broker = OwnBroker(folder, lines, port)
        self.data = folder / "data"

    def kill(self) -> None:
        self._broker.kill()

    def start(self) -> None:
        self._broker.start()

    def close(self) -> None:
        self._broker.close()

    def complaints(self) -> str:
        return self._broker.complaints()

    def lose_markers(self, chance: Random) -> None:
        """The next few are delayed, or lost before or after they are written."""
        fault = {"action": chance.choice(MARKER_FAULTS), "api": "WRITE_TXN_MARKERS"}
        fault |= {"times": chance.randrange(1, 6), "delay_ms": chance.randrange(1, 2_000)}
        if fault["action"] != "delay":
            del fault["delay_ms"]
        address = f"http://127.0.0.1:{self._control}/control/faults"
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(address, json.dumps(fault).encode(), headers)
        urllib.request.urlopen(request, timeout=10).close()


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

    def lose_markers(self, chance: Random) -> None:
        """They come by the proxy."""


def start_broker(kind: str, folder: Path, port: int, advertised: int) -> Broker:
    """`kind` is barnabas, the same with -4.4 as what it poses as, or a version of Apache Kafka."""
    if kind.startswith("barnabas"):
        pose = kind.removeprefix("barnabas").removeprefix("-")
        return Barnabas(pose, folder, port, advertised)
    return Apache(kind, folder, port, advertised)


def two_ports() -> tuple[int, int]:
    """For the broker and for what stands before it."""
    first, second = free_ports(2)
    return first, second
