"""336,776 real rows, produced three ways, consumed through groups by every client.

Nothing lost, nothing doubled, order kept per partition, contents equal row by row.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path

import pytest
from broker_admin import BrokerAdmin, unique_name
from client_builds import Family
from clients import ClientPool
from families import FAMILIES
from flights import (
    FLIGHT_COUNT,
    KEPT,
    PARTITIONS,
    by_partition,
    columns,
    flights,
    send_flights,
)
from raw_reader import read_values

PATIENCE_MS = 180_000
# A client that unpacks a megabyte of records sends no heartbeat meanwhile, and whoever has been
# left out of the group reads again what was not committed.
SESSION_MS = 30_000


@pytest.fixture(scope="module")
def topic(broker_address: str, broker_admin: BrokerAdmin) -> str:
    """All flights, by an idempotent librdkafka producer with lz4."""
    name = broker_admin.create_topic("flights", PARTITIONS, KEPT)
    send_flights(broker_address, name)
    return name


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())
def test_every_client_reads_every_row_through_a_group(
    clients: ClientPool, topic: str, family: Family
) -> None:
    events = clients.run(
        family,
        "group",
        seconds=PATIENCE_MS / 1000,
        group=unique_name("flights"),
        topic=topic,
        assignor=family.assignor,
        count=FLIGHT_COUNT,
        timeout_ms=PATIENCE_MS,
        session_ms=SESSION_MS,
    )
    found: list[list[bytes]] = [[] for _ in range(PARTITIONS)]
    for event in events:
        if event["event"] == "record":
            assert event["offset"] == len(found[event["partition"]])
            found[event["partition"]].append(base64.b64decode(event["value"]))
    assert found == by_partition()


def test_kafka_python_produces_what_librdkafka_reads(
    broker_address: str, broker_admin: BrokerAdmin
) -> None:
    name = broker_admin.create_topic("flights-kp", PARTITIONS, KEPT)
    program = Path(__file__).parent / "kafka-python" / "flights_producer.py"
    subprocess.run([sys.executable, str(program), broker_address, name], check=True, timeout=300)
    assert read_values(broker_address, name, PARTITIONS) == by_partition()


def test_barnabas_produce_from_csv(
    broker_address: str, broker_admin: BrokerAdmin, tmp_path: Path
) -> None:
    name = broker_admin.create_topic("flights-csv", PARTITIONS, KEPT)
    table = tmp_path / "flights.csv"
    head = ",".join(columns()).encode() + b"\n"
    table.write_bytes(head + b"".join(value + b"\n" for _, value in flights()))
    command = [sys.executable, "-m", "barnabas", "produce", name, "--bootstrap", broker_address]
    command += ["--csv", str(table), "--key", "carrier"]
    subprocess.run(command, check=True, timeout=300, capture_output=True)
    found: dict[str, list[str]] = {}
    for values in read_values(broker_address, name, PARTITIONS):
        here = [json.loads(value) for value in values]
        assert not {row["carrier"] for row in here} & set(found)  # a key has one partition
        for row in here:
            line = ",".join(row[column] for column in columns())
            found.setdefault(row["carrier"], []).append(line)
    expected: dict[str, list[str]] = {}
    for key, value in flights():
        expected.setdefault(key.decode(), []).append(value.decode())
    assert found == expected
