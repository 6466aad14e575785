"""Kafka Streams with `exactly_once_v2`: a word count over the flights, killed and started again.

Issue 14, item 2. The application writes every count it makes, so that a word's counts are 1, 2, 3
… up to the count of a batch program: a line counted twice, or not, would show; so would an
aborted count that a reader of committed records sees.
"""

from __future__ import annotations

import subprocess
import time
from collections import Counter, defaultdict
from pathlib import Path

from broker_admin import BrokerAdmin, unique_name
from client_builds import HERE, built, run_build
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition
from flights import KEPT, PARTITIONS, columns, flights, send_flights
from oracles import java_command, require_oracle, stop

RELEASE = "4.4.0"
SOURCE = HERE / "streams" / "WordCount.java"
LINES = 60_000
WORDS = ("carrier", "origin", "dest")
KILLED_AT = (0.1, 0.35, 0.6)
"""The shares of the lines that are committed when the application is killed."""
PATIENCE_SECONDS = 240.0


class Application:
    """The word count, in a process of its own."""

    def __init__(self, address: str, lines: str, counts: str, folder: Path) -> None:
        jars = require_oracle(f"jars-{RELEASE}")
        classes = built(SOURCE.parent, "classes", [SOURCE.read_text()], _compile)
        self.name = unique_name("words")
        fields = ",".join(str(columns().index(word)) for word in WORDS)
        program = ("WordCount", address, self.name, str(folder), lines, counts, fields)
        self._command = java_command(jars, *program, classes=classes)
        self._log = folder / "application.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)

    def kill(self) -> None:
        """SIGKILL."""
        assert self._process is not None
        self.check()
        self._process.kill()
        self._process.wait()

    def check(self) -> None:
        """It is still running."""
        assert self._process is not None
        assert self._process.poll() is None, self._log.read_text()[-3000:]

    def close(self) -> None:
        if self._process is not None:
            stop(self._process)


def _compile(target: Path) -> None:
    jars = require_oracle(f"jars-{RELEASE}")
    run_build(["javac", "-d", str(target), "-cp", f"{jars}/*", str(SOURCE)])


def test_a_word_count_equals_a_batch_count_though_it_was_killed_three_times(
    broker_address: str, broker_admin: BrokerAdmin, tmp_path: Path
) -> None:
    source = broker_admin.create_topic("flights", PARTITIONS, KEPT)
    target = broker_admin.create_topic("counts", PARTITIONS, KEPT)
    send_flights(broker_address, source, stop=LINES)
    application = Application(broker_address, source, target, tmp_path)
    try:
        application.start()
        for share in KILLED_AT:
            _wait_until_committed(application, broker_admin, source, int(share * LINES))
            application.kill()
            application.start()
        _wait_until_committed(application, broker_admin, source, LINES)
        expected = _batch_count()
        found = _read_counts(broker_address, application, target, sum(expected.values()))
    finally:
        application.close()
    assert {word: counts[-1] for word, counts in found.items()} == expected
    for word, counts in found.items():
        assert counts == list(range(1, expected[word] + 1)), word


def _batch_count() -> dict[str, int]:
    numbers = [columns().index(word) for word in WORDS]
    counter: Counter[str] = Counter()
    for _, line in flights()[:LINES]:
        fields = line.decode().split(",")
        counter.update(fields[number] for number in numbers)
    return dict(counter)


def _wait_until_committed(
    application: Application, broker_admin: BrokerAdmin, topic: str, count: int
) -> None:
    """Until the application's transactions have committed so many lines of the source."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (done := _committed(application, broker_admin, topic)) < count:
        application.check()
        assert time.monotonic() < deadline, f"{done} of {count} lines are counted"
        time.sleep(0.05)


def _committed(application: Application, broker_admin: BrokerAdmin, topic: str) -> int:
    offsets = broker_admin.committed(application.name)
    return sum(offset for (name, _), offset in offsets.items() if name == topic and offset > 0)


def _read_counts(
    address: str, application: Application, topic: str, count: int
) -> dict[str, list[int]]:
    """Every committed count by word, in order: so many, and no more at the partitions' ends."""
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "nobody",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, n, OFFSET_BEGINNING) for n in range(PARTITIONS)])
    found: dict[str, list[int]] = defaultdict(list)
    read, ended, deadline = 0, set[int](), time.monotonic() + PATIENCE_SECONDS
    while read < count or len(ended) < PARTITIONS:
        assert time.monotonic() < deadline, f"{read} of {count} counts are there"
        application.check()
        for message in consumer.consume(1000, 0.2):
            error = message.error()
            if error is None:
                ended.discard(message.partition())
                found[message.key().decode()].append(int.from_bytes(message.value(), "big"))
                read += 1
            else:
                assert error.code() == KafkaError._PARTITION_EOF, error
                ended.add(message.partition())
    consumer.close()
    return found
