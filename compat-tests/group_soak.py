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
import contextlib
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from client_builds import Family
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from families import AIOKAFKA, FRANZ_GO, KAFKA_PYTHON, LIBRDKAFKA
from own_broker import OwnBroker
from soak_parts import (
    ADMIN_TIMEOUT_S,
    TOPIC,
    Committed,
    Part,
    Reader,
    SoakFailed,
    Writing,
)

KINDS = (LIBRDKAFKA, KAFKA_PYTHON, AIOKAFKA, FRANZ_GO)
DRAIN_TIMEOUT_S = 90.0


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
        """Nothing is written any more: before long all is read, committed and shared out.

        A rebalance may be under way when the last record is read, as long as it ends.
        """
        deadline = time.monotonic() + DRAIN_TIMEOUT_S
        while not self._is_drained(writing, committed):
            if time.monotonic() > deadline:
                behind = [n for n, part in enumerate(self.parts) if part.unread or part.ahead]
                raise SoakFailed(f"never read to the end, or shared: {behind}\n{self.told()}")
            self._look(writing, committed)
            time.sleep(0.05)

    def _is_drained(self, writing: Writing, committed: Committed) -> bool:
        ends = {n: part.next_offset for n, part in enumerate(self.parts)}
        return (
            not writing.acked
            and not any(part.unread or part.ahead for part in self.parts)
            and committed.offsets == ends
            and self._each_has_one_member()
        )

    def _each_has_one_member(self) -> bool:
        held = sorted(partition for reader in self.readers for partition in reader.held)
        return held == list(range(self.plan.partitions))

    def _check_end(self, writing: Writing, committed: Committed) -> None:
        self.report.records = writing.count
        total = sum(part.next_offset for part in self.parts)
        if total != writing.count:
            raise SoakFailed(f"{writing.count} records were acknowledged, {total} are there")
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
    except AssertionError as failure:
        print(f"failed: {failure}", file=sys.stderr)
        return 1
    print(report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
