"""A whole run: a broker behind a proxy, clients that move records, a nemesis, and the verdict.

Writers write into `first`, movers carry it to `second` and others on to `third`; readers watch
all three.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from exactly_once.brokers import start_broker, two_ports
from exactly_once.checker.anomalies import Anomaly
from exactly_once.checker.blame import Verdict, blame
from exactly_once.checker.check import check
from exactly_once.checker.history import History, Outcome, Place, read_history
from exactly_once.clients import Client, Part, Run
from exactly_once.final import Final, NeverEnded
from exactly_once.nemesis import Nemesis
from exactly_once.proxy import Proxy
from exactly_once.stored import LOG, keep_log, read_log
from exactly_once.workers.recorder import Recorder

FIRST, SECOND, THIRD = "first", "second", "third"
MOST = 50
"""Anomalies that are told one by one."""
PARTS = (
    Part("writer", "librdkafka", 1, target=FIRST),
    Part("writer", "kafka-python", 1, target=FIRST),
    Part("writer", "java-4.4.0", 1, target=FIRST),
    Part("mover", "librdkafka", 1, FIRST, SECOND, "movers"),
    Part("mover", "kafka-python", 1, FIRST, SECOND, "movers"),
    Part("mover", "java-3.9.1", 1, SECOND, THIRD, "carriers"),
    Part("mover", "librdkafka", 2, SECOND, THIRD, "carriers"),
    Part("reader", "librdkafka", 1, FIRST),
    Part("reader", "kafka-python", 1, SECOND),
    Part("reader", "librdkafka", 2, THIRD),
    Part("reader", "librdkafka", 3, SECOND, committed=False),
)


@dataclass(frozen=True)
class Plan:
    """What to do. `calm` is without a nemesis."""

    broker: str = "barnabas"
    seconds: float = 60.0
    seed: int = 1
    partitions: int = 3
    calm: bool = False
    parts: Sequence[Part] = PARTS


@dataclass
class Result:
    """What happened, and what must not have."""

    anomalies: list[Anomaly] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    stored: list[str] = field(default_factory=list)
    hanging: str = ""
    complaints: str = ""
    failures: list[str] = field(default_factory=list)
    transactions: Counter[str] = field(default_factory=Counter)
    records: int = 0
    read: int = 0
    stable_offsets: int = 0
    events: Counter[str] = field(default_factory=Counter)

    @property
    def is_good(self) -> bool:
        """Nothing was found but what clients have done by themselves."""
        blamed = [verdict for verdict in self.verdicts if verdict.whose != "client"]
        return not (blamed or self.hanging or self.complaints or self.failures)

    def __str__(self) -> str:
        events = ", ".join(f"{name} {count}" for name, count in sorted(self.events.items()))
        ends = ", ".join(f"{count} {name}" for name, count in self.transactions.items())
        found = zip(self.anomalies[:MOST], self.verdicts, strict=False)
        lines = [
            f"transactions: {ends}; {self.records} records sent, {self.read} reads, "
            f"{self.stable_offsets} last stable offsets",
            f"what happened: {events}",
            *(f"{anomaly}\n    {verdict}" for anomaly, verdict in found),
            *sorted(self.stored),
            *self.failures,
            self.hanging and f"never ended: {self.hanging}",
            self.complaints and f"the broker logged:\n{self.complaints}",
            f"{len(self.anomalies)} anomalies" if self.anomalies else "no anomaly",
        ]
        return "\n".join(line for line in lines if line)


@contextmanager
def _closing(clients: Sequence[Client]) -> Iterator[None]:
    try:
        yield
    finally:
        for client in clients:
            client.close()


def run(plan: Plan, folder: Path) -> Result:
    """Do it; histories, logs and the broker's data are in the folder afterwards."""
    folder.mkdir(parents=True, exist_ok=True)
    port, advertised = two_ports()
    bootstrap = f"127.0.0.1:{advertised}"
    result = Result()
    with ExitStack() as stack:
        proxy = Proxy(advertised, port, plan.seed)
        stack.callback(proxy.close)
        broker = start_broker(plan.broker, folder / "broker", port, advertised)
        stack.callback(broker.close)
        _create_topics(bootstrap, plan.partitions)
        shared = Run(bootstrap, folder, plan.seed, plan.partitions)
        clients = [Client(part, shared) for part in plan.parts]
        stack.enter_context(_closing(clients))
        nemesis = Nemesis(plan.seed, broker, proxy, clients)
        _live(plan, nemesis, clients)
        result.hanging = _end(plan, bootstrap, folder, clients)
        result.events = nemesis.counts + proxy.counts
        for client in clients:
            result.events[f"{client.part.client} hung"] += client.hung
        result.complaints = broker.complaints()
        result.failures = [_last_words(client) for client in clients if client.failures]
        broker.kill()
        keep_log(broker.data, folder / LOG)
        _judge(folder, result)
    return result


def _create_topics(bootstrap: str, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    topics = [NewTopic(topic, partitions, 1) for topic in (FIRST, SECOND, THIRD)]
    for made in admin.create_topics(topics).values():
        made.result(20)


def _live(plan: Plan, nemesis: Nemesis, clients: Sequence[Client]) -> None:
    started = time.monotonic()
    next_strike = started + nemesis.pause_s()
    while (now := time.monotonic()) < started + plan.seconds:
        for client in clients:
            client.look()
        if now >= next_strike and not plan.calm:
            nemesis.strike()
            next_strike = time.monotonic() + nemesis.pause_s()
        time.sleep(0.05)


def _end(plan: Plan, bootstrap: str, folder: Path, clients: Sequence[Client]) -> str:
    """Topic after topic: nobody writes into it any more, so it can be read to its end."""
    left = list(clients)

    def look() -> None:
        for client in left:
            client.look()

    final = Final(bootstrap, Recorder(folder / "final.jsonl"), look)
    for topic in (FIRST, SECOND, THIRD):
        writers = [client for client in left if client.part.target == topic]
        left = [client for client in left if client not in writers]
        for client in writers:
            client.stop()
        for client in writers:
            client.join()
        places = [Place(topic, partition) for partition in range(plan.partitions)]
        try:
            final.settle(places)
            for group in {client.part.group for client in left if client.part.source == topic}:
                if group:
                    final.until_moved(group, places)
        except NeverEnded as hanging:
            return str(hanging)
    for client in left:
        client.stop()
    for client in left:
        client.join()
    return ""


def _last_words(client: Client) -> str:
    said = client.errors.read_text(errors="replace")[-2000:]
    return f"{client.part.name} failed by itself:\n{said}"


def _judge(folder: Path, result: Result) -> None:
    history = read_history(sorted(folder.glob("*.jsonl")))
    result.anomalies = check(history)
    _count(history, result)
    if result.anomalies:
        log = read_log(folder / LOG)
        result.verdicts = [blame(anomaly, history, log) for anomaly in result.anomalies]
        for value in {value for anomaly in result.anomalies[:MOST] for value in anomaly.values}:
            result.stored += [f"{value} in {copy}" for copy in log.get(value, ())]


def _count(history: History, result: Result) -> None:
    for transaction in history.transactions.values():
        result.transactions[transaction.outcome.value] += 1
        result.records += len(transaction.sends)
    if not result.transactions[Outcome.COMMITTED.value]:
        result.failures.append("nothing was committed")
    result.read = sum(len(poll.records) for poll in history.polls)
    result.stable_offsets = len(history.stable)


def judge(folder: Path) -> Result:
    """The verdict over a folder that an earlier run has left."""
    result = Result()
    _judge(folder, result)
    return result
