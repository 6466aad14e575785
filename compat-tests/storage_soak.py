"""A broker under everything at once: `scripts/soak --storage`.

Small segments, so that compaction, retention and flushing never end; producers and a group of
consumers; DeleteRecords, topics created and deleted, settings changed; the broker stopped
(SIGSTOP) for seconds and killed (SIGKILL) again and again. What was acknowledged is known, and
all along and at the end nothing of it may be lost, doubled or unreadable, and the broker may
have logged neither an error nor a traceback. Exit code 1 otherwise.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from confluent_kafka.cimpl import NewTopic
from own_broker import OwnBroker
from soak_parts import SoakFailed
from storage_soak_parts import PARTITIONS, Ledger, Member, Writer, check_everything

SETTINGS = (
    "log.retention.check.interval.ms=100",
    "log.cleaner.backoff.ms=50",
    "log.cleaner.threads=2",
    "log.initial.task.delay.ms=100",
    "log.flush.offset.checkpoint.interval.ms=500",
    "log.flush.start.offset.checkpoint.interval.ms=500",
    "auto.create.topics.enable=false",
)
SMALL = {"segment.bytes": "60000", "file.delete.delay.ms": "0"}
COMPACT = SMALL | {"min.cleanable.dirty.ratio": "0.01"}
TOPICS = {
    "kept": SMALL | {"cleanup.policy": "delete", "retention.ms": "-1"},
    "flushed": SMALL | {"cleanup.policy": "delete", "retention.ms": "-1", "flush.messages": "1"},
    "compacted": COMPACT | {"cleanup.policy": "compact"},
    "both": COMPACT | {"cleanup.policy": "compact,delete", "retention.ms": "1000"},
}
CHECKED = ("kept", "flushed", "compacted")
"""Those of which retention takes nothing; `both` only has to be readable."""
PER_SECOND = 400
TIMEOUT_S = 30.0


@dataclass
class Report:
    """Figures of a soak that went well."""

    records: int = 0
    read_by_group: int = 0
    left_at_the_end: dict[str, int] = field(default_factory=dict)
    events: dict[str, int] = field(default_factory=dict)


class StorageSoak:
    """Runs it."""

    def __init__(self, broker: OwnBroker, seconds: float, seed: int) -> None:
        self.broker, self.seconds = broker, seconds
        self.ledger, self.report = Ledger(), Report()
        self._chance = random.Random(seed)
        self._churned = 0
        self._admin = AdminClient({"bootstrap.servers": broker.address, "log_level": 0})
        self._create([
            NewTopic(name, PARTITIONS, 1, config=config) for name, config in TOPICS.items()
        ])  # fmt: skip

    def run(self) -> Report:
        """Do it. Raises SoakFailed."""
        address = self.broker.address
        self.members = [Member(address, ["kept", "flushed"], self.ledger) for _ in range(2)]
        self.writers = [Writer(address, name, self.ledger, PER_SECOND) for name in TOPICS]
        try:
            self._live()
        finally:
            for part in (*self.writers, *self.members):
                part.stop()
        self._check_end()
        return self.report

    def _live(self) -> None:
        events: list[Callable[[], None]] = [
            self.delete_records, self.delete_records, self.delete_records, self.churn, self.churn,
            self.reconfigure, self.stop_and_go, self.kill, self.change_member,
        ]  # fmt: skip
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            event = self._chance.choice(events)
            name = event.__name__
            self.report.events[name] = self.report.events.get(name, 0) + 1
            with contextlib.suppress(KafkaException):  # nobody answers after a kill
                event()
            self._look()
            time.sleep(self._chance.uniform(0, 0.4))

    def _look(self) -> None:
        failed = [text for writer in self.writers for text in writer.failed]
        if failed or self.ledger.wrong:
            raise SoakFailed(f"{(failed + self.ledger.wrong)[:5]}")
        if not self.broker.is_running:
            raise SoakFailed("the broker has ended by itself")
        if complaints := self.broker.complaints():
            raise SoakFailed(f"the broker complains: {complaints}")

    # --- events ------------------------------------------------------------------------

    def delete_records(self) -> None:
        """Up to what the group has read, or anywhere where nothing is checked."""
        topic, partition = self._chance.choice(list(TOPICS)), self._chance.randrange(PARTITIONS)
        place = topic, partition
        with self.ledger.lock:
            newest = max(self.ledger.acked[place], default=0)
        offset = self._chance.randint(0, newest)
        if topic in ("kept", "flushed"):
            offset = min(offset, max(m.committed.get(place, 0) for m in self.members))
        self.ledger.deleted_below[place] = max(self.ledger.deleted_below[place], offset)
        wanted = [TopicPartition(topic, partition, offset)]
        for result in self._admin.delete_records(wanted, request_timeout=TIMEOUT_S).values():
            result.result(TIMEOUT_S)

    def churn(self) -> None:
        """A topic comes under one of a few names, is written and compacted, and goes."""
        name = f"churn-{self._churned % 3}"
        self._churned += 1
        self._create([NewTopic(name, PARTITIONS, 1, config=TOPICS["both"])])
        writer = Writer(self.broker.address, name, Ledger(), 2_000)
        time.sleep(self._chance.uniform(0.1, 0.6))
        writer.stop()
        for result in self._admin.delete_topics([name], request_timeout=TIMEOUT_S).values():
            result.result(TIMEOUT_S)

    def _create(self, topics: list[NewTopic]) -> None:
        for result in self._admin.create_topics(topics, request_timeout=TIMEOUT_S).values():
            result.result(TIMEOUT_S)

    def reconfigure(self) -> None:
        topic = self._chance.choice(list(TOPICS))
        size = self._chance.choice(("30000", "60000", "200000"))
        entry = ConfigEntry("segment.bytes", size, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        for result in self._admin.incremental_alter_configs([resource]).values():
            result.result(TIMEOUT_S)

    def stop_and_go(self) -> None:
        self.broker.pause(self._chance.uniform(0.2, 2))

    def kill(self) -> None:
        self.broker.kill()
        self.broker.start()

    def change_member(self) -> None:
        """One leaves the group, another one comes."""
        gone = self.members.pop(0)
        gone.stop()
        self.report.read_by_group += gone.read
        self.members.append(Member(self.broker.address, ["kept", "flushed"], self.ledger))

    # --- the end -----------------------------------------------------------------------

    def _check_end(self) -> None:
        """As it stands, and once more after a kill."""
        self.report.records = sum(map(len, self.ledger.acked.values()))
        self.report.read_by_group += sum(member.read for member in self.members)
        for _ in range(2):
            for topic in TOPICS:
                self.report.left_at_the_end[topic] = sum(self._check(topic))
            self._look()
            self.broker.kill()
            self.broker.start()

    def _check(self, topic: str) -> list[int]:
        counts = []
        for partition in range(PARTITIONS):
            place = topic, partition
            if topic not in CHECKED:
                self.ledger.deleted_below[place] = 1 << 62
            is_compacted = "compact" in TOPICS[topic]["cleanup.policy"]
            counts.append(
                check_everything(self.broker.address, self.ledger, place, compacted=is_compacted)
            )
        return counts


def soak(seconds: float, seed: int = 1) -> Report:
    """Run it against a broker of its own. Raises SoakFailed."""
    with tempfile.TemporaryDirectory(prefix="barnabas-storage-soak-") as folder:
        broker = OwnBroker(Path(folder), SETTINGS)
        try:
            return StorageSoak(broker, seconds, seed).run()
        finally:
            broker.close()


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/soak --storage", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    try:
        report = soak(options.minutes * 60, options.seed)
    except AssertionError as failure:
        print(f"failed: {failure}", file=sys.stderr)
        return 1
    print(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
