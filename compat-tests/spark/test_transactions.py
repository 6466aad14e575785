"""Transactions as Spark's Kafka source sees them, at both isolation levels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from broker_admin import unique_name
from spark_link import Row, Spark
from spark_topics import PATIENCE_S, START_MS, STEP_MS, Topics, numbered, sent_by

COMMITTED = {"kafka.isolation.level": "read_committed"}


class Mixed(NamedTuple):
    """A topic of one partition. Offsets: 0-2 plain, 3-5 committed, 6 marker, 7-9 aborted,
    10 marker, 11-12 plain, 13-14 of an open transaction, 15 plain."""

    name: str
    every: list[Row]

    @property
    def committed(self) -> list[Row]:
        return [row for row in self.every if row.offset not in (7, 8, 9) and row.offset < 13]


@pytest.fixture(scope="module")
def mixed(topics: Topics) -> Iterator[Mixed]:
    """It has everything; the open transaction is aborted when all is done."""
    name = topics.make("mixed")
    rows = topics.send(name, numbered(3))
    with topics.transaction(commit=True) as producer:
        rows += sent_by(producer, name, numbered(3, 3))
    with topics.transaction(commit=False) as producer:
        rows += sent_by(producer, name, numbered(3, 7))
    rows += topics.send(name, numbered(2, 11))
    with topics.transaction(commit=False) as producer:
        rows += sent_by(producer, name, numbered(2, 13))
        rows += topics.send(name, numbered(1, 15))
        yield Mixed(name, rows)


def test_uncommitted_reading_has_every_record_and_no_marker(spark: Spark, mixed: Mixed) -> None:
    assert [row.offset for row in mixed.every] == [*range(6), *range(7, 10), *range(11, 16)]
    assert spark.read(mixed.name).rows == mixed.every


def test_committed_reading_leaves_out_what_is_aborted_and_ends_at_what_is_open(
    spark: Spark, mixed: Mixed
) -> None:
    assert spark.read(mixed.name, **COMMITTED).rows == mixed.committed


@pytest.mark.parametrize(("start", "end"), [(4, 6), (6, 7), (7, 10), (8, 12), (10, 11), (3, 13)])
def test_ranges_may_begin_and_end_inside_transactions_and_at_markers(
    spark: Spark, mixed: Mixed, start: int, end: int
) -> None:
    ranges = {
        "startingOffsets": {mixed.name: {"0": start}},
        "endingOffsets": {mixed.name: {"0": end}},
    }
    of_range = [row for row in mixed.every if start <= row.offset < end]
    assert spark.read(mixed.name, **ranges).rows == of_range
    kept = [row for row in of_range if row in mixed.committed]
    assert spark.read(mixed.name, **ranges, **COMMITTED).rows == kept


def test_tasks_of_one_partition_begin_anywhere_in_transactions(spark: Spark, mixed: Mixed) -> None:
    assert spark.read(mixed.name, minPartitions=5).rows == mixed.every
    assert spark.read(mixed.name, minPartitions=5, **COMMITTED).rows == mixed.committed


def test_a_timestamp_finds_no_record_of_an_open_transaction_for_committed_reading(
    spark: Spark, topics: Topics
) -> None:
    name = topics.make("timed-open")
    rows = topics.send(name, numbered(3))
    with topics.transaction(commit=False) as producer:
        rows += sent_by(producer, name, numbered(2, 3))
        latest = {"startingOffsetsByTimestampStrategy": "latest"} | COMMITTED
        of_plain, of_open = START_MS + 2 * STEP_MS, START_MS + 3 * STEP_MS
        assert spark.read(name, startingTimestamp=of_open).rows == rows[3:]
        assert spark.read(name, startingTimestamp=of_open, **latest).rows == []
        assert spark.read(name, startingTimestamp=of_plain, **latest).rows == rows[2:3]


def test_a_timestamp_finds_a_marker_of_its_own_time(spark: Spark, mixed: Mixed) -> None:
    """The markers are of now, long after the records: the first of them is late enough."""
    late = START_MS + 8 * STEP_MS
    assert spark.read(mixed.name, startingTimestamp=late).rows == mixed.every[6:]
    assert spark.read(mixed.name, startingTimestamp=late, **COMMITTED).rows == mixed.committed[6:]


def test_of_nothing_but_an_aborted_transaction_nothing_is_committed(
    spark: Spark, topics: Topics
) -> None:
    name = topics.make("all-aborted")
    with topics.transaction(commit=False) as producer:
        rows = sent_by(producer, name, numbered(20))
    assert spark.read(name).rows == rows
    assert spark.read(name, **COMMITTED).rows == []


def test_a_stream_gets_a_transaction_when_it_has_ended(
    spark: Spark, topics: Topics, checkpoint: Path
) -> None:
    """Flow: plain, open, plain; run; commit; run; abort another one; run."""
    name = topics.make("ending")
    first = topics.send(name, numbered(2))
    with topics.transaction(commit=True) as producer:
        opened = sent_by(producer, name, numbered(3, 2))
        behind = topics.send(name, numbered(2, 5))
        assert spark.run(checkpoint, name, **COMMITTED).rows == first
    assert spark.run(checkpoint, name, **COMMITTED).rows == opened + behind
    with topics.transaction(commit=False) as producer:
        sent_by(producer, name, numbered(3, 8))
    assert spark.run(checkpoint, name, **COMMITTED).rows == []
    last = topics.send(name, numbered(1, 12))
    assert spark.run(checkpoint, name, **COMMITTED).rows == last


def test_a_running_stream_waits_for_the_end_of_a_transaction(
    spark: Spark, topics: Topics, checkpoint: Path
) -> None:
    name = topics.make("waiting")
    with spark.stream(checkpoint, name, **COMMITTED) as running:
        with topics.producer(transactional_id=unique_name("spark")) as producer:
            producer.init_transactions(PATIENCE_S)
            producer.begin_transaction()
            rows = sent_by(producer, name, numbered(5))
            producer.commit_transaction(PATIENCE_S)
            producer.begin_transaction()
            sent_by(producer, name, numbered(5, 6))
            producer.abort_transaction(PATIENCE_S)
        rows += topics.send(name, numbered(1, 12))
        assert running.wait(rows=6).rows == rows
