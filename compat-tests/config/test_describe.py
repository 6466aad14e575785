"""Describing a broker, entry by entry, beside Kafka's own ConfigHelper with the same settings."""

import json
from pathlib import Path
from typing import Any

import pytest
from oracles import run_java

from barnabas.server.settings.config import BrokerConfig
from barnabas.server.settings.describe import (
    ConfigEntry,
    describe_broker,
    describe_cluster_default,
)

STATIC = {
    "broker.id": "1",
    "message.max.bytes": "100000",
    "log.retention.minutes": "5",
    "super.users": "User:admin",
    "ssl.key.password": "hunter2",
    "listeners": "PLAINTEXT://:9092,INT://:9093",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INT:SSL",
    "listener.name.int.ssl.client.auth": "required",
    "log.cleaner.min.cleanable.ratio": "0.50",
    "log.cleaner.io.max.bytes.per.second": "12345678",
    "auto.create.topics.enable": "FALSE",
    "log.cleanup.policy": "compact, delete",
}
DEFAULT = {"message.max.bytes": "200000", "log.roll.ms": "77", "num.io.threads": "9"}
BROKER = {"message.max.bytes": "300000", "leader.replication.throttled.rate": "5"}
ONLY_KRAFT = {
    "process.roles": "broker",
    "node.id": "1",
    "controller.quorum.voters": "2@controller:9093",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,INT:SSL,CONTROLLER:PLAINTEXT",
}
ONLY_ZOOKEEPER = {"zookeeper.connect": "zk:2181"}

# What is not told alike, on purpose: KRaft's settings, which we refuse or never set, and node.id,
# which has a default here.
NOT_COMPARED = {"4.4.0": {*ONLY_KRAFT}, "3.9.1": set[str]()}


def _ask_kafka(version: str, folder: Path) -> list[dict[str, Any]]:
    extra = ONLY_KRAFT if version == "4.4.0" else ONLY_ZOOKEEPER
    files = []
    for name, properties in (("s", STATIC | extra), ("d", DEFAULT), ("b", BROKER)):
        file = folder / name
        file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        files.append(str(file))
    source = str(Path(__file__).parent / "DescribeOracle.java")
    printed = run_java(version, source, *files)
    answers = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    return [answer["results"][0] for answer in answers]


def _wire(entry: ConfigEntry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "value": entry.value,
        "readOnly": entry.read_only,
        "configSource": entry.source,
        "isSensitive": entry.is_sensitive,
        "synonyms": [
            {"name": s.name, "value": s.value, "source": s.source} for s in entry.synonyms
        ],
        "configType": entry.config_type,
        "documentation": None,
    }


@pytest.mark.parametrize("version", ["3.9.1", "4.4.0"])
def test_a_broker_is_described_as_kafka_describes_it(version: str, tmp_path: Path) -> None:
    of_broker, of_cluster = _ask_kafka(version, tmp_path)
    extra = ONLY_ZOOKEEPER if version == "3.9.1" else {}
    config = BrokerConfig({**STATIC, **extra, "barnabas.pose.as": version})
    config.set_dynamic(DEFAULT, BROKER)
    skipped = {*NOT_COMPARED[version], "barnabas.pose.as"}
    theirs = {e["name"]: e for e in of_broker["configs"] if e["name"] not in skipped}
    ours = {e.name: _wire(e) for e in describe_broker(config) if e.name not in skipped}
    assert len(theirs) > 300
    assert ours == theirs
    assert sorted((_wire(e) for e in describe_cluster_default(config)), key=_name) == sorted(
        of_cluster["configs"], key=_name
    )


def _name(entry: dict[str, Any]) -> str:
    name: str = entry["name"]
    return name
