"""The end of a run: what is open ends, everything is moved, and everything is read once more."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from exactly_once.checker.history import Place
from exactly_once.workers.recorder import Recorder

PATIENCE_S = 90.0
ASK_S = 5.0


class NeverEnded(AssertionError):
    """A transaction hangs, or a group does not come to the end."""


def _consumer(bootstrap: str, group: str, isolation: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "isolation.level": isolation,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "fetch.wait.max.ms": 50,
            "log_level": 0,
        }
    )


def _until(what: str, holds: Callable[[], bool], meanwhile: Callable[[], None]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            if holds():
                return
        except KafkaException:
            pass  # a coordinator or leader that is not there yet
        if time.monotonic() > deadline:
            raise NeverEnded(what)
        meanwhile()
        time.sleep(0.2)


class Final:
    """Does it, and writes it into the history."""

    def __init__(self, bootstrap: str, recorder: Recorder, meanwhile: Callable[[], None]) -> None:
        self._bootstrap, self._recorder, self._meanwhile = bootstrap, recorder, meanwhile
        self._ends: dict[Place, int] = {}

    def settle(self, places: Iterable[Place]) -> None:
        """Wait until every transaction has ended; read everything. Raises NeverEnded."""
        readers = {
            isolation: _consumer(self._bootstrap, "final", isolation)
            for isolation in ("read_committed", "read_uncommitted")
        }
        places = list(places)
        for place in places:
            self._until_ended(place, *readers.values())
        for isolation, reader in readers.items():
            self._read(reader, isolation, places)
            reader.close()

    def _until_ended(self, place: Place, committed: Consumer, uncommitted: Consumer) -> None:
        def both() -> tuple[int, int]:
            at = TopicPartition(*place)
            stable = committed.get_watermark_offsets(at, ASK_S)
            end = uncommitted.get_watermark_offsets(at, ASK_S)
            return (stable or (0, -1))[1], (end or (0, -2))[1]

        def ended() -> bool:
            stable, end = both()
            return stable == end

        try:
            _until(f"a transaction in {place}", ended, self._meanwhile)
        except NeverEnded:
            raise NeverEnded(f"{place}: last stable offset, end: {both()}") from None

    def _read(self, reader: Consumer, isolation: str, places: list[Place]) -> None:
        session, left = f"final-{isolation}", set(places)
        reader.assign([TopicPartition(*place, 0) for place in places])
        for place in places:
            at = {"topic": place.topic, "partition": place.partition, "offset": 0}
            self._recorder.note("start", session=session, **at)
        read: dict[Place, list[tuple[int, str]]] = {place: [] for place in places}
        deadline = time.monotonic() + PATIENCE_S
        while left and time.monotonic() < deadline:
            for message in reader.consume(500, 0.5):
                place = Place(message.topic(), message.partition())
                if message.error() is None:
                    read[place].append((message.offset(), message.value().decode()))
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    left.discard(place)
        if left:
            raise NeverEnded(f"{isolation} does not come to the end of {left}")
        self._note(session, isolation == "read_committed", read)

    def _note(self, session: str, committed: bool, read: dict[Place, list[Any]]) -> None:
        for place, records in read.items():
            at = {"topic": place.topic, "partition": place.partition}
            self._recorder.note("poll", session=session, committed=committed, records=records, **at)
            if committed:
                self._ends[place] = records[-1][0] + 1 if records else 0
                self._recorder.note("drained", end=self._ends[place], **at)

    def until_moved(self, group: str, places: Iterable[Place]) -> None:
        """Wait until a group has committed everything there is to read. Raises NeverEnded."""
        asking = _consumer(self._bootstrap, group, "read_committed")
        asked = [TopicPartition(*place) for place in places]
        committed: dict[Place, int] = {}

        def moved() -> bool:
            for at in asking.committed(asked, ASK_S):
                if at.error is not None:
                    return False
                committed[Place(at.topic, at.partition)] = max(at.offset, 0)
            return all(committed[place] >= self._ends[place] for place in committed)

        before: dict[Place, int] | None = None
        try:
            while before != committed:  # on a busy machine it takes its time, but it comes
                before = dict(committed)
                with suppress(NeverEnded):
                    return _until(f"group {group}", moved, self._meanwhile)
            ends = {str(place): end for place, end in self._ends.items()}
            at = {str(place): offset for place, offset in committed.items()}
            raise NeverEnded(f"group {group} stays at {at}, of {ends}")
        finally:
            for place, offset in committed.items():
                at = {"topic": place.topic, "partition": place.partition}
                self._recorder.note("group", group=group, offset=offset, **at)
