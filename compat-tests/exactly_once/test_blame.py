"""The log tells a broker's fault from a client's."""

from __future__ import annotations

import pytest

from exactly_once.checker.anomalies import Anomaly, Kind
from exactly_once.checker.blame import ABORT, COMMIT, Stored, blame
from exactly_once.checker.history import History, Place, add_events
from exactly_once.checker.perfect_kafka import PerfectKafka

PLACE = Place("in", 0)


@pytest.fixture
def kafka() -> PerfectKafka:
    """One transaction was aborted, the next one of the same writer committed."""
    kafka = PerfectKafka()
    kafka.send("writer", PLACE)
    kafka.end("writer", commit=False)
    kafka.send("writer", PLACE)
    kafka.send("writer", PLACE, luck="unanswered")
    kafka.end("writer", commit=True)
    return kafka


ABORTED, ACKED, UNACKED = "writer.1/2", "writer.3/4", "writer.3/5"


def whose(kafka: PerfectKafka, kind: Kind, values: tuple[str, ...], *stored: Stored) -> str:
    history = History()
    add_events(history, kafka.events)
    assert all(value in {send.value for _, send in history.sends()} for value in values)
    log: dict[str, list[Stored]] = {}
    for copy in stored:
        log.setdefault(copy.value, []).append(copy)
    return blame(Anomaly(kind, PLACE, values, ""), history, log).whose


def copy(value: str, offset: int, sequence: int, fate: str = COMMIT, ended_at: int = 9) -> Stored:
    return Stored(value, PLACE, offset, 7, 0, sequence, fate, ended_at)


def test_what_was_acknowledged_and_is_not_stored_is_lost_by_the_broker(kafka: PerfectKafka) -> None:
    assert whose(kafka, Kind.LOST_WRITE, (ACKED,)) == "broker"


def test_what_was_committed_without_acknowledgement_and_is_not_stored_is_lost_by_the_client(
    kafka: PerfectKafka,
) -> None:
    assert whose(kafka, Kind.LOST_WRITE, (UNACKED,)) == "client"


@pytest.mark.parametrize("fate", [COMMIT, ABORT])
def test_what_is_stored_and_cannot_be_read_is_lost_by_the_broker(
    kafka: PerfectKafka, fate: str
) -> None:
    assert whose(kafka, Kind.LOST_WRITE, (UNACKED,), copy(UNACKED, 3, 2, fate)) == "broker"


def test_one_sequence_number_stored_twice_is_the_brokers_duplicate(kafka: PerfectKafka) -> None:
    twice = (copy(ACKED, 2, 1), copy(ACKED, 3, 1))
    assert whose(kafka, Kind.DUPLICATE, (ACKED,), *twice) == "broker"


def test_two_sequence_numbers_are_the_clients_duplicate(kafka: PerfectKafka) -> None:
    twice = (copy(ACKED, 2, 1), copy(ACKED, 3, 2))
    assert whose(kafka, Kind.DUPLICATE, (ACKED,), *twice) == "client"


def test_an_aborted_record_that_was_sent_in_the_next_transaction_is_the_clients(
    kafka: PerfectKafka,
) -> None:
    stored = (copy(ABORTED, 2, 1), copy(ACKED, 3, 2))
    assert whose(kafka, Kind.ABORTED_READ, (ABORTED,), *stored) == "client"


def test_an_aborted_record_with_a_commit_of_its_own_is_the_brokers(kafka: PerfectKafka) -> None:
    stored = (copy(ABORTED, 0, 0, ended_at=1), copy(ACKED, 2, 1))
    assert whose(kafka, Kind.ABORTED_READ, (ABORTED,), *stored) == "broker"


def test_an_aborted_record_with_an_abort_of_its_own_was_read_by_the_brokers_fault(
    kafka: PerfectKafka,
) -> None:
    assert whose(kafka, Kind.ABORTED_READ, (ABORTED,), copy(ABORTED, 0, 0, ABORT, 1)) == "broker"


def test_records_in_the_order_of_their_numbers_were_numbered_so_by_the_client(
    kafka: PerfectKafka,
) -> None:
    stored = (copy(UNACKED, 2, 1), copy(ACKED, 3, 2))
    assert whose(kafka, Kind.NON_MONOTONIC_SEND, (UNACKED, ACKED), *stored) == "client"


def test_records_in_another_order_than_their_numbers_are_the_brokers(kafka: PerfectKafka) -> None:
    stored = (copy(UNACKED, 2, 2), copy(ACKED, 3, 1))
    assert whose(kafka, Kind.NON_MONOTONIC_SEND, (UNACKED, ACKED), *stored) == "broker"
