"""Members of a group, of two libraries, in one shape: each commits what it has read."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Protocol

from exactly_once.checker.history import Place

SESSION_MS = 6_000
TIMEOUT_S = 5.0
PATIENCE_MS = 100
MOST = 200
Records = dict[Place, list[tuple[int, str]]]
Resumed = Callable[[Callable[[], dict[Place, int]]], None]
"""Called at an assignment, with what asks for the offsets that are committed."""


class Trouble(Exception):
    """The coordinator does not answer, or refuses."""


class Member(Protocol):
    """What the role needs. `commit` may raise Trouble."""

    def poll(self) -> Records: ...
    def commit(self, offsets: dict[Place, int]) -> None: ...
    def close(self) -> None: ...


class Librdkafka:
    """confluent-kafka's Consumer."""

    def __init__(self, bootstrap: str, group: str, topics: list[str], resumed: Resumed) -> None:
        from confluent_kafka import Consumer

        self._resumed = resumed
        self._moves = 0
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "session.timeout.ms": SESSION_MS,
                "heartbeat.interval.ms": 1_000,
                "partition.assignment.strategy": "range",
                "socket.timeout.ms": 4_000,
                "fetch.wait.max.ms": PATIENCE_MS,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )
        self._consumer.subscribe(topics, on_assign=self._assigned, on_revoke=self._revoked)

    def _revoked(self, *_: Any) -> None:
        self._moves += 1

    def _assigned(self, _: Any, partitions: list[Any]) -> None:
        from confluent_kafka import KafkaException

        self._moves += 1

        def ask() -> dict[Place, int]:
            try:
                answers = self._consumer.committed(partitions, timeout=TIMEOUT_S)
            except KafkaException as error:
                raise Trouble(str(error)) from None
            return {
                Place(at.topic, at.partition): max(at.offset, 0)
                for at in answers
                if at.error is None
            }

        self._resumed(ask)

    def poll(self) -> Records:
        """What was read before a change of the assignment is somebody else's: left out."""
        found: Records = {}
        moves = self._moves
        for _ in range(MOST):
            message = self._consumer.poll(0 if found else PATIENCE_MS / 1000)
            if self._moves != moves:
                found, moves = {}, self._moves
            if message is None:
                break
            if message.error() is None:
                place = Place(message.topic(), message.partition())
                record = (message.offset(), message.value().decode())
                found.setdefault(place, []).append(record)
        return found

    def commit(self, offsets: dict[Place, int]) -> None:
        from confluent_kafka import KafkaException, TopicPartition

        asked = [TopicPartition(*place, offset) for place, offset in offsets.items()]
        try:
            answers = self._consumer.commit(offsets=asked, asynchronous=False)
        except KafkaException as error:
            raise Trouble(str(error)) from None
        if failed := [at.error for at in answers or () if at.error is not None]:
            raise Trouble(str(failed[0]))

    def close(self) -> None:
        self._consumer.close()


class KafkaPython:
    """kafka-python's KafkaConsumer."""

    def __init__(self, bootstrap: str, group: str, topics: list[str], resumed: Resumed) -> None:
        from kafka import ConsumerRebalanceListener, KafkaConsumer
        from kafka.coordinator.assignors.range import RangePartitionAssignor

        self._consumer = consumer = KafkaConsumer(
            bootstrap_servers=bootstrap.split(","),
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=1_000,
            partition_assignment_strategy=(RangePartitionAssignor,),
            fetch_max_wait_ms=PATIENCE_MS,
            reconnect_backoff_max_ms=500,
        )

        class Listener(ConsumerRebalanceListener):
            def on_partitions_assigned(self, assigned: Any) -> None:
                resumed(lambda: {Place(*at): consumer.committed(at) or 0 for at in assigned})

            def on_partitions_revoked(self, revoked: Any) -> None: ...
            def on_partitions_lost(self, lost: Any) -> None: ...

        consumer.subscribe(topics, listener=Listener())

    def poll(self) -> Records:
        polled = self._consumer.poll(timeout_ms=PATIENCE_MS * 2, max_records=MOST)
        return {
            Place(at.topic, at.partition): [(each.offset, each.value.decode()) for each in records]
            for at, records in polled.items()
        }

    def commit(self, offsets: dict[Place, int]) -> None:
        from kafka import OffsetAndMetadata, TopicPartition
        from kafka.errors import KafkaError

        asked = {
            TopicPartition(*place): OffsetAndMetadata(offset, "", -1)
            for place, offset in offsets.items()
        }
        try:
            self._consumer.commit(asked)
        except (KafkaError, AssertionError) as error:
            raise Trouble(repr(error)) from None

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._consumer.close()


MEMBERS: dict[str, Callable[..., Member]] = {
    "librdkafka": Librdkafka,
    "kafka-python": KafkaPython,
}
