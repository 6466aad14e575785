"""A Kafka in twenty lines that does no wrong, and clients that have every kind of bad luck.

It makes histories for the tests of the checker: whatever the operations, nothing may be found.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from exactly_once.checker.history import Place

Event = dict[str, Any]
INPUTS = [Place("in", 0), Place("in", 1)]
OUTPUTS = [Place("out", 0), Place("out", 1)]
GROUP = "movers"
TIMEOUT_MS = 1_000_000


@dataclass
class Open:
    """A transaction that has not ended: (place, offset) of its records, offsets to commit."""

    name: str
    records: list[tuple[Place, int]] = field(default_factory=list)
    offsets: dict[Place, int] = field(default_factory=dict)


class PerfectKafka:
    """Partitions, open transactions, and the history of those who used them."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.logs: dict[Place, list[str | None]] = {place: [] for place in INPUTS + OUTPUTS}
        self.aborted: set[tuple[Place, int]] = set()
        self.open: dict[str, Open] = {}
        self.group = dict.fromkeys(INPUTS, 0)
        self.positions: dict[tuple[str, Place], int] = {}
        self._now = 0
        self._count = 0

    def note(self, event: str, **fields: Any) -> None:
        self._now += 1
        self.events.append({"e": event, "at": self._now, **fields})

    def stable_offset(self, place: Place) -> int:
        held = [o for each in self.open.values() for at, o in each.records if at == place]
        return min(held, default=len(self.logs[place]))

    # --- producers ---------------------------------------------------------------------

    def begin(self, producer: str) -> Open:
        if producer not in self.open:
            self._count += 1
            self.open[producer] = Open(f"{producer}.{self._count}")
            ids = {"id": producer, "process": producer, "timeout_ms": TIMEOUT_MS}
            self.note("begin", txn=self.open[producer].name, **ids)
        return self.open[producer]

    def send(
        self, producer: str, place: Place, *, luck: str = "acked", source: str | None = None
    ) -> None:
        """`luck`: "acked", "unanswered" (it was written), or "lost" (it never came)."""
        transaction = self.begin(producer)
        self._count += 1
        value = f"{transaction.name}/{self._count}"
        at = {"txn": transaction.name, "value": value}
        self.note("send", topic=place.topic, partition=place.partition, source=source, **at)
        if luck == "lost":
            return
        log = self.logs[place]
        transaction.records.append((place, len(log)))
        log.append(value)
        if luck == "acked":
            self.note("acked", offset=len(log) - 1, **at)

    def end(self, producer: str, *, commit: bool, luck: str = "acked") -> None:
        """`luck` as in `send`: what was lost is aborted by the broker when its time is over."""
        transaction = self.open.get(producer)
        if transaction is None:
            return
        self.note("end", txn=transaction.name, commit=commit)
        self.finish(producer, commit=commit and luck != "lost")
        if luck == "acked":
            self.note("ended", txn=transaction.name, error=None)
        elif luck == "unanswered":
            self.note("ended", txn=transaction.name, error="timed out")

    def finish(self, producer: str, *, commit: bool) -> None:
        """The broker's part of an end: markers, and the group's offsets."""
        transaction = self.open.pop(producer)
        if commit:
            self.group |= transaction.offsets
        else:
            self.aborted.update(transaction.records)
        for place in {place for place, _ in transaction.records}:
            self.logs[place].append(None)

    def move(self, count: int, place: Place, to: Place) -> None:
        """The mover's one transaction, up to where it would end it."""
        if "mover" in self.open:
            return
        transaction = self.begin("mover")
        start = self.group[place]
        records = self.visible(place, start)[:count]
        self.read(f"mover{self._count}", place, start, records, committed=True)
        for _, value in records:
            self.send("mover", to, source=value)
        if records:
            transaction.offsets[place] = records[-1][0] + 1
            offsets = [[*place, transaction.offsets[place]]]
            self.note("offsets", txn=transaction.name, group=GROUP, offsets=offsets)

    # --- readers -----------------------------------------------------------------------

    def visible(self, place: Place, start: int) -> list[tuple[int, str]]:
        """What read_committed is given from an offset on."""
        log = self.logs[place]
        return [
            (offset, value)
            for offset in range(start, self.stable_offset(place))
            if (value := log[offset]) is not None and (place, offset) not in self.aborted
        ]

    def read(
        self,
        session: str,
        place: Place,
        start: int,
        records: list[tuple[int, str]],
        *,
        committed: bool,
    ) -> None:
        at = {"session": session, "topic": place.topic, "partition": place.partition}
        if (session, place) not in self.positions:
            self.note("start", offset=start, **at)
        self.positions[session, place] = records[-1][0] + 1 if records else start
        self.note("poll", committed=committed, records=[list(each) for each in records], **at)

    def poll(self, session: str, place: Place, count: int, *, committed: bool) -> None:
        start = self.positions.get((session, place), 0)
        records = self.visible(place, start)
        if not committed:
            log = self.logs[place]
            records = [(o, v) for o in range(start, len(log)) if (v := log[o]) is not None]
        self.read(session, place, start, records[:count], committed=committed)

    def ask_stable_offset(self, place: Place) -> None:
        offset = self.stable_offset(place)
        self.note("stable", topic=place.topic, partition=place.partition, offset=offset)

    def drain(self) -> None:
        """The end: what is open runs out of time, everything is moved and read."""
        for producer in list(self.open):
            self.finish(producer, commit=False)
        for place in INPUTS:
            while self.visible(place, self.group[place]):
                self.move(10, place, OUTPUTS[0])
                self.end("mover", commit=True)
            group = {"group": GROUP, "offset": self.group[place]}
            self.note("group", topic=place.topic, partition=place.partition, **group)
        for place, log in self.logs.items():
            self.poll("last", place, len(log), committed=True)
            self.note("drained", topic=place.topic, partition=place.partition, end=len(log))


def random_history(random: Random, steps: int) -> list[Event]:
    """A history of everything that may happen to clients of a broker that does no wrong."""
    kafka = PerfectKafka()
    readers = [("reader", True), ("other", True), ("uncommitted", False)]
    luck = ["acked", "acked", "acked", "unanswered", "lost"]
    for step in range(steps):
        writer = random.choice(["writer1", "writer2"])
        place = random.choice(INPUTS + OUTPUTS)
        what = random.randrange(10)
        if what < 3:
            kafka.send(writer, random.choice(INPUTS), luck=random.choice(luck[:4]))
        elif what < 5:
            name = random.choice([writer, "mover"])
            kafka.end(name, commit=random.random() < 0.7, luck=random.choice(luck))
        elif what < 7:
            reader, committed = random.choice(readers)
            if random.random() < 0.1:
                readers = [(f"{name}+{step}", each) for name, each in readers]
            kafka.poll(reader, place, random.randrange(4), committed=committed)
        elif what == 7:
            kafka.move(random.randrange(4), random.choice(INPUTS), random.choice(OUTPUTS))
        else:
            kafka.ask_stable_offset(place)
    kafka.drain()
    return kafka.events
