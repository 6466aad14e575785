"""Consumers of two libraries, in one shape: they read on, and count their sessions.

A session ends with every new position of a partition: an assignment, or a seek.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from exactly_once.checker.history import Place

SESSION_MS = 4_000
TIMEOUT_S = 5.0
PATIENCE_MS = 100

Batch = dict[Place, list[tuple[int, str]]]


class Trouble(Exception):
    """The broker does not answer, or refuses."""


class Reading(Protocol):
    """What a role needs. All but `poll` may raise Trouble."""

    session: int

    def subscribe(self, topic: str) -> None: ...
    def assign(self, offsets: Mapping[Place, int]) -> None: ...
    def poll(self, most: int) -> Batch: ...
    def back_to_committed(self, places: list[Place]) -> None: ...
    def stable_offset(self, place: Place) -> int: ...
    def group(self) -> Any: ...
    def close(self) -> None: ...


class Librdkafka:
    """confluent-kafka's Consumer."""

    def __init__(self, bootstrap: str, group: str, *, committed: bool) -> None:
        from confluent_kafka import Consumer

        self.session = 0
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "isolation.level": "read_committed" if committed else "read_uncommitted",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "session.timeout.ms": SESSION_MS,
                "heartbeat.interval.ms": 500,
                "partition.assignment.strategy": "range",
                "socket.timeout.ms": 3_000,
                "fetch.wait.max.ms": PATIENCE_MS,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )

    def subscribe(self, topic: str) -> None:
        self._consumer.subscribe([topic], on_assign=self._moved, on_revoke=self._moved)

    def _moved(self, *_: Any) -> None:
        self.session += 1

    def assign(self, offsets: Mapping[Place, int]) -> None:
        from confluent_kafka import TopicPartition

        self.session += 1
        self._consumer.assign([TopicPartition(*place, at) for place, at in offsets.items()])

    def poll(self, most: int) -> Batch:
        """What was read before a change of the assignment is somebody else's: left out."""
        batch: Batch = {}
        session = self.session
        for _ in range(most):
            message = self._consumer.poll(PATIENCE_MS / 1000)
            if self.session != session:
                batch, session = {}, self.session
            if message is None:
                break
            if message.error() is None:
                place = Place(message.topic(), message.partition())
                record = (message.offset(), message.value().decode())
                batch.setdefault(place, []).append(record)
        return batch

    def back_to_committed(self, places: list[Place]) -> None:
        from confluent_kafka import KafkaException, TopicPartition

        self.session += 1
        try:
            asked = [TopicPartition(*place) for place in places]
            for at in self._consumer.committed(asked, timeout=TIMEOUT_S):
                if at.error is not None:
                    raise Trouble(str(at.error))
                self._consumer.seek(TopicPartition(at.topic, at.partition, max(at.offset, 0)))
        except KafkaException as error:
            raise Trouble(str(error)) from None

    def stable_offset(self, place: Place) -> int:
        from confluent_kafka import KafkaException, TopicPartition

        try:
            answer = self._consumer.get_watermark_offsets(TopicPartition(*place), TIMEOUT_S)
        except KafkaException as error:
            raise Trouble(str(error)) from None
        if answer is None:
            raise Trouble("no answer")
        return int(answer[1])

    def group(self) -> Any:
        return self._consumer.consumer_group_metadata()

    def close(self) -> None:
        self._consumer.close()


class KafkaPython:
    """kafka-python's KafkaConsumer."""

    def __init__(self, bootstrap: str, group: str, *, committed: bool) -> None:
        from kafka import KafkaConsumer
        from kafka.coordinator.assignors.range import RangePartitionAssignor

        self.session = 0
        self._consumer = KafkaConsumer(
            bootstrap_servers=bootstrap,
            group_id=group,
            isolation_level="read_committed" if committed else "read_uncommitted",
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=500,
            partition_assignment_strategy=(RangePartitionAssignor,),
            fetch_max_wait_ms=PATIENCE_MS,
            reconnect_backoff_max_ms=500,
        )

    def subscribe(self, topic: str) -> None:
        from kafka import ConsumerRebalanceListener

        moved = self._moved

        class Listener(ConsumerRebalanceListener):
            def on_partitions_assigned(self, assigned: Any) -> None:
                moved()

            def on_partitions_revoked(self, revoked: Any) -> None:
                moved()

            def on_partitions_lost(self, lost: Any) -> None:
                moved()

        self._consumer.subscribe([topic], listener=Listener())

    def _moved(self) -> None:
        self.session += 1

    def assign(self, offsets: Mapping[Place, int]) -> None:
        from kafka import TopicPartition

        self.session += 1
        self._consumer.assign([TopicPartition(*place) for place in offsets])
        for place, offset in offsets.items():
            self._consumer.seek(TopicPartition(*place), offset)

    def poll(self, most: int) -> Batch:
        polled = self._consumer.poll(timeout_ms=500, max_records=most)
        return {
            Place(at.topic, at.partition): [(each.offset, each.value.decode()) for each in records]
            for at, records in polled.items()
        }

    def back_to_committed(self, places: list[Place]) -> None:
        from kafka import TopicPartition
        from kafka.errors import KafkaError

        self.session += 1
        try:
            for place in places:
                at = TopicPartition(*place)
                self._consumer.seek(at, self._consumer.committed(at) or 0)
        except (KafkaError, AssertionError) as error:
            raise Trouble(repr(error)) from None

    def stable_offset(self, place: Place) -> int:
        from kafka import TopicPartition
        from kafka.errors import KafkaError

        at = TopicPartition(*place)
        try:
            return int(self._consumer.end_offsets([at])[at])
        except KafkaError as error:
            raise Trouble(repr(error)) from None

    def group(self) -> Any:
        return self._consumer.group_metadata()

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._consumer.close()


CONSUMERS: dict[str, Callable[..., Reading]] = {
    "librdkafka": Librdkafka,
    "kafka-python": KafkaPython,
}
