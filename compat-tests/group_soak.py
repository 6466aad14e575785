"""A long life of one group: members of several clients come, go and are killed under load.

A producer writes numbered records all the time. Every few seconds a member is killed, leaves,
or is added; on request the broker itself is killed with SIGKILL in the middle and started
again. What must hold, and is checked all along:

* every record that was acknowledged is read at least once, and none is skipped;
* in every partition records are read in the order in which they were written;
* the committed offset of a partition never goes back;
* no member is left without partitions, and no record unread, for longer than a limit.

`scripts/soak` runs it for ten minutes, `groups/test_soak.py` for one.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from broker_fixture import SETTINGS
from client_builds import Family
from clients import Program, command_line
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, Producer
from confluent_kafka import Message as Delivered
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from families import AIOKAFKA, FRANZ_GO, KAFKA_PYTHON, LIBRDKAFKA
from kafka_server import free_ports
from oracles import stop

KINDS = (LIBRDKAFKA, KAFKA_PYTHON, AIOKAFKA, FRANZ_GO)
TOPIC, GROUP = "soak", "soak"
SESSION_MS = 6_000
RECORDS_PER_SECOND = 300
ADMIN_TIMEOUT_S = 10.0
DRAIN_TIMEOUT_S = 90.0


class SoakFailed(AssertionError):
    """Something that must hold did not."""


@dataclass(frozen=True)
class Plan:
    """What to do, and how long a record or member may wait."""

    seconds: float = 600.0
    members: int = 12
    partitions: int = 24
    kill_broker: bool = False
    limit_s: float = 60.0
    seed: int = 1
    kinds: Sequence[Family] = KINDS


# --- the broker --------------------------------------------------------------------------


class OwnBroker:
    """A Barnabas in a child process, on one port for all of its lives."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (port,) = free_ports(1)
        self.address = f"127.0.0.1:{port}"
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start it and wait until it listens."""
        command = [sys.executable, "-m", "barnabas", "start", "--listen", self.address]
        command += ["--data-dir", str(self.folder / "data")]
        for setting in SETTINGS:
            command += ["--set", setting]
        with (self.folder / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)
        assert self._process.stdout is not None
        if b"listening" not in self._process.stdout.readline():
            raise SoakFailed((self.folder / "broker.log").read_text()[-3000:])

    def kill(self) -> None:
        """SIGKILL."""
        assert self._process is not None and self._process.stdout is not None
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()

    def cpu_seconds(self) -> float:
        """What the present process has used."""
        assert self._process is not None
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / 100

    def complaints(self) -> str:
        """The end of what it has logged as an error, with tracebacks."""
        log = (self.folder / "broker.log").read_text()
        position = log.find(" ERROR ")
        return log[max(0, position - 100) :][:4000] if position >= 0 else ""

    def close(self) -> None:
        """End it."""
        assert self._process is not None
        stop(self._process)


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


# --- the soak --------------------------------------------------------------------------------


@dataclass
class Report:
    """Figures of a soak that went well."""

    records: int = 0
    read: int = 0
    killed: int = 0
    left: int = 0
    added: int = 0
    restarted: int = 0
    broker_killed: int = 0
    longest_unread_s: float = 0.0
    longest_without_partitions_s: float = 0.0


class Soak:
    """Runs a plan."""

    def __init__(self, plan: Plan, address: str, broker: OwnBroker | None) -> None:
        self.plan, self.address, self.broker = plan, address, broker
        self.report = Report()
        self.parts = [Part() for _ in range(plan.partitions)]
        self.readers: list[Reader] = []
        self._chance = random.Random(plan.seed)
        admin = AdminClient({"bootstrap.servers": address, "log_level": 0})
        made = admin.create_topics([NewTopic(TOPIC, plan.partitions, 1)])
        made[TOPIC].result(ADMIN_TIMEOUT_S)

    def run(self) -> Report:
        """Do it. Raises SoakFailed."""
        for _ in range(self.plan.members):
            self._add()
        self.report.added = 0
        writing, committed = Writing(self.address, self.plan.partitions), Committed(self.address)
        try:
            self._live(writing, committed)
            writing.stop()
            self._drain(writing, committed)
        finally:
            writing.stop()
            for reader in self.readers:
                reader.program.close()
            with contextlib.suppress(KafkaException):
                committed.stop()
        self._check_end(writing, committed)
        return self.report

    def _live(self, writing: Writing, committed: Committed) -> None:
        """The long middle part."""
        started = time.monotonic()
        kill_at = started + self.plan.seconds / 2 if self.plan.kill_broker else float("inf")
        next_event = started + 5
        while (now := time.monotonic()) < started + self.plan.seconds:
            self._look(writing, committed)
            if now >= kill_at:
                kill_at = float("inf")
                self._kill_broker()
            elif now >= next_event:
                next_event = now + self._chance.uniform(2, 6)
                self._something_happens()
            time.sleep(0.05)

    def _something_happens(self) -> None:
        choices: list[Callable[[], None]] = []
        if len(self.readers) > self.plan.members // 2:
            choices += [self._kill, self._leave]
        if len(self.readers) < self.plan.members:
            choices += [self._add, self._add]
        self._chance.choice(choices)()

    def _add(self) -> None:
        kind = self.plan.kinds[self.report.added % len(self.plan.kinds)]
        self.readers.append(Reader(kind, self.address))
        self.report.added += 1

    def _kill(self) -> None:
        reader = self._chance.choice(self.readers)
        reader.take(self.parts)
        self.readers.remove(reader)
        reader.program.kill()
        reader.take(self.parts)
        self.report.killed += 1

    def _leave(self) -> None:
        reader = self._chance.choice(self.readers)
        reader.program.close()
        reader.take(self.parts)
        self.readers.remove(reader)
        self.report.left += 1

    def _kill_broker(self) -> None:
        assert self.broker is not None
        self.broker.kill()
        time.sleep(2)
        self.broker.start()
        self.report.broker_killed += 1

    # Looking.

    def _look(self, writing: Writing, committed: Committed) -> None:
        while writing.acked:
            partition, offset, when = writing.acked.popleft()
            if offset >= self.parts[partition].next_offset:
                self.parts[partition].unread.append((offset, when))
        for reader in tuple(self.readers):
            self.report.read += reader.take(self.parts)
            if reader.ended:
                self._replace(reader)
        if committed.wrong:
            raise SoakFailed(f"committed offsets went back: {committed.wrong}")
        if writing.failed:
            raise SoakFailed(f"records were not acknowledged: {writing.failed[:3]}")
        self._measure()

    def _replace(self, reader: Reader) -> None:
        """A member that gave up, as some clients do without a broker, is started again."""
        self.readers.remove(reader)
        reader.program.close()
        self.readers.append(Reader(reader.family, self.address))
        self.report.restarted += 1

    def _measure(self) -> None:
        now, report = time.monotonic(), self.report
        unread_s = max(part.oldest_unread_s(now) for part in self.parts)
        idle = [now - r.without_partitions_since for r in self.readers if not r.held]
        report.longest_unread_s = max(report.longest_unread_s, unread_s)
        report.longest_without_partitions_s = max([report.longest_without_partitions_s, *idle])
        if max([unread_s, *idle]) > self.plan.limit_s:
            raise SoakFailed(f"stuck: {unread_s:.1f} s unread, members wait {idle}\n{self.told()}")

    def told(self) -> str:
        """What the members hold, for a failure."""
        return "\n".join(f"{r.family.name}: {sorted(r.held)}" for r in self.readers)

    # The end.

    def _drain(self, writing: Writing, committed: Committed) -> None:
        """Nothing is written any more: everything is read and committed before long."""
        deadline = time.monotonic() + DRAIN_TIMEOUT_S
        while not self._is_drained(writing, committed):
            if time.monotonic() > deadline:
                behind = [n for n, part in enumerate(self.parts) if part.unread or part.ahead]
                raise SoakFailed(f"never read to the end: {behind}\n{self.told()}")
            self._look(writing, committed)
            time.sleep(0.05)

    def _is_drained(self, writing: Writing, committed: Committed) -> bool:
        ends = {n: part.next_offset for n, part in enumerate(self.parts)}
        return (
            not writing.acked
            and not any(part.unread or part.ahead for part in self.parts)
            and committed.offsets == ends
        )

    def _check_end(self, writing: Writing, committed: Committed) -> None:
        self.report.records = writing.count
        total = sum(part.next_offset for part in self.parts)
        if total != writing.count:
            raise SoakFailed(f"{writing.count} records were acknowledged, {total} are there")
        held = sorted(partition for reader in self.readers for partition in reader.held)
        if held != list(range(self.plan.partitions)):
            raise SoakFailed(f"not each partition has one member in the end: {held}")
        if committed.wrong:
            raise SoakFailed(f"committed offsets went back: {committed.wrong}")


@contextmanager
def own_broker() -> Iterator[OwnBroker]:
    """A Barnabas in a temporary directory, for the length of a block."""
    with tempfile.TemporaryDirectory(prefix="barnabas-soak-") as folder:
        broker = OwnBroker(Path(folder))
        try:
            yield broker
        finally:
            broker.close()


def soak(plan: Plan) -> Report:
    """Run a plan against a broker of its own. Raises SoakFailed."""
    with own_broker() as broker:
        try:
            return Soak(plan, broker.address, broker).run()
        except SoakFailed as failure:
            raise SoakFailed(f"{failure}\n{broker.complaints()}") from None


def main() -> int:
    """`scripts/soak`."""
    parser = argparse.ArgumentParser(prog="scripts/soak", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--members", type=int, default=12)
    parser.add_argument("--partitions", type=int, default=24)
    parser.add_argument("--kill-broker", action="store_true", help="SIGKILL it in the middle")
    parser.add_argument("--limit-s", type=float, default=60, help="longest wait allowed")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    plan = Plan(
        seconds=options.minutes * 60,
        members=options.members,
        partitions=options.partitions,
        kill_broker=options.kill_broker,
        limit_s=options.limit_s,
        seed=options.seed,
    )
    try:
        report = soak(plan)
    except SoakFailed as failure:
        print(f"failed: {failure}", file=sys.stderr)
        return 1
    print(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
