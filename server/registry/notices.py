"""What brokers and tools ask of the controller, or tell it: bodies of short-lived znodes."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from barnabas.server.registry.bodies import to_json


def encode_partitions(partitions: Iterable[tuple[str, int]]) -> bytes:
    """Write a list of partitions: ISR change notifications, preferred replica elections."""
    listed = [{"topic": topic, "partition": partition} for topic, partition in partitions]
    return to_json({"version": 1, "partitions": listed}).encode()


def decode_partitions(data: bytes) -> list[tuple[str, int]]:
    """Read a list of partitions. Raises ValueError."""
    return [(entry["topic"], entry["partition"]) for entry in _listed(data)]


def encode_reassignment(targets: Mapping[tuple[str, int], Sequence[int]]) -> bytes:
    """Write the body of /admin/reassign_partitions."""
    listed = [
        {"topic": topic, "partition": partition, "replicas": list(replicas)}
        for (topic, partition), replicas in targets.items()
    ]
    return to_json({"version": 1, "partitions": listed}).encode()


def decode_reassignment(data: bytes) -> dict[tuple[str, int], list[int]]:
    """Read the body of /admin/reassign_partitions. Raises ValueError."""
    wanted = {}
    for entry in _listed(data):
        replicas = entry.get("replicas")
        if not isinstance(replicas, list) or not all(type(each) is int for each in replicas):
            raise ValueError("it does not name brokers")
        wanted[entry["topic"], entry["partition"]] = replicas
    return wanted


def encode_log_dir_event(broker_id: int) -> bytes:
    """Write the notice that a log directory of the broker has failed."""
    return b'{"version":1,"broker":%d,"event":1}' % broker_id


def decode_log_dir_event(data: bytes) -> int:
    """Read which broker lost a log directory. Raises ValueError."""
    body = json.loads(data)
    broker_id = body.get("broker") if isinstance(body, dict) else None
    if type(broker_id) is not int:
        raise ValueError("it names no broker")
    return broker_id


def _listed(data: bytes) -> list[dict[str, Any]]:
    """The partitions that a body lists. Raises ValueError."""
    body = json.loads(data)
    listed = body.get("partitions") if isinstance(body, dict) else None
    if not isinstance(listed, list) or not all(map(_is_partition, listed)):
        raise ValueError("it does not list partitions")
    return listed


def _is_partition(entry: object) -> bool:
    return (
        isinstance(entry, dict)
        and type(entry.get("topic")) is str
        and type(entry.get("partition")) is int
    )
