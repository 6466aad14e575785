"""One run of Barnabas with transactions, killed while they go on, that leaves a data directory.

Java producers of both protocols commit and abort, a group member transforms; the broker is killed
between the records and the end of a transaction, and again right behind a commit's answer. It
stops with a transaction open. `read_all` is what a Java consumer sees of a broker.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from broker_admin import BrokerAdmin
from clients import ClientPool, Event
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition
from families import JAVA_LAST_WITH_ZOOKEEPER, JAVA_NEWEST, LIBRDKAFKA
from own_broker import OwnBroker
from transactors import Transactor, transactor

ISOLATIONS = ("read_committed", "read_uncommitted")
PATIENCE_SECONDS = 60.0
SETTINGS = (
    "offsets.topic.num.partitions=1",
    "transaction.state.log.num.partitions=1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms=600000",
)
TOPIC, COPY, GROUP = "written", "copied", "copiers"
PARTITIONS = {TOPIC: 2, COPY: 2}
COPIED = 6
KILLED_BEFORE_THE_END = ("new1",)
KILLED_BEHIND_THE_END = ("new2", "old0")
Contents: TypeAlias = dict[tuple[str, int, str], list[Event]]


def read_all(clients: ClientPool, ends: Mapping[tuple[str, int], int]) -> Contents:
    """By topic, partition and isolation level, what a Java consumer gets before an end offset.

    The record at the end has to be there and visible: nothing can hide behind it. librdkafka
    counts what there is, so that Java need not wait for more.
    """
    found: Contents = {}
    for (topic, partition), end in ends.items():
        for isolation in ISOLATIONS:
            count = _count(clients.bootstrap, topic, partition, isolation)
            events = clients.run(
                JAVA_NEWEST, "consume", topic=topic, partition=partition, isolation=isolation,
                count=count,
            )  # fmt: skip
            assert len(events) == count
            offsets = [each["offset"] for each in events]
            assert end in offsets, (topic, partition, isolation)
            found[topic, partition, isolation] = events[: offsets.index(end)]
    return found


def _count(address: str, topic: str, partition: int, isolation: str) -> int:
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "nobody",
            "isolation.level": isolation,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
    count = 0
    while (message := consumer.poll(PATIENCE_SECONDS)) is not None and message.error() is None:
        count += 1
    assert message is not None and message.error().code() == KafkaError._PARTITION_EOF
    consumer.close()
    return count


def end_records(clients: ClientPool, ends: Mapping[tuple[str, int], int]) -> None:
    """Write one record without a transaction to the end of each partition."""
    for topic, partition in ends:
        clients.run(LIBRDKAFKA, "produce", topic=topic, partition=partition, count=1, prefix="end")


class OurRun:
    """A Barnabas that has stopped, and what a Java consumer saw of it."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self._broker = OwnBroker(folder, SETTINGS)
        try:
            address = self._broker.address
            admin, clients = BrokerAdmin(address), ClientPool(address)
            for topic, count in PARTITIONS.items():
                admin.create_topic_named(topic, count)
            self._write(clients)
            self.ends = {
                (topic, number): admin.end_offset(topic, number)
                for topic, count in PARTITIONS.items()
                for number in range(count)
            }
            end_records(clients, self.ends)
            self.seen = read_all(clients, self.ends)
            self.committed = admin.committed(GROUP)
            self._leave_open(clients)
            clients.close()
        finally:
            self._broker.close()

    def _kill_and_start(self) -> None:
        self._broker.kill()
        self._broker.start()

    def _write(self, clients: ClientPool) -> None:
        for family, prefix in ((JAVA_NEWEST, "new"), (JAVA_LAST_WITH_ZOOKEEPER, "old")):
            with (
                transactor(clients, family, f"{prefix}-1") as one,
                transactor(clients, family, f"{prefix}-2") as two,
            ):
                one.init()
                two.init()
                for number in range(3):
                    self._interleave(one, two, f"{prefix}{number}")
        clients.run(
            JAVA_NEWEST, "transform", transactional_id="copier", topic=TOPIC, to=COPY,
            group=GROUP, count=COPIED, batch=3,
        )  # fmt: skip

    def _interleave(self, one: Transactor, two: Transactor, prefix: str) -> None:
        one.begin()
        two.begin()
        one.send(TOPIC, 3, f"{prefix}-kept", 0)
        two.send(TOPIC, 2, f"{prefix}-lost", 0)
        two.send(TOPIC, 2, f"{prefix}-lost", 1)
        one.send(TOPIC, 1, f"{prefix}-kept", 1)
        if prefix in KILLED_BEFORE_THE_END:
            self._kill_and_start()
        two.abort()
        one.commit()
        if prefix in KILLED_BEHIND_THE_END:
            self._kill_and_start()

    def _leave_open(self, clients: ClientPool) -> None:
        program = clients.take(JAVA_NEWEST)
        options = {"bootstrap": clients.bootstrap, "transactional_id": "open", "timeout_ms": 1_000}
        producer = Transactor(program, options)
        producer.init()
        producer.begin()
        producer.send(TOPIC, 2, "open", 0)
        program.kill()
