"""What the client tests ask of the broker on the side, through librdkafka's admin client."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Mapping

from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    IsolationLevel,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec
from confluent_kafka.cimpl import NewPartitions, NewTopic

PATIENCE_SECONDS = 20.0
_numbers = itertools.count()


def unique_name(base: str) -> str:
    """A topic or group name no other test has, on a broker that outlives the session too."""
    return f"{base}-{os.getpid()}-{time.time_ns() // 1_000_000}-{next(_numbers)}"


class BrokerAdmin:
    """Topics, partitions and offsets of one broker."""

    def __init__(self, bootstrap: str) -> None:
        settings: dict[str, str | int | float | bool]
        settings = {"bootstrap.servers": bootstrap, "log_level": 0}
        self._admin = AdminClient(settings)
        self._consumer = Consumer(settings | {"group.id": "never-joined"})

    def create_topic(
        self, base: str, partitions: int = 1, config: Mapping[str, str] | None = None
    ) -> str:
        """Create a topic under a unique name and return the name once it has leaders."""
        name = unique_name(base)
        self.create_topic_named(name, partitions, config)
        return name

    def create_topic_named(
        self, name: str, partitions: int = 1, config: Mapping[str, str] | None = None
    ) -> None:
        """Create a topic and wait until it has leaders."""
        topic = NewTopic(name, partitions, 1, config=dict(config or {}))
        self._admin.create_topics([topic])[name].result(PATIENCE_SECONDS)
        self._wait_for_leaders(name, partitions)

    def add_partitions(self, topic: str, total: int) -> None:
        """Raise the topic's partition count and wait until the new ones have leaders."""
        self._admin.create_partitions([NewPartitions(topic, total)])[topic].result(PATIENCE_SECONDS)
        self._wait_for_leaders(topic, total)

    def delete_topic(self, name: str) -> None:
        """Delete a topic and wait until it is gone."""
        self._admin.delete_topics([name])[name].result(PATIENCE_SECONDS)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while name in self._admin.list_topics(timeout=PATIENCE_SECONDS).topics:
            assert time.monotonic() < deadline, f"{name} is still there"

    def _wait_for_leaders(self, topic: str, partitions: int) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            self._consumer.list_topics(topic, timeout=PATIENCE_SECONDS)  # refreshes its cache
            try:
                self.end_offsets(topic, partitions)
                return
            except KafkaException:
                if time.monotonic() > deadline:
                    raise

    def end_offsets(self, topic: str, partitions: int) -> dict[int, int]:
        """Log end offset by partition."""
        return {number: self.end_offset(topic, number) for number in range(partitions)}

    def end_offset(self, topic: str, partition: int = 0) -> int:
        """Log end offset of one partition."""
        place = TopicPartition(topic, partition)
        _, high = self._consumer.get_watermark_offsets(place, timeout=PATIENCE_SECONDS)
        return int(high)

    def last_stable_offset(self, topic: str, partition: int = 0) -> int:
        """Where a reader of committed records has to stop for now."""
        place = TopicPartition(topic, partition)
        answers = self._admin.list_offsets(
            {place: OffsetSpec.latest()}, isolation_level=IsolationLevel.READ_COMMITTED
        )
        return int(answers[place].result(PATIENCE_SECONDS).offset)

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        """The group's committed offsets."""
        asked = [ConsumerGroupTopicPartitions(group)]
        answer = self._admin.list_consumer_group_offsets(asked)[group].result(PATIENCE_SECONDS)
        return {(p.topic, p.partition): p.offset for p in answer.topic_partitions}
