"""What the storage soak is made of: its writers, its group, and who reads everything at the end."""

from __future__ import annotations

import random
import threading
import time
from collections import defaultdict

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka import Message as Delivered
from soak_parts import SoakFailed

PARTITIONS = 2
KEYS = 200
PATIENCE_S = 90.0

Place = tuple[str, int]
"""Topic and partition."""


class Ledger:
    """What was acknowledged, and what has been read so far."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.acked: dict[Place, dict[int, tuple[bytes, bytes]]] = defaultdict(dict)
        """Key and value by offset; offsets are never given twice."""
        self.deleted_below: dict[Place, int] = defaultdict(int)
        self.wrong: list[str] = []

    def acknowledge(self, place: Place, offset: int, key: bytes, value: bytes) -> None:
        with self.lock:
            before = self.acked[place].setdefault(offset, (key, value))
            if before != (key, value):
                self.wrong.append(f"{place} offset {offset} was given to {before} and {value!r}")

    def check(self, place: Place, offset: int, key: bytes, value: bytes) -> None:
        """A record was read: it is what was acknowledged there, if anything was."""
        with self.lock:
            known = self.acked[place].get(offset)
        if known is not None and known != (key, value):
            self.wrong.append(f"{place} offset {offset} holds {value!r}, not {known}")


class Writer:
    """Numbered records into every partition of a topic, until told to stop."""

    def __init__(self, address: str, topic: str, ledger: Ledger, per_second: int) -> None:
        self.topic, self.failed = topic, []
        self._ledger, self._per_second = ledger, per_second
        self._stopping = threading.Event()
        self._producer = Producer({
            "bootstrap.servers": address, "enable.idempotence": True, "linger.ms": 5,
            "message.timeout.ms": 120_000, "batch.size": 16_000, "log_level": 0,
        })  # fmt: skip
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        chance, started, sent = random.Random(self.topic), time.monotonic(), 0
        while not self._stopping.is_set():
            while sent < (time.monotonic() - started) * self._per_second:
                self._send(sent, chance)
                sent += 1
            self._producer.poll(0.02)
        self._producer.flush(120)

    def _send(self, number: int, chance: random.Random) -> None:
        key = b"%d" % chance.randrange(KEYS)
        value = b"%d:" % number + b"." * chance.randrange(300)
        while True:
            try:
                self._producer.produce(
                    self.topic, value, key, partition=number % PARTITIONS, callback=self._told
                )
                return
            except BufferError:  # nobody answers for the moment
                self._producer.poll(0.1)

    def _told(self, error: KafkaError | None, message: Delivered) -> None:
        if error is not None:
            self.failed.append(f"{self.topic}: {error}")
            return
        place = message.topic(), message.partition()
        self._ledger.acknowledge(place, message.offset(), message.key(), message.value())

    def stop(self) -> None:
        """Write no more; what is on its way is waited for."""
        self._stopping.set()
        self._thread.join()


class Member:
    """A member of the group that reads along, and commits."""

    def __init__(self, address: str, topics: list[str], ledger: Ledger) -> None:
        self.read = 0
        self.committed: dict[Place, int] = {}
        self._ledger = ledger
        self._stopping = threading.Event()
        self._consumer = Consumer({
            "bootstrap.servers": address, "group.id": "soak", "auto.offset.reset": "earliest",
            "enable.auto.commit": False, "session.timeout.ms": 6_000, "log_level": 0,
        })  # fmt: skip
        self._consumer.subscribe(topics)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.is_set():
            messages = self._consumer.consume(500, 0.2)
            for message in messages:
                if message.error() is None:
                    self.read += 1
                    place = message.topic(), message.partition()
                    self._ledger.check(place, message.offset(), message.key(), message.value())
                    self.committed[place] = message.offset() + 1
            if messages:
                self._consumer.commit(asynchronous=True)
        self._consumer.close()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()


def read_all(address: str, place: Place) -> list[tuple[int, bytes, bytes]]:
    """Offset, key and value of every record of a partition. Raises SoakFailed."""
    consumer = Consumer({
        "bootstrap.servers": address, "group.id": "reader", "enable.auto.commit": False,
        "auto.offset.reset": "error", "enable.partition.eof": True, "log_level": 0,
    })  # fmt: skip
    try:
        low, high = consumer.get_watermark_offsets(TopicPartition(*place), timeout=30)
        consumer.assign([TopicPartition(*place, low)])
        found, deadline = [], time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            for message in consumer.consume(1_000, 0.5):
                if message.error() is None:
                    found.append((message.offset(), message.key(), message.value()))
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    return found
                else:
                    raise SoakFailed(f"{place} cannot be read: {message.error()}")
        raise SoakFailed(f"{place}: read {len(found)} records of {low}..{high}, then nothing more")
    finally:
        consumer.close()


def check_everything(address: str, ledger: Ledger, place: Place, *, compacted: bool) -> int:
    """Hold all that can be read of a partition against the ledger: how many records there are."""
    found = read_all(address, place)
    offsets = [offset for offset, _, _ in found]
    if offsets != sorted(set(offsets)):
        raise SoakFailed(f"{place}: offsets out of order or doubled")
    values = [value for _, _, value in found]
    if len(values) != len(set(values)):
        raise SoakFailed(f"{place}: a record is there twice")
    for offset, key, value in found:
        ledger.check(place, offset, key, value)
    start, acked = ledger.deleted_below[place], ledger.acked[place]
    if compacted:
        latest = {key: offset for offset, (key, _) in sorted(acked.items())}
        there = {key: offset for offset, key, _ in found}
        lost = [o for key, o in latest.items() if o >= start and there.get(key, -1) < o]
    else:
        lost = sorted({offset for offset in acked if offset >= start} - set(offsets))
    if lost:
        raise SoakFailed(f"{place}: {len(lost)} acknowledged records are lost: {lost[:10]}")
    return len(found)
