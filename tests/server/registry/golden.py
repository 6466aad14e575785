"""ZooKeeper traffic of Apache Kafka: `../shared/golden/zookeeper`, beside the repository."""

import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from barnabas.server.registry.bodies import ProtocolVersion

ZOOKEEPER = Path(__file__).resolve().parents[4] / "shared" / "golden" / "zookeeper"
PROTOCOLS: list[ProtocolVersion] = [(3, 9), (2, 6)]


@cache
def requests(protocol: ProtocolVersion) -> list[dict[str, Any]]:
    """Every request of the three brokers, and every event, in the order answered."""
    return _lines("requests", protocol)


@cache
def steps(protocol: ProtocolVersion) -> list[dict[str, Any]]:
    """What each step changed in the tree."""
    return _lines("trees", protocol)


@cache
def interbroker(protocol: ProtocolVersion) -> list[dict[str, Any]]:
    """Frames between the brokers, up to three of each kind per step."""
    return _lines("interbroker", protocol)


def bodies_of(protocol: ProtocolVersion) -> Iterator[tuple[str, bytes]]:
    """Return every body that was ever seen in the tree, with its path."""
    for step in steps(protocol):
        for path, znode in (step.get("added", {}) | step.get("changed", {})).items():
            if znode.get("data"):
                yield path, znode["data"].encode()


def _lines(name: str, protocol: ProtocolVersion) -> list[dict[str, Any]]:
    path = ZOOKEEPER / f"{name}-ibp{'.'.join(map(str, protocol))}.jsonl.gz"
    if not path.is_file():
        pytest.skip("the golden data is not beside the repository (../shared/golden)")
    with gzip.open(path, "rt") as lines:
        return [json.loads(line) for line in lines]
