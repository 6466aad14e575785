"""What brokers and tools ask of the controller, or tell it: bodies of short-lived znodes."""

import json
from collections.abc import Iterable, Mapping, Sequence

from barnabas.server.registry.bodies import to_json


def encode_partitions(partitions: Iterable[tuple[str, int]]) -> bytes:
    """Write a list of partitions: ISR change notifications, preferred replica elections."""
    listed = [{"topic": topic, "partition": partition} for topic, partition in partitions]
    return to_json({"version": 1, "partitions": listed}).encode()


def decode_partitions(data: bytes) -> list[tuple[str, int]]:
    """Read a list of partitions."""
    listed = json.loads(data)["partitions"]
    return [(entry["topic"], entry["partition"]) for entry in listed]


def encode_reassignment(targets: Mapping[tuple[str, int], Sequence[int]]) -> bytes:
    """Write the body of /admin/reassign_partitions."""
    listed = [
        {"topic": topic, "partition": partition, "replicas": list(replicas)}
        for (topic, partition), replicas in targets.items()
    ]
    return to_json({"version": 1, "partitions": listed}).encode()


def decode_reassignment(data: bytes) -> dict[tuple[str, int], list[int]]:
    """Read the body of /admin/reassign_partitions."""
    listed = json.loads(data)["partitions"]
    return {(entry["topic"], entry["partition"]): entry["replicas"] for entry in listed}


def encode_log_dir_event(broker_id: int) -> bytes:
    """Write the notice that a log directory of the broker has failed."""
    return b'{"version":1,"broker":%d,"event":1}' % broker_id


def decode_log_dir_event(data: bytes) -> int:
    """Read which broker lost a log directory."""
    broker_id: int = json.loads(data)["broker"]
    return broker_id
