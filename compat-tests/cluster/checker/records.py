"""Acknowledged records: there, where it was said, once, in order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from exactly_once.checker.history import Place

from cluster.checker.anomalies import Anomaly, Kind
from cluster.checker.history import Ack, History, Producer

Where = dict[Place, dict[str, list[int]]]
"""The offsets of each value in each partition."""


def _where(history: History) -> Where:
    found: Where = {}
    for place, records in history.final.items():
        at = found[place] = defaultdict(list)
        for offset, value in records:
            at[value].append(offset)
    return found


def _acks(history: History) -> Iterator[tuple[Producer, Ack, Place, str]]:
    for producer in history.producers.values():
        for ack in producer.acked:
            place = Place(producer.topic, ack.partition)
            yield producer, ack, place, f"{producer.name}/{ack.number}"


def check_acked(history: History) -> Iterator[Anomaly]:
    """What was acknowledged is in the log, at the offset that was told."""
    where = _where(history)
    for _, ack, place, value in _acks(history):
        offsets = where.get(place, {}).get(value)
        if not offsets:
            yield Anomaly(Kind.LOST, place, f"{value}, acknowledged at {ack.offset}")
        elif ack.offset >= 0 and ack.offset not in offsets:
            yield Anomaly(Kind.MISPLACED, place, f"{value} at {offsets}, not {ack.offset}")


def check_doubled(history: History) -> Iterator[Anomaly]:
    """With idempotence no value is there twice, acknowledged or not."""
    topics = {each.topic for each in history.producers.values() if each.is_idempotent}
    for place, values in _where(history).items():
        if place.topic in topics:
            for value, offsets in values.items():
                if len(offsets) > 1:
                    yield Anomaly(Kind.DOUBLED, place, f"{value} at {offsets}", (value,))


def check_order(history: History) -> Iterator[Anomaly]:
    """What a producer was acknowledged is there in the order in which it was sent.

    A plain producer, which has one request under way at a time, may double, but what it sends
    comes first only after all it sent before. librdkafka's does not see to that itself: a batch
    whose retry waits is overtaken by those after it, into one later batch.
    """
    where = _where(history)
    sent: dict[tuple[str, Place], list[tuple[int, int]]] = defaultdict(list)
    for producer, ack, place, value in _acks(history):
        offsets = where.get(place, {}).get(value)
        if offsets and producer.keeps_order:
            sent[producer.name, place].append((ack.number, offsets[0]))
    for (name, place), acked in sent.items():
        for (number, offset), (later, at) in pairwise(sorted(acked)):
            if at < offset:
                what = f"{name}/{later} at {at}, before {name}/{number} at {offset}"
                yield Anomaly(Kind.REORDERED, place, what, (f"{name}/{number}", f"{name}/{later}"))


def check_written(history: History) -> Iterator[Anomaly]:
    """What is there was sent by somebody, to this topic."""
    for place, records in history.final.items():
        for offset, value in records:
            name, _, _ = value.rpartition("/")
            producer = history.producers.get(name)
            if producer is None or producer.topic != place.topic:
                yield Anomaly(Kind.UNWRITTEN, place, f"{value} at {offset}")
