"""What a wish for a new topic comes to: its replicas and settings, or why it cannot be.

The order of the checks, which decides the error that a client sees, is that of Kafka's
ZkAdminManager and AdminZkClient. Manual assignments may only name live brokers, as with KRaft.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from barnabas.server.cluster.metadata import ClusterMetadata
from barnabas.server.cluster.topics import Topics
from barnabas.server.core.errors import ApiError
from barnabas.server.settings.changes.topic_settings import check_topic_settings
from barnabas.server.settings.config import BrokerConfig
from barnabas.wire.error_codes import ErrorCode

BROKER_DEFAULT = -1
MOST_NEW_PARTITIONS = 10_000  # in one request: KRaft's MAX_PARTITIONS_PER_BATCH, on any registry
METADATA_TOPIC = "__cluster_metadata"  # a KRaft cluster keeps its own state there

Assignment = Mapping[int, Sequence[int]]


@dataclass(frozen=True, slots=True)
class WantedTopic:
    """A topic as a client asks for it; -1 takes the broker's default (KIP-464)."""

    name: str
    partitions: int = BROKER_DEFAULT
    replication_factor: int = BROKER_DEFAULT
    assignment: Assignment = field(default_factory=dict)
    settings: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic that can be created."""

    name: str
    replicas: Assignment
    settings: dict[str, str]

    @property
    def replication_factor(self) -> int:
        """Replicas of each partition."""
        return len(self.replicas[0])


def check_partition_count(count: int) -> None:
    """Refuse a request that asks for too many partitions; raises ApiError POLICY_VIOLATION."""
    if count > MOST_NEW_PARTITIONS:
        raise ApiError(
            ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request."
        )


def partition_count(wanted: WantedTopic, config: BrokerConfig) -> int:
    """How many partitions a topic asks for; 0 for a number that cannot be."""
    if wanted.assignment:
        return len(wanted.assignment)
    count = config.num_partitions if wanted.partitions == BROKER_DEFAULT else wanted.partitions
    return max(0, count)


def plan_topic(
    wanted: WantedTopic, topics: Topics, metadata: ClusterMetadata, config: BrokerConfig
) -> NewTopic:
    """The topic to create. Raises ApiError."""
    if wanted.name == METADATA_TOPIC:
        raise ApiError(
            ErrorCode.INVALID_REQUEST,
            f"Creation of internal topic {METADATA_TOPIC} is prohibited.",
        )
    if wanted.name in metadata.topics:
        raise ApiError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{wanted.name}' already exists.")
    settings = given_settings(wanted.settings)
    replicas = _replicas(wanted, topics)
    topics.check_new_name(wanted.name)
    check_assignment(replicas, metadata.brokers)
    check_topic_settings(settings, config)
    return NewTopic(wanted.name, replicas, settings)


def given_settings(settings: Mapping[str, str | None]) -> dict[str, str]:
    """The settings, none of them null. Raises ApiError."""
    if nulls := [name for name, value in settings.items() if value is None]:
        raise ApiError(
            ErrorCode.INVALID_CONFIG,
            f"Null value not supported for topic configs: {','.join(nulls)}",
        )
    return {name: value for name, value in settings.items() if value is not None}


def check_assignment(replicas: Assignment, brokers: Collection[int]) -> None:
    """Refuse replicas that cannot be; raises ApiError INVALID_REPLICA_ASSIGNMENT."""
    if len({len(each) for each in replicas.values()}) != 1:
        raise _bad_assignment("All partitions should have the same number of replicas")
    for each in replicas.values():
        if not each:
            raise _bad_assignment("A partition needs at least one replica")
        if len(set(each)) != len(each):
            raise _bad_assignment(f"Duplicate replica assignment found: {dict(replicas)}")
    if sorted(replicas) != list(range(len(replicas))):
        raise _bad_assignment("partitions should be a consecutive 0-based integer sequence")
    if unknown := {broker for each in replicas.values() for broker in each} - set(brokers):
        names = ", ".join(map(str, sorted(unknown)))
        raise _bad_assignment(f"Unknown broker(s) in replica assignment: {names}.")


def _replicas(wanted: WantedTopic, topics: Topics) -> Assignment:
    counts = (wanted.partitions, wanted.replication_factor)
    if wanted.assignment:
        if counts != (BROKER_DEFAULT, BROKER_DEFAULT):
            raise ApiError(
                ErrorCode.INVALID_REQUEST,
                "Both numPartitions or replicationFactor and replicasAssignments were set. "
                "Both cannot be used at the same time.",
            )
        return wanted.assignment
    partitions, factor = topics.default_shape(wanted.name)
    if wanted.partitions != BROKER_DEFAULT:
        partitions = wanted.partitions
    if wanted.replication_factor != BROKER_DEFAULT:
        factor = wanted.replication_factor
    return topics.place(partitions, factor)


def _bad_assignment(reason: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)
