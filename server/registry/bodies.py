"""The JSON bodies of Kafka's znodes, as Kafka 3.9 writes them.

Kafka lists partitions and settings in the order of its hash maps, which no reader minds: here
partitions stand by number, settings as they were given. Numbers that Kafka writes as strings are
strings. Reading accepts what any Kafka since 0.8 wrote. The registration of a broker
has a module of its own, `broker_body`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from barnabas.wire.uuids import Uuid

ProtocolVersion: TypeAlias = tuple[int, int]
"""An inter.broker.protocol.version such as (3, 9), which decides the version of some bodies."""

TOPIC_IDS_SINCE: ProtocolVersion = (2, 8)
FEATURE_VERSIONING_SINCE: ProtocolVersion = (2, 7)
FEATURE_VERSION_2_SINCE: ProtocolVersion = (3, 3)

PRODUCER_ID_BLOCK_SIZE = 1000


to_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


Replicas: TypeAlias = Mapping[int, Sequence[int]]
"""Partition index to broker ids."""

NO_LEVELS: Mapping[str, int] = MappingProxyType({})
NO_REPLICAS: Replicas = MappingProxyType({})


class TopicAssignment(NamedTuple):
    """Who holds which partition of a topic; the first replica is the preferred leader."""

    replicas: Replicas
    topic_id: Uuid | None = None
    adding_replicas: Replicas = NO_REPLICAS
    removing_replicas: Replicas = NO_REPLICAS


class PartitionState(NamedTuple):
    """Leader and in-sync replicas of a partition, and the epochs they were written in.

    `leader` is -1 without one; `leader_recovery_state` is 1 after an unclean election until the
    new leader has recovered (KIP-704).
    """

    leader: int
    leader_epoch: int
    isr: Sequence[int]
    controller_epoch: int
    leader_recovery_state: int = 0


class ControllerBody(NamedTuple):
    """Who is controller, and since when."""

    broker_id: int
    timestamp_ms: int


class ProducerIdBlock(NamedTuple):
    """The producer ids last handed out: `size` of them from `start`, to `broker_id`."""

    broker_id: int
    start: int
    size: int = PRODUCER_ID_BLOCK_SIZE


def encode_topic(topic: TopicAssignment) -> bytes:
    """Write the body of /brokers/topics/<topic>."""
    topic_id = f',"topic_id":"{topic.topic_id}"' if topic.topic_id is not None else ""
    return (
        f'{{"partitions":{_replicas(topic.replicas)}{topic_id}'
        f',"adding_replicas":{_replicas(topic.adding_replicas)}'
        f',"removing_replicas":{_replicas(topic.removing_replicas)},"version":3}}'
    ).encode()


def decode_topic(data: bytes) -> TopicAssignment:
    """Read the body of /brokers/topics/<topic>, any version."""
    body = json.loads(data)
    topic_id = body.get("topic_id")
    return TopicAssignment(
        _by_partition(body["partitions"]),
        None if topic_id is None else Uuid.from_text(topic_id),
        _by_partition(body.get("adding_replicas", {})),
        _by_partition(body.get("removing_replicas", {})),
    )


def encode_partition_state(state: PartitionState) -> bytes:
    """Write the body of .../partitions/<partition>/state."""
    recovery = ""
    if state.leader_recovery_state:
        recovery = f'"leader_recovery_state":{state.leader_recovery_state},'
    return (
        f'{{"controller_epoch":{state.controller_epoch},"leader":{state.leader},"version":1,'
        f'{recovery}"leader_epoch":{state.leader_epoch},"isr":{_ids(state.isr)}}}'
    ).encode()


def decode_partition_state(data: bytes) -> PartitionState:
    """Read the body of .../partitions/<partition>/state."""
    body = json.loads(data)
    return PartitionState(
        body["leader"],
        body["leader_epoch"],
        body["isr"],
        body["controller_epoch"],
        body.get("leader_recovery_state", 0),
    )


def encode_config(config: Mapping[str, str]) -> bytes:
    """Write the body of /config/<type>/<name>."""
    return to_json({"version": 1, "config": dict(config)}).encode()


def decode_config(data: bytes | None) -> dict[str, str]:
    """Read the body of /config/<type>/<name>; a path node without body has no config.

    Raises ValueError.
    """
    if not data:
        return {}
    body = json.loads(data)
    config = body.get("config", {}) if isinstance(body, dict) else None
    if not isinstance(config, dict) or not all(isinstance(text, str) for text in config.values()):
        raise ValueError("it holds no settings with their texts")
    return config


def encode_config_change(entity_path: str) -> bytes:
    """Write the body of /config/changes/config_change_<n>."""
    return to_json({"version": 2, "entity_path": entity_path}).encode()


def decode_config_change(data: bytes) -> str:
    """Read which entity a config change is about; version 1 was for topics and clients.

    Raises ValueError.
    """
    body = json.loads(data)
    try:
        if body["version"] == 1:
            return f"{body['entity_type']}/{body['entity_name']}"
        return str(body["entity_path"])
    except (KeyError, TypeError):
        raise ValueError("it names no entity") from None


def encode_controller(controller: ControllerBody) -> bytes:
    """Write the body of /controller."""
    return (
        f'{{"version":2,"brokerid":{controller.broker_id},'
        f'"timestamp":"{controller.timestamp_ms}","kraftControllerEpoch":-1}}'
    ).encode()


def decode_controller(data: bytes) -> ControllerBody:
    """Read the body of /controller."""
    body = json.loads(data)
    return ControllerBody(body["brokerid"], int(body["timestamp"]))


def encode_number(number: int) -> bytes:
    """Write a bare number: /controller_epoch and the offsets of old consumers."""
    return b"%d" % number


def decode_number(data: bytes | None) -> int:
    """Read a bare number; raises ValueError."""
    return int(data or b"")


def encode_cluster_id(cluster_id: str) -> bytes:
    """Write the body of /cluster/id, whose version is a string."""
    return to_json({"version": "1", "id": cluster_id}).encode()


def decode_cluster_id(data: bytes) -> str:
    """Read the body of /cluster/id."""
    cluster_id: str = json.loads(data)["id"]
    return cluster_id


def encode_feature(protocol: ProtocolVersion, levels: Mapping[str, int] = NO_LEVELS) -> bytes:
    """Write the body of /feature with these finalized levels by name (KIP-584)."""
    version = 2 if protocol >= FEATURE_VERSION_2_SINCE else 1
    status = 1 if protocol >= FEATURE_VERSIONING_SINCE else 0
    features: Mapping[str, object] = levels
    if version == 1:
        features = {
            name: {"min_version_level": 1, "max_version_level": level}
            for name, level in levels.items()
        }
    return to_json({"features": dict(features), "version": version, "status": status}).encode()


def decode_feature(data: bytes) -> dict[str, int]:
    """Read the finalized levels in the body of /feature, either version."""
    features = json.loads(data).get("features", {})
    return {
        name: level["max_version_level"] if isinstance(level, dict) else level
        for name, level in features.items()
    }


def encode_producer_id_block(block: ProducerIdBlock) -> bytes:
    """Write the body of /latest_producer_id_block; the ends are strings and inclusive."""
    return (
        f'{{"version":1,"broker":{block.broker_id},"block_start":"{block.start}",'
        f'"block_end":"{block.start + block.size - 1}"}}'
    ).encode()


def decode_producer_id_block(data: bytes) -> ProducerIdBlock:
    """Read the body of /latest_producer_id_block."""
    body = json.loads(data)
    start = int(body["block_start"])
    return ProducerIdBlock(body["broker"], start, int(body["block_end"]) - start + 1)


def _replicas(replicas: Replicas) -> str:
    entries = (f'"{partition}":{_ids(replicas[partition])}' for partition in sorted(replicas))
    return f"{{{','.join(entries)}}}"


def _ids(broker_ids: Iterable[int]) -> str:
    return f"[{','.join(map(str, broker_ids))}]"


def _by_partition(replicas: Mapping[str, list[int]]) -> Replicas:
    return {int(partition): listed for partition, listed in replicas.items()}
