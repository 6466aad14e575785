"""What a client does all day: write, move, or read; in small transactions, some of them aborted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from exactly_once.checker.history import Place
from exactly_once.workers.consumers import Batch, Reading, Trouble
from exactly_once.workers.producers import (
    TRANSACTION_MS,
    Abortable,
    Fatal,
    TransactionalProducer,
    Undecided,
)
from exactly_once.workers.recorder import Recorder

ATTEMPTS = 6
ABORTED_SHARE = 0.15
SLOW_SHARE = 0.04


@dataclass
class Options:
    """One process: its name is new with every start, its transactional id is not."""

    name: str
    transactional_id: str
    bootstrap: str
    seed: str
    partitions: int
    source: str = ""
    target: str = ""
    group: str = ""
    committed: bool = True


class Transactions:
    """The transactions of one producer, written down."""

    def __init__(
        self, options: Options, producer: TransactionalProducer, recorder: Recorder
    ) -> None:
        self.recorder = recorder
        self._options, self._producer = options, producer
        self._count = self._records = 0
        self.name = ""

    def start(self) -> None:
        """InitProducerId, however long it takes. Raises Fatal."""
        for _ in range(ATTEMPTS):
            try:
                self._producer.start()
                return
            except (Undecided, Abortable):
                time.sleep(0.2)
        raise Fatal("no producer id")

    def run(self, body: Callable[[], None], *, commit: bool) -> bool:
        """One transaction; whether it was committed. Raises Fatal."""
        self._begin()
        try:
            body()
            self._producer.flush()
            if commit:
                self._end(commit=True)
                return True
        except Abortable:
            pass
        except Undecided as trouble:
            self.recorder.note("trouble", txn=self.name, error=str(trouble))
        self._end(commit=False)
        return False

    def _begin(self) -> None:
        self._count += 1
        self.name = f"{self._options.name}.{self._count}"
        self.recorder.note(
            "begin",
            txn=self.name,
            id=self._options.transactional_id,
            process=self._options.name,
            timeout_ms=TRANSACTION_MS,
        )
        try:
            self._producer.begin()
        except (Abortable, Undecided) as error:
            raise Fatal(str(error)) from None

    def _end(self, *, commit: bool) -> None:
        name = self.name
        self.recorder.note("end", txn=name, commit=commit)
        call = self._producer.commit if commit else self._producer.abort
        try:
            self._until_decided(call)
        except (Abortable, Fatal) as error:
            self.recorder.note("ended", txn=name, error=str(error))
            if commit:
                raise
            raise Fatal(str(error)) from None
        self.recorder.note("ended", txn=name, error=None)

    def _until_decided(self, call: Callable[[], None]) -> None:
        for _ in range(ATTEMPTS):
            try:
                return call()
            except Undecided:
                continue
        raise Fatal("undecided to the last")

    def send(self, place: Place, source: str | None = None) -> None:
        """One record, of a value that nobody else writes."""
        name = self.name
        self._records += 1
        value = f"{name}/{self._records}"
        self.recorder.note(
            "send",
            txn=name,
            value=value,
            topic=place.topic,
            partition=place.partition,
            source=source,
        )

        def acked(offset: int) -> None:
            self.recorder.note("acked", txn=name, value=value, offset=offset)

        self._producer.send(place, value, acked)

    def send_offsets(self, offsets: dict[Place, int], consumer: Reading) -> None:
        """The group's positions, as part of the transaction."""
        told = [[*place, offset] for place, offset in offsets.items()]
        self.recorder.note("offsets", txn=self.name, group=self._options.group, offsets=told)
        group = consumer.group()
        for _ in range(ATTEMPTS):
            try:
                return self._producer.send_offsets(offsets, group)
            except Undecided:
                continue
        raise Abortable("offsets undecided")


def write(options: Options, transactions: Transactions, over: threading.Event) -> None:
    """A plain transactional writer."""
    chance = Random(options.seed)

    def records() -> None:
        slow = chance.random() < SLOW_SHARE
        for _ in range(chance.randrange(1, 9)):
            transactions.send(Place(options.target, chance.randrange(options.partitions)))
            if slow:
                over.wait(chance.uniform(0, 1))

    while not over.is_set():
        transactions.run(records, commit=chance.random() > ABORTED_SHARE)
        over.wait(chance.uniform(0.0, 0.1))


def move(
    options: Options, transactions: Transactions, consumer: Reading, over: threading.Event
) -> None:
    """Reads records of one topic and writes each to another, its positions along with them."""
    chance = Random(options.seed)
    consumer.subscribe(options.source)
    while not over.is_set():
        batch = consumer.poll(chance.randrange(1, 12))
        note_polls(options, transactions.recorder, consumer, batch)
        if not batch:
            continue

        def records(batch: Batch = batch) -> None:
            for value in (value for read in batch.values() for _, value in read):
                to = Place(options.target, chance.randrange(options.partitions))
                transactions.send(to, source=value)
            offsets = {place: read[-1][0] + 1 for place, read in batch.items()}
            transactions.send_offsets(offsets, consumer)

        if not transactions.run(records, commit=chance.random() > ABORTED_SHARE):
            _back(consumer, list(batch))


def _back(consumer: Reading, places: list[Place]) -> None:
    for _ in range(ATTEMPTS):
        try:
            return consumer.back_to_committed(places)
        except Trouble:
            continue
    raise Fatal("no committed offsets")


def read(options: Options, recorder: Recorder, consumer: Reading, over: threading.Event) -> None:
    """Reads all partitions, the first time from the start, else from somewhere behind the end."""
    chance = Random(options.seed)
    places = [Place(options.source, partition) for partition in range(options.partitions)]
    starts = dict.fromkeys(places, 0)
    if not options.name.endswith("#1"):
        starts = {place: _near_the_end(consumer, place, chance) for place in places}
    consumer.assign(starts)
    for place, offset in starts.items():
        at = {"topic": place.topic, "partition": place.partition, "offset": offset}
        recorder.note("start", session=_session(options, consumer), **at)
    while not over.is_set():
        note_polls(options, recorder, consumer, consumer.poll(20))
        if options.committed and chance.random() < 0.2:
            _note_stable_offset(recorder, consumer, chance.choice(places))


def _near_the_end(consumer: Reading, place: Place, chance: Random) -> int:
    try:
        return max(0, consumer.stable_offset(place) - chance.randrange(300))
    except Trouble:
        return 0


def _note_stable_offset(recorder: Recorder, consumer: Reading, place: Place) -> None:
    try:
        offset = consumer.stable_offset(place)
    except Trouble:
        return
    recorder.note("stable", topic=place.topic, partition=place.partition, offset=offset)


def _session(options: Options, consumer: Reading) -> str:
    return f"{options.name}:{consumer.session}"


def note_polls(options: Options, recorder: Recorder, consumer: Reading, batch: Batch) -> None:
    """What was read."""
    for place, records in batch.items():
        recorder.note(
            "poll",
            session=_session(options, consumer),
            committed=options.committed,
            topic=place.topic,
            partition=place.partition,
            records=records,
        )
