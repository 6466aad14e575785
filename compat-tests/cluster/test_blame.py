"""A double or a disorder is the broker's fault unless the log shows that it is the client's."""

from __future__ import annotations

import pytest
from exactly_once.checker.blame import OPEN, Stored
from exactly_once.checker.history import Place

from cluster.checker.anomalies import Anomaly, Kind
from cluster.checker.blame import blame

PLACE = Place("idempotent", 1)


def stored(value: str, offset: int, epoch: int, sequence: int, producer: int = 7) -> Stored:
    return Stored(value, PLACE, offset, producer, epoch, sequence, OPEN, -1)


@pytest.mark.parametrize(
    ("copies", "whose"),
    [
        ([(3, 0, 5), (9, 1, 0)], "client"),
        ([(3, 0, 5), (9, 0, 5)], "broker"),
        ([(3, 0, 5), (9, 0, 8)], "broker"),
        ([(3, 0, 5), (9, 1, 0), (12, 1, 0)], "broker"),
        ([(3, 0, 5)], "broker"),
        ([], "broker"),
    ],
    ids=["new epoch", "same sequence", "later sequence", "twice in the new", "read twice", "gone"],
)
def test_whose_a_double_is(copies: list[tuple[int, int, int]], whose: str) -> None:
    log = {"a#1/4": [stored("a#1/4", *copy) for copy in copies]}
    anomaly = Anomaly(Kind.DOUBLED, PLACE, "", ("a#1/4",))
    assert blame(anomaly, log).whose == whose


@pytest.mark.parametrize(
    ("first", "second", "whose"),
    [
        ((9, 0, 5), (3, 0, 6), "broker"),
        ((9, 0, 6), (3, 0, 5), "client"),
        ((9, 1, 0), (3, 0, 6), "client"),
        ((9, -1, -1), (3, -1, -1), "broker"),
    ],
    ids=["against the sequences", "by the sequences", "new epoch", "plain"],
)
def test_whose_a_disorder_is(
    first: tuple[int, int, int], second: tuple[int, int, int], whose: str
) -> None:
    log = {"a#1/1": [stored("a#1/1", *first)], "a#1/2": [stored("a#1/2", *second)]}
    anomaly = Anomaly(Kind.REORDERED, PLACE, "", ("a#1/1", "a#1/2"))
    assert blame(anomaly, log).whose == whose


def test_anything_else_is_the_brokers() -> None:
    assert blame(Anomaly(Kind.LOST, PLACE, "", ()), {}).whose == "broker"
