"""The broker under Spark: Barnabas, or Apache Kafka, whose answers the tests expect."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol

from kafka_server import ApacheKafka
from own_broker import OwnBroker

SETTINGS = {
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "log.cleaner.backoff.ms": "50",
    "log.cleaner.enable": "true",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
}
AGAINST = os.environ.get("BARNABAS_SPARK_AGAINST", "")


class SparkBroker(Protocol):
    """Runs from the start; its address and its data stay when it is stopped or killed."""

    address: str

    @property
    def data(self) -> Path: ...

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def kill(self) -> None: ...
    def close(self) -> None: ...


class Barnabas(OwnBroker):
    """Ours."""

    @property
    def data(self) -> Path:
        """Where its partitions are."""
        return self.folder / "data"

    def stop(self) -> None:
        """Stop it cleanly."""
        super().close()


def start_broker(folder: Path) -> SparkBroker:
    """Ours, or the release of Apache Kafka that the environment names."""
    if not AGAINST:
        return Barnabas(folder, [f"{name}={value}" for name, value in SETTINGS.items()])
    kafka = ApacheKafka(AGAINST, folder / "kafka", SETTINGS)
    kafka.start()
    return kafka
