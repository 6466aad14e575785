"""The topics that a replay writes to: there, large enough, empty, and such that nothing changes."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from confluent_kafka import (
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from barnabas.pipeline.replay.client_errors import FOR_GOOD
from barnabas.pipeline.replay.patience import PAUSE_S, patiently
from barnabas.pipeline.replay.progress import OF_PRODUCERS
from barnabas.pipeline.spark.failures import PipelineError
from barnabas.pipeline.spark.python_client import Settings

TIMEOUT_S = 30.0
PATIENCE_S = 60.0
MISSING_S = 20.0
METADATA_TIMEOUT_S = 10.0
# What --create gives a topic unless --config says otherwise: old records are not removed at once.
CREATED_WITH = {"retention.ms": "-1", "message.timestamp.type": "CreateTime"}
LARGEST_BATCH_BYTES = 1_000_000


# The client's own types do not cover these.
client: Any = import_module("confluent_kafka.admin")


@dataclass(frozen=True)
class Target:
    """A topic of the cluster."""

    name: str
    topic_id: str  # Kafka's base64; empty where the cluster tells none
    starts: tuple[int, ...]  # by partition
    ends: tuple[int, ...]  # open transactions included
    config: Mapping[str, str] = field(default_factory=dict)

    @property
    def records_at_most(self) -> int:
        return sum(self.ends) - sum(self.starts)

    @property
    def batch_bytes(self) -> int:
        """How large a batch may be: the client does not cut what the broker refuses."""
        largest = int(self.config.get("max.message.bytes", LARGEST_BATCH_BYTES))
        return min(largest, LARGEST_BATCH_BYTES)


class Targets:
    """What the driver asks of the cluster that is replayed to."""

    def __init__(self, settings: Settings) -> None:
        kept = {name: value for name, value in settings.items() if name not in OF_PRODUCERS}
        self._error: KafkaError | None = None
        options: dict[str, Any] = {**kept, "error_cb": self._on_error}
        self._admin = AdminClient(options)

    def cluster_id(self) -> str:
        """The cluster's id."""
        return self._topics()[0]

    def existing(self, names: Sequence[str]) -> dict[str, Target]:
        """Those of the topics that are there."""
        _, counts = self._topics()
        return {name: self._target(name, counts[name]) for name in names if name in counts}

    def all_of(self, names: Sequence[str]) -> dict[str, Target]:
        """The topics, which are there: one that has just started may not know it yet."""
        deadline = time.monotonic() + MISSING_S
        while len(found := self.existing(names)) < len(names):
            if time.monotonic() > deadline:
                missing = [name for name in names if name not in found]
                raise PipelineError(f"{', '.join(missing)} has gone since the replay began")
            time.sleep(PAUSE_S)
        return found

    def create(self, name: str, partitions: int, config: Mapping[str, str]) -> None:
        """Create a topic and wait until its partitions have leaders."""
        topic = client.NewTopic(name, partitions, config={**CREATED_WITH, **config})
        try:
            self._admin.create_topics([topic])[name].result(TIMEOUT_S)
        except KafkaException as raised:
            raise PipelineError(f"creating {name}: {raised.args[0].str()}") from raised
        patiently(lambda: self._target(name, partitions), f"creating {name}", PATIENCE_S)

    def _topics(self) -> tuple[str, dict[str, int]]:
        metadata = patiently(self._metadata, "looking at the topics", PATIENCE_S)
        counts = {name: len(topic.partitions) for name, topic in metadata.topics.items()}
        return metadata.cluster_id or "", counts

    def _metadata(self) -> Any:
        """What the cluster has; where it does not answer, why it did not let the client in."""
        try:
            return self._admin.list_topics(timeout=METADATA_TIMEOUT_S)
        except KafkaException:
            self._admin.poll(0)
            if self._error is not None:
                raise KafkaException(self._error) from None
            raise

    def _on_error(self, error: KafkaError) -> None:
        if error.code() in FOR_GOOD:
            self._error = error

    def _target(self, name: str, partitions: int) -> Target:
        def look() -> Target:
            starts = self._offsets(name, partitions, client.OffsetSpec.earliest())
            ends = self._offsets(name, partitions, client.OffsetSpec.latest())
            return Target(name, self._topic_id(name), starts, ends, self._config(name))

        return patiently(look, f"looking at {name}", PATIENCE_S)

    def _offsets(self, name: str, partitions: int, spec: Any) -> tuple[int, ...]:
        asked = {TopicPartition(name, number): spec for number in range(partitions)}
        level = IsolationLevel.READ_UNCOMMITTED
        answers = self._admin.list_offsets(asked, isolation_level=level, request_timeout=TIMEOUT_S)
        by_partition = {
            asked_of.partition: answer.result(TIMEOUT_S).offset
            for asked_of, answer in answers.items()
        }
        return tuple(by_partition[number] for number in range(partitions))

    def _topic_id(self, name: str) -> str:
        described = self._admin.describe_topics(TopicCollection([name]))[name].result(TIMEOUT_S)
        return str(described.topic_id or "")

    def _config(self, name: str) -> dict[str, str]:
        resource = client.ConfigResource(client.ResourceType.TOPIC, name)
        found = self._admin.describe_configs([resource])[resource].result(TIMEOUT_S)
        return {key: entry.value for key, entry in found.items() if entry.value is not None}


def require_fit(
    target: Target, source: str, partitions: int, *, with_timestamps: bool, append: bool
) -> None:
    """PipelineError where a target would not hold what the source held, as it held it."""
    if len(target.ends) < partitions:
        raise PipelineError(
            f"{target.name} has {len(target.ends)} partitions and {source} has {partitions}: "
            f"`barnabas topics alter {target.name} --partitions {partitions}`"
        )
    if target.records_at_most and not append:
        raise PipelineError(
            f"{target.name} is not empty: a replay begins with empty topics, or with --append"
        )
    if with_timestamps and target.config.get("message.timestamp.type") == "LogAppendTime":
        raise PipelineError(
            f"{target.name} stamps its records itself: set its message.timestamp.type to "
            "CreateTime, or replay with --new-timestamps"
        )


def retention_warning(target: Target, oldest_ms: int, now_ms: int) -> str | None:
    """One sentence where the broker will soon remove what is replayed."""
    kept_ms = int(target.config.get("retention.ms", -1))
    if kept_ms < 0 or "delete" not in target.config.get("cleanup.policy", "delete"):
        return None
    if oldest_ms >= now_ms - kept_ms:
        return None
    return (
        f"{target.name} keeps records for {kept_ms / 86_400_000:.3g} days (retention.ms) and these "
        "are older: the broker removes them when it next looks"
    )
