"""The end of a run: everything is in sync, read once more, and committed by the group."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from exactly_once.checker.history import Place
from exactly_once.final import NeverEnded
from exactly_once.workers.recorder import Recorder

PATIENCE_S = 300.0
ASK_S = 5.0


def until(
    what: Callable[[], str], holds: Callable[[], bool], meanwhile: Callable[[], None]
) -> float:
    """Wait for it; the seconds it took. Raises NeverEnded."""
    began_at = time.monotonic()
    while not holds():
        if time.monotonic() > began_at + PATIENCE_S:
            raise NeverEnded(what())
        meanwhile()
        time.sleep(0.2)
    return time.monotonic() - began_at


class Final:
    """Reads, and writes it into the history."""

    def __init__(self, bootstrap: str, recorder: Recorder, meanwhile: Callable[[], None]) -> None:
        self._bootstrap, self._recorder, self._meanwhile = bootstrap, recorder, meanwhile
        self._ends: dict[Place, int] = {}

    def _consumer(self, group: str) -> Consumer:
        return Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": group,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "fetch.wait.max.ms": 50,
                "log_level": 0,
            }
        )

    def read(self, places: Iterable[Place]) -> None:
        """Everything, from the first record to the end. Raises NeverEnded."""
        reader = self._consumer("final")
        places = list(places)
        reader.assign([TopicPartition(*place, 0) for place in places])
        left, found = set(places), {place: list[tuple[int, str]]() for place in places}
        deadline = time.monotonic() + PATIENCE_S
        while left:
            if time.monotonic() > deadline:
                raise NeverEnded(f"a reader does not come to the end of {left}")
            self._meanwhile()
            for message in reader.consume(500, 0.5):
                self._take(message, left, found)
        reader.close()
        for place, records in found.items():
            end = self._ends.setdefault(place, records[-1][0] + 1 if records else 0)
            self._recorder.note("final", t=place.topic, q=place.partition, r=records, end=end)

    def _take(
        self, message: Any, left: set[Place], found: dict[Place, list[tuple[int, str]]]
    ) -> None:
        place = Place(message.topic(), message.partition())
        if message.error() is None:
            found[place].append((message.offset(), message.value().decode()))
        elif message.error().code() == KafkaError._PARTITION_EOF:
            left.discard(place)
            self._ends[place] = message.offset()

    def until_read(self, group: str) -> None:
        """Wait until a group has committed all of it. Raises NeverEnded."""
        asking = self._consumer(group)
        committed: dict[Place, int] = {}

        def is_done() -> bool:
            committed.update(self._committed(asking))
            return all(committed.get(place, 0) >= end for place, end in self._ends.items())

        def where() -> str:
            return f"group {group} is at {committed}, of {self._ends}"

        try:
            until(where, is_done, self._meanwhile)
        finally:
            asking.close()

    def note_group(self, group: str) -> None:
        """What is committed at the very end."""
        asking = self._consumer(group)
        asked = time.monotonic_ns()
        for place, offset in self._committed(asking).items():
            at = {"t": place.topic, "q": place.partition}
            self._recorder.note("group", g=group, o=offset, asked=asked, **at)
        asking.close()

    def _committed(self, asking: Consumer) -> dict[Place, int]:
        try:
            answers = asking.committed([TopicPartition(*place) for place in self._ends], ASK_S)
        except KafkaException:
            return {}  # the coordinator is not there yet
        return {
            Place(at.topic, at.partition): max(at.offset, 0) for at in answers if at.error is None
        }
