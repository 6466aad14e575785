"""All that is done to a cluster: the load with its group, and the transactions beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from exactly_once.checker.history import Place
from exactly_once.clients import Client as TransactionClient
from exactly_once.clients import Part as TransactionPart
from exactly_once.clients import Run as TransactionRun
from exactly_once.final import Final as TransactionFinal
from exactly_once.final import NeverEnded
from exactly_once.workers.recorder import Recorder

from cluster.clients import TOPICS, Client, Load, members, producers
from cluster.final import ASK_S, Final, until

PARTITIONS = 4
FIRST, SECOND = "first", "second"
TRANSACTIONS = "transactions"
"""The folder of their histories."""
PARTS = (
    TransactionPart("writer", "librdkafka", 1, target=FIRST),
    TransactionPart("writer", "java-3.9.1", 1, target=FIRST),
    TransactionPart("mover", "kafka-python", 1, FIRST, SECOND, "movers"),
    TransactionPart("mover", "librdkafka", 1, FIRST, SECOND, "movers"),
    TransactionPart("reader", "librdkafka", 1, SECOND),
)


def create_topics(bootstrap: str, replicas: int) -> None:
    """Those of the load and of the transactions."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    known = lambda: len(admin.list_topics(timeout=ASK_S).brokers)  # noqa: E731
    until(lambda: f"{known()} brokers", lambda: known() == replicas, lambda: None)
    topics = [NewTopic(topic, PARTITIONS, replicas) for topic in (*TOPICS, FIRST, SECOND)]
    for made in admin.create_topics(topics, request_timeout=60).values():
        made.result(60)


class Workload:
    """Runs from the start, until `end`; `close` ends what is left of it."""

    def __init__(self, bootstrap: str, folder: Path, seed: int, rate: float) -> None:
        self.folder = folder
        self._bootstrap = bootstrap
        self._load = Load(bootstrap, folder, seed, PARTITIONS, rate)
        aside = folder / TRANSACTIONS
        aside.mkdir(parents=True)
        run = TransactionRun(bootstrap, aside, seed, PARTITIONS)
        self.clients: list[Client] = []
        self.transactions: list[TransactionClient] = []
        self._members = members(self._load)
        self.clients = [*producers(self._load), *self._members]
        self.transactions = [TransactionClient(part, run) for part in PARTS]

    def idle(self) -> list[str]:
        """Producers that have not been acknowledged anything yet."""
        names = [
            part.name
            for client in self.clients
            if client not in self._members
            for part in client.parts
        ]
        return [name for name in names if not self._was_acknowledged(name)]

    def _was_acknowledged(self, name: str) -> bool:
        files = self.folder.glob(f"{name}-*.jsonl")
        return any('"acked"' in path.read_text(errors="replace") for path in files)

    def look(self) -> None:
        """Start again what has ended by itself."""
        for client in (*self.clients, *self.transactions):
            client.look()

    def end(self, meanwhile: Callable[[], None]) -> str:
        """Stop writers, then let everything be read; what never ended, if anything."""
        try:
            self._end_load(meanwhile)
            self._end_transactions(meanwhile)
        except NeverEnded as hanging:
            return str(hanging)
        return ""

    def _end_load(self, meanwhile: Callable[[], None]) -> None:
        writers = [client for client in self.clients if client not in self._members]
        self.clients = list(self._members)
        _finish(writers)
        final = Final(self._bootstrap, Recorder(self.folder / "final.jsonl"), meanwhile)
        final.read(Place(topic, number) for topic in TOPICS for number in range(PARTITIONS))
        final.until_read(self._load.group)
        self.clients = []
        _finish(self._members)
        final.note_group(self._load.group)

    def _end_transactions(self, meanwhile: Callable[[], None]) -> None:
        """Topic after topic: nobody writes into it any more, so it can be read to its end."""

        def look() -> None:
            meanwhile()
            self.look()

        recorder = Recorder(self.folder / TRANSACTIONS / "final.jsonl")
        final = TransactionFinal(self._bootstrap, recorder, look)
        for topic in (FIRST, SECOND):
            writers = [each for each in self.transactions if each.part.target == topic]
            self.transactions = [each for each in self.transactions if each not in writers]
            _finish(writers)
            places = [Place(topic, partition) for partition in range(PARTITIONS)]
            final.settle(places)
            for each in self.transactions:
                if each.part.source == topic and each.part.group:
                    final.until_moved(each.part.group, places)
                    break
        _finish(self.transactions)

    def close(self) -> None:
        """End every client, by force."""
        for client in (*self.clients, *self._members, *self.transactions):
            client.close()


def _finish(clients: Sequence[Client] | Sequence[TransactionClient]) -> None:
    for client in clients:
        client.stop()
    for client in clients:
        client.join()
        client.close()
