"""Settings of topics, brokers, loggers and groups over the protocol.

kafka-python's own methods hide error codes and know no cluster-wide default of brokers, so
these speak its requests directly. A broker's settings are asked of that broker itself.
"""

from typing import Any, NamedTuple

from barnabas.server.cli.connection import Cluster, problem
from barnabas.server.cli.failures import Failure, did_you_mean
from barnabas.server.cli.kafka_python import kafka
from barnabas.server.cli.output import Row

TOPIC, BROKER, BROKER_LOGGER, GROUP = "topic", "broker", "broker-logger", "group"
TYPES = {TOPIC: 2, BROKER: 4, BROKER_LOGGER: 8, GROUP: 32}
OPERATION_SET, OPERATION_DELETE = 0, 1
INVALID_CONFIG = 40
MIN_IN_SYNC = "min.insync.replicas"
TOPICS_PER_REQUEST = 500
SOURCES = {
    1: "topic",
    2: "broker",
    3: "cluster",
    4: "file",
    5: "default",
    6: "logger",
    7: "client metrics",
    8: "group",
}


class Resource(NamedTuple):
    """What has settings: its kind and its name; "" for all brokers."""

    kind: str
    name: str

    @property
    def node_id(self) -> int | None:
        """The broker that has to be asked; any for None."""
        is_of_one_broker = self.kind in (BROKER, BROKER_LOGGER) and self.name
        return int(self.name) if is_of_one_broker else None

    def __str__(self) -> str:
        return f"{self.kind} {self.name or 'default'}"


def settings_of(cluster: Cluster, resource: Resource, names: list[str] | None) -> list[Row]:
    """Settings with their values and where those come from; all without names."""
    request = kafka("protocol.admin").DescribeConfigsRequest(
        resources=[(TYPES[resource.kind], resource.name, names)], include_synonyms=False
    )
    result = cluster.send(request, resource.node_id).results[0]
    if result.error_code:
        raise Failure(f"{resource}: {problem(result.error_code, result.error_message)}")
    return sorted((_row(entry.to_dict()) for entry in result.configs), key=lambda r: str(r["name"]))


def least_in_sync(cluster: Cluster, topics: list[str]) -> dict[str, int]:
    """Each topic's min.insync.replicas; one that may not be read, or is gone, is left out."""
    return {name: int(value) for name, value in topic_setting(cluster, topics, MIN_IN_SYNC).items()}


def topic_setting(cluster: Cluster, topics: list[str], setting: str) -> dict[str, str]:
    """One setting of each topic; those that may not be read, or are gone, are left out."""
    found: dict[str, str] = {}
    for start in range(0, len(topics), TOPICS_PER_REQUEST):
        some = topics[start : start + TOPICS_PER_REQUEST]
        request = kafka("protocol.admin").DescribeConfigsRequest(
            resources=[(TYPES[TOPIC], name, [setting]) for name in some],
            include_synonyms=False,
        )
        for result in cluster.send(request).results:
            for entry in result.configs if not result.error_code else ():
                found[result.resource_name] = entry.value
    return found


def _row(entry: dict[str, Any]) -> Row:
    source = entry.get("config_source", 5 if entry.get("is_default") else 1)
    return {
        "name": entry["name"],
        "value": entry["value"],
        "source": SOURCES.get(source, "unknown"),
        "read_only": entry["read_only"],
        "sensitive": entry["is_sensitive"],
    }


def alter_settings(
    cluster: Cluster, resource: Resource, wanted: dict[str, str], unwanted: tuple[str, ...]
) -> None:
    """Set some and unset others, all or none of them."""
    changes: list[tuple[str, int, str | None]] = [
        (name, OPERATION_SET, value) for name, value in wanted.items()
    ]
    changes += [(name, OPERATION_DELETE, None) for name in unwanted]
    request = kafka("protocol.admin").IncrementalAlterConfigsRequest(
        resources=[(TYPES[resource.kind], resource.name, changes)], validate_only=False
    )
    result = cluster.send(request, resource.node_id).responses[0]
    if not result.error_code:
        return
    reason = problem(result.error_code, result.error_message)
    hint = _suggestion(cluster, resource, [*wanted, *unwanted])
    raise Failure(f"{resource} was not altered: {reason}{hint}")


def _suggestion(cluster: Cluster, resource: Resource, names: list[str]) -> str:
    known = [str(row["name"]) for row in settings_of(cluster, resource, None)]
    unknown = [name for name in names if name not in known]
    return did_you_mean(unknown[0], known) if unknown else ""
