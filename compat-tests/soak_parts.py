"""What a soak is made of: its writer, its readers, and who watches the commits."""

from __future__ import annotations

import base64
import contextlib
import threading
import time
from collections import deque
from dataclasses import dataclass, field

from client_builds import Family
from clients import Program, command_line
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, Producer
from confluent_kafka import Message as Delivered
from confluent_kafka.admin import AdminClient

TOPIC, GROUP = "soak", "soak"
SESSION_MS = 6_000
RECORDS_PER_SECOND = 300
ADMIN_TIMEOUT_S = 10.0


class SoakFailed(AssertionError):
    """Something that must hold did not."""


# --- what was written ---------------------------------------------------------------------


class Writing:
    """The producer: one number after the other into each partition, until told to stop."""

    def __init__(self, address: str, partitions: int) -> None:
        self.acked: deque[tuple[int, int, float]] = deque()
        """(partition, offset, when it was acknowledged), for the reader to take away."""
        self.count = 0
        self.failed: list[str] = []
        self._partitions = partitions
        self._stopping = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": address,
                "enable.idempotence": True,
                "linger.ms": 5,
                "message.timeout.ms": 120_000,
                "log_level": 0,
            }
        )
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        numbers = [0] * self._partitions
        started, sent = time.monotonic(), 0
        while not self._stopping.is_set():
            while sent < (time.monotonic() - started) * RECORDS_PER_SECOND:
                partition = sent % self._partitions
                number = str(numbers[partition]).encode()
                self._producer.produce(TOPIC, number, partition=partition, callback=self._told)
                numbers[partition] += 1
                sent += 1
            self._producer.poll(0.02)
        self._producer.flush(120)

    def _told(self, error: KafkaError | None, message: Delivered) -> None:
        if error is not None:
            self.failed.append(str(error))
            return
        partition, offset = message.partition(), message.offset()
        assert partition is not None and offset is not None
        self.acked.append((partition, offset, time.monotonic()))
        self.count += 1

    def stop(self) -> None:
        """Write no more; what is on its way is waited for."""
        self._stopping.set()
        self._thread.join()


# --- what was read -------------------------------------------------------------------------


@dataclass
class Part:
    """One partition: everything below `next_offset` was read; `ahead` was read out of turn."""

    next_offset: int = 0
    ahead: set[int] = field(default_factory=set)
    unread: deque[tuple[int, float]] = field(default_factory=deque)
    number_at: dict[int, int] = field(default_factory=dict)

    def read(self, offset: int) -> None:
        if offset >= self.next_offset:
            self.ahead.add(offset)
        while self.next_offset in self.ahead:
            self.ahead.discard(self.next_offset)
            self.next_offset += 1
        while self.unread and self.unread[0][0] < self.next_offset:
            self.unread.popleft()

    def oldest_unread_s(self, now: float) -> float:
        return now - self.unread[0][1] if self.unread else 0.0


class Reader:
    """A member of the group, and what it said."""

    def __init__(self, family: Family, address: str) -> None:
        self.family = family
        self.program = Program(family)
        self.held: set[int] = set()
        self.ended = False
        self.without_partitions_since = time.monotonic()
        self._last: dict[int, int] = {}
        options = {
            "bootstrap": address, "group": GROUP, "topic": TOPIC, "assignor": "range",
            "commit": "sync", "timeout_ms": 0, "session_ms": SESSION_MS, "metadata_ms": 5_000,
        }  # fmt: skip
        self.program.send(command_line("group", options))

    def take(self, parts: list[Part]) -> int:
        """Take in what it has printed since; how many records it read."""
        events = self.program.events
        count, records = len(events), 0
        for event in events[:count]:
            kind = event["event"]
            if kind == "record":
                records += 1
                self._read(event, parts)
            elif kind in ("assigned", "revoked"):
                self._changed(kind, {number for _, number in event["partitions"]})
            elif kind in ("done", "error", "exited"):
                self.ended = True
        del events[:count]
        return records

    def _changed(self, kind: str, partitions: set[int]) -> None:
        if kind == "assigned":
            self.held |= partitions
            for partition in partitions:
                self._last.pop(partition, None)
        else:
            self.held -= partitions
        if not self.held:
            self.without_partitions_since = time.monotonic()

    def _read(self, event: dict[str, object], parts: list[Part]) -> None:
        partition, offset = event["partition"], event["offset"]
        assert isinstance(partition, int) and isinstance(offset, int)
        last = self._last.get(partition, -1)
        if offset <= last:
            raise SoakFailed(f"{self.family.name} read offset {offset} of {partition} after {last}")
        self._last[partition] = offset
        number = int(base64.b64decode(str(event["value"])))
        part = parts[partition]
        if number != offset:
            raise SoakFailed(f"record {number} of partition {partition} stands at offset {offset}")
        part.read(offset)


class Committed:
    """Asks the broker again and again what is committed."""

    def __init__(self, address: str) -> None:
        self.offsets: dict[int, int] = {}
        self.wrong: list[str] = []
        self._admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.wait(0.5):
            with contextlib.suppress(KafkaException):
                self._look()

    def _look(self) -> None:
        asked = [ConsumerGroupTopicPartitions(GROUP)]
        answer = self._admin.list_consumer_group_offsets(asked, request_timeout=ADMIN_TIMEOUT_S)
        for place in answer[GROUP].result(ADMIN_TIMEOUT_S).topic_partitions:
            before = self.offsets.get(place.partition, 0)
            if place.offset < before:
                self.wrong.append(f"{place.partition} went from {before} to {place.offset}")
            self.offsets[place.partition] = place.offset

    def stop(self) -> None:
        """Ask no more, after one last look."""
        self._stopping.set()
        self._thread.join()
        self._look()
