"""Spark 4.2's `format("kafka")` against the broker, unchanged, with the flights of 2013."""

from __future__ import annotations

import json
from pathlib import Path
from zlib import crc32

import pytest
from broker_admin import BrokerAdmin
from flights import (
    KEPT,
    PARTITIONS,
    START_MS,
    by_partition,
    flights,
    partition_of,
    send_flights,
)
from spark_link import Spark


@pytest.fixture(scope="module")
def topic(broker_address: str, broker_admin: BrokerAdmin) -> str:
    """The flights, one second apart, produced with lz4 by an idempotent producer."""
    name = broker_admin.create_topic("flights-spark", PARTITIONS, KEPT)
    send_flights(broker_address, name)
    return name


def expected(parts: list[list[bytes]]) -> dict[str, list[int]]:
    """What the program's digest of these values must be."""
    found = {}
    for index, values in enumerate(parts):
        checksum = sum(
            crc32(value) * (offset % 65521 + 1) % 2147483647 for offset, value in enumerate(values)
        )
        found[str(index)] = [len(values), 0, len(values) - 1, checksum]
    return found


def test_batch_reads_everything_once_and_in_order(spark: Spark, topic: str) -> None:
    assert spark("batch", topic=topic) == expected(by_partition())


def test_batch_by_explicit_offsets(spark: Spark, topic: str) -> None:
    first = {str(index): 100 + index for index in range(PARTITIONS)}
    last = {str(index): 2_000 for index in range(PARTITIONS)}
    found = spark(
        "batch",
        topic=topic,
        startingOffsets=json.dumps({topic: first}),
        endingOffsets=json.dumps({topic: last}),
    )
    assert {name: part[:3] for name, part in found.items()} == {
        str(index): [1_900 - index, 100 + index, 1_999] for index in range(PARTITIONS)
    }


def test_batch_by_timestamp(spark: Spark, topic: str) -> None:
    start, stop = 1_000, 50_000
    found = spark(
        "batch",
        topic=topic,
        startingTimestamp=str(START_MS + 1000 * start),
        endingTimestamp=str(START_MS + 1000 * stop),
    )
    count = [0] * PARTITIONS
    for key, _ in flights()[start:stop]:
        count[partition_of(key)] += 1
    assert [found[str(index)][0] for index in range(PARTITIONS)] == count


def test_the_sink_writes_what_the_source_reads(
    spark: Spark, topic: str, broker_admin: BrokerAdmin
) -> None:
    target = broker_admin.create_topic("flights-copied", PARTITIONS)
    spark("copy", topic=topic, target=target)
    assert spark("batch", topic=target) == spark("batch", topic=topic)


def test_a_stream_goes_on_where_its_checkpoint_ends(
    spark: Spark, broker_address: str, broker_admin: BrokerAdmin, tmp_path: Path
) -> None:
    name = broker_admin.create_topic("flights-stream", PARTITIONS, KEPT)
    where = {"checkpoint": str(tmp_path / "checkpoint"), "lake": str(tmp_path / "lake")}
    send_flights(broker_address, name, 0, 5_000)
    assert spark("stream", topic=name, **where) == {"rows": 5_000}
    assert spark("stream", topic=name, **where) == {"rows": 0}
    send_flights(broker_address, name, 5_000, 8_000)
    assert spark("stream", topic=name, **where) == {"rows": 3_000}
    assert spark("lake", lake=where["lake"]) == spark("batch", topic=name)
