"""Moving replicas between data directories as their user does it, and who writes meanwhile."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.cimpl import Message
from kafka_tools import KafkaTools

PATIENCE_S = 120.0


class Mover:
    """`kafka-reassign-partitions` and `kafka-log-dirs` for the replicas of partition 0 of a topic.

    `directories` are those of each broker.
    """

    def __init__(self, tools: KafkaTools, topic: str, directories: dict[int, list[Path]]) -> None:
        self.tools, self.topic, self.directories = tools, topic, directories

    def home(self, broker: int) -> Path | None:
        """In which directory a broker's replica lies; None for the moment between two names."""
        found = [each for each in self.directories[broker] if (each / f"{self.topic}-0").is_dir()]
        return found[0] if len(found) == 1 else None

    def move(self, folder: Path, targets: dict[int, Path], *options: str) -> Path:
        """Ask for moves of replicas, by broker; the plan's file."""
        path = folder / "log-dirs.json"
        partition = {
            "topic": self.topic, "partition": 0, "replicas": list(targets),
            "log_dirs": [str(each) for each in targets.values()],
        }  # fmt: skip
        path.write_text(json.dumps({"version": 1, "partitions": [partition]}))
        self.tools.ok(
            "kafka-reassign-partitions", "--execute", "--reassignment-json-file", str(path),
            *options,
        )  # fmt: skip
        return path

    def until_moved(self, plan: Path, targets: dict[int, Path]) -> None:
        """Ask the tool until it says that all are where they are wanted."""
        deadline_s = time.monotonic() + PATIENCE_S
        while True:
            said = self.tools.ok(
                "kafka-reassign-partitions", "--verify", "--reassignment-json-file", str(plan)
            )
            ends = [
                f"replica {self.topic}-0-{broker} completed successfully." for broker in targets
            ]
            if all(end in said.out for end in ends):
                return
            assert time.monotonic() < deadline_s, said
            time.sleep(0.1)

    def described(self) -> list[dict[str, object]]:
        """What `kafka-log-dirs` says of the partition's logs, those under way included."""
        out = self.tools.ok("kafka-log-dirs", "--describe", "--topic-list", self.topic).out
        (line,) = [each for each in out.splitlines() if each.startswith("{")]
        return [
            {"broker": broker["broker"], "dir": each["logDir"], **log}
            for broker in json.loads(line)["brokers"]
            for each in broker["logDirs"]
            for log in each["partitions"]
        ]


class Writer:
    """Produces numbers with acks=all in a thread, until it is told to stop."""

    def __init__(self, bootstrap: str, topic: str, size: int = 500) -> None:
        self.topic = topic
        self.acknowledged: list[int] = []
        self.refused: list[str] = []
        self.longest_s = 0.0
        """Between a record's production and its acknowledgement."""
        self._size = size
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap, "acks": "all", "enable.idempotence": True,
                "linger.ms": 1, "log_level": 0, "delivery.timeout.ms": 120_000,
            }
        )  # fmt: skip
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._is_over.is_set():
            for _ in range(20):
                self._produce(number)
                number += 1
            self._producer.poll(0.005)
        self._producer.flush(PATIENCE_S)

    def _produce(self, number: int) -> None:
        begun = time.monotonic()

        def told(error: object, message: Message) -> None:
            if error is not None:
                self.refused.append(str(error))
                return
            self.acknowledged.append(number)
            self.longest_s = max(self.longest_s, time.monotonic() - begun)

        value = b"%010d" % number + b"x" * self._size
        self._producer.produce(self.topic, value, partition=0, on_delivery=told)

    def stop(self) -> list[int]:
        """The numbers that were acknowledged, once all have been."""
        self._is_over.set()
        self._thread.join()
        assert self.refused == []
        return self.acknowledged


class Reader:
    """Reads the numbers in a thread, from the start, until it has seen what was acknowledged."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.read: list[int] = []
        self.failures: list[str] = []
        self._wanted: int | None = None
        self._consumer = Consumer(
            {"bootstrap.servers": bootstrap, "group.id": topic, "log_level": 0}
        )
        self._consumer.assign([TopicPartition(topic, 0, 0)])
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        deadline_s = float("inf")
        while self._wanted is None or len(self.read) < self._wanted:
            if self._wanted is not None and deadline_s == float("inf"):
                deadline_s = time.monotonic() + PATIENCE_S
            if time.monotonic() > deadline_s:
                break
            for message in self._consumer.consume(1_000, 0.1):
                value = message.value()
                if message.error() is not None or not isinstance(value, bytes):
                    self.failures.append(str(message.error()))
                else:
                    self.read.append(int(value[:10]))
        self._consumer.close()

    def until(self, count: int) -> list[int]:
        """What was read, once that are so many."""
        self._wanted = count
        self._thread.join()
        assert self.failures == []
        return self.read
