"""A producer that writes all the time with acks=all, and what is there in the end."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from mixed.ground import PATIENCE_S, Ground, until

PAUSE_S = 0.005
DELIVERY_MS = 60_000


class Load:
    """Writes into all partitions of a topic, for the length of a block."""

    def __init__(self, ground: Ground, topic: str, partitions: int) -> None:
        self.topic, self.partitions = topic, partitions
        self.acked: dict[tuple[int, int], str] = {}
        """By partition and offset."""
        self.failed: list[str] = []
        self._ground = ground
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)

    def __enter__(self) -> Load:
        self._thread.start()
        try:
            self.wait_for_more()
        except BaseException:
            self._over.set()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(PATIENCE_S * 2)

    def wait_for_more(self, count: int = 20) -> None:
        """Until so many more are acknowledged."""
        wanted = len(self.acked) + count
        until(lambda: len(self.acked) >= wanted, lambda: f"{len(self.acked)} {self.failed[:2]}")

    def check(self) -> None:
        """All that was acknowledged is there, at its offset and in order, and nothing twice."""
        assert self.acked and not self.failed, self.failed[:3]
        found = self.read()
        missing = {at: text for at, text in self.acked.items() if found.get(at) != text}
        assert not missing, f"{len(missing)} of {len(self.acked)} lost: {list(missing.items())[:3]}"
        for partition in range(self.partitions):
            mine = [int(found[at].split()[1]) for at in sorted(found) if at[0] == partition
                    and found[at].startswith("load ")]  # fmt: skip
            assert mine == sorted(set(mine)), f"partition {partition}: twice, or out of order"

    def read(self) -> dict[tuple[int, int], str]:
        """Everything that can be read."""
        reader = Consumer(
            {
                "bootstrap.servers": self._ground.bootstrap,
                "group.id": "reader",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "log_level": 0,
            }
        )
        left = set(range(self.partitions))
        reader.assign([TopicPartition(self.topic, partition, 0) for partition in left])
        found: dict[tuple[int, int], str] = {}

        def is_read() -> bool:
            for message in reader.consume(500, 0.2):
                if message.error() is None:
                    found[message.partition(), message.offset()] = message.value().decode()
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    left.discard(message.partition())
            return not left

        until(is_read, lambda: f"{self.topic} {left} cannot be read to the end")
        reader.close()
        return found

    def _write(self) -> None:
        producer = Producer(
            {
                "bootstrap.servers": self._ground.bootstrap,
                "enable.idempotence": True,
                "message.timeout.ms": DELIVERY_MS,
                "log_level": 0,
            }
        )
        number = 0
        while not self._over.is_set():
            producer.produce(
                self.topic, f"load {number}", partition=number % self.partitions,
                on_delivery=self._delivered,
            )  # fmt: skip
            number += 1
            producer.poll(PAUSE_S)
            self._over.wait(PAUSE_S)
        producer.flush(PATIENCE_S)

    def _delivered(self, error: Any, message: Any) -> None:
        if error is not None:
            self.failed.append(str(error))
        else:
            self.acked[message.partition(), message.offset()] = message.value().decode()


class Reading:
    """A member of a group that reads a topic and commits, until it is closed."""

    def __init__(self, ground: Ground, topic: str) -> None:
        self.offsets: dict[int, int] = {}
        """What it has committed, by partition."""
        self._read: set[tuple[int, int]] = set()
        self._over = threading.Event()
        self._consumer = Consumer(
            {
                "bootstrap.servers": ground.bootstrap,
                "group.id": f"reading-{topic}",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "log_level": 0,
            }
        )
        self._consumer.subscribe([topic])
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Reading:
        self._thread.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self.close()

    def has_read(self, acked: dict[tuple[int, int], str]) -> bool:
        """Whether it has read all that was acknowledged, and committed behind it."""
        return acked.keys() <= self._read and all(
            offset < self.offsets.get(partition, 0) for partition, offset in acked
        )

    def close(self) -> None:
        self._over.set()
        self._thread.join(PATIENCE_S)

    def _run(self) -> None:
        while not self._over.is_set():
            for message in self._consumer.consume(500, 0.2):
                if message.error() is None:
                    self._read.add((message.partition(), message.offset()))
            with suppress(KafkaException):  # the coordinator moves: the next one has more
                for place in self._consumer.commit(asynchronous=False) or ():
                    if place.error is None and place.offset >= 0:
                        self.offsets[place.partition] = place.offset
        self._consumer.close()
