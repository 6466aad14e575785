"""The whole pipeline on Barnabas and on Apache Kafka, and their lakes held against one another.

    scripts/pipeline-both [--events N] [--flights N] [--kafka 4.4.0|3.9.1|none]

On each broker so many flights and generated events are produced, landed and audited; the lake is
replayed, what was replayed is landed and audited as well. Then every lake has to hold the same
rows: the replayed topics those of the first ones, and one broker's those of the other.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from broker_admin import BrokerAdmin
from flights import FLIGHT_COUNT, KEPT, PARTITIONS, send_flights
from kafka_server import ApacheKafka
from oracles import require_oracle
from own_broker import OwnBroker
from pyspark.sql import DataFrame, SparkSession

from barnabas.pipeline.lake.lake import Lake
from barnabas.pipeline.spark.session import running_session

TOPICS = ("flights", "visits")
AGAIN = ".again"
COMPARED = (
    "topic", "partition", "place", "timestamp", "key", "value",
    "to_json(headers) AS headers",
)  # fmt: skip
LONGEST_COMMAND_S = 3_600


class Server(Protocol):
    """A broker of either make."""

    address: str

    def close(self) -> None: ...


@contextmanager
def broker_of(make: str, folder: Path) -> Iterator[Server]:
    """A fresh broker: "barnabas", or a release of Apache Kafka."""
    server: Server
    if make == "barnabas":
        server = OwnBroker(folder)
    else:
        kafka = ApacheKafka(make, folder)
        kafka.start()
        server = kafka
    try:
        yield server
    finally:
        server.close()


class Run:
    """The jobs on one broker."""

    def __init__(self, make: str, server: Server, folder: Path) -> None:
        self.make = make
        self.lake, self.copy = folder / "lake", folder / "copy"
        self._server = server
        self._folder = folder

    def go(self, events: int, flights: int) -> None:
        """Produce, land, audit, replay, land that, audit that."""
        admin = BrokerAdmin(self._server.address)
        admin.create_topic_named("flights", PARTITIONS, KEPT)
        send_flights(self._server.address, "flights", 0, flights)
        self._do(
            "generate", "visits", "--create", "--partitions", "12", "--events", str(events),
            "--seed", "7",
        )  # fmt: skip
        self._land(self.lake, TOPICS)
        self._audit(self.lake, TOPICS, flights + events)
        self._do(
            "replay", *TOPICS, "--lake", str(self.lake), "--suffix", AGAIN, "--create",
            "--exactly-once",
        )  # fmt: skip
        again = [name + AGAIN for name in TOPICS]
        self._land(self.copy, again)
        self._audit(self.copy, again, flights + events)

    def _land(self, lake: Path, topics: list[str] | tuple[str, ...]) -> None:
        checkpoint = lake.with_suffix(".checkpoint")
        self._do("land", *topics, "--lake", str(lake), "--checkpoint", str(checkpoint), "--once")

    def _audit(self, lake: Path, topics: list[str] | tuple[str, ...], records: int) -> None:
        found = lake.with_suffix(".json")
        self._do("audit", *topics, "--lake", str(lake), "--json", str(found))
        audited = json.loads(found.read_text())
        assert audited["clean"] is True, audited["verdict"]
        assert audited["totals"]["landed"] == records, audited["totals"]
        print(f"{self.make:10} {audited['verdict']}", flush=True)

    def _do(self, job: str, *arguments: str) -> None:
        """One command, as people type it."""
        started = time.monotonic()
        command = [
            sys.executable, "-m", "barnabas", "pipeline", job, *arguments,
            "--bootstrap", self._server.address,
            "--jars", str(require_oracle("jars-spark-4.2.0")), "--master", "local[2]",
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_COMMAND_S)
        assert done.returncode == 0, f"{job}: {done.stdout[-2000:]}{done.stderr[-3000:]}"
        seconds = time.monotonic() - started
        print(f"{self.make:10} {job:9} {seconds:6.1f} s", flush=True)


def rows(spark: SparkSession, lake: Path) -> DataFrame:
    """What a lake holds, as comparable with another's: places instead of offsets.

    A replayed topic has offsets of its own, in the same order and without the source's gaps.
    """
    named = Lake(spark, str(lake)).rows().withColumnRenamed("offset", "place_of_source")
    ranked = named.selectExpr(
        "*",
        "row_number() OVER (PARTITION BY topic, partition ORDER BY place_of_source) AS place",
    )
    return ranked.selectExpr(f"replace(topic, '{AGAIN}', '') AS topic", *COMPARED[1:])


def differing(spark: SparkSession, one: Path, other: Path) -> int:
    """How many rows of either lake the other does not have."""
    left, right = rows(spark, one), rows(spark, other)
    assert left.count() > 0, f"nothing has landed in {one}"
    return left.exceptAll(right).count() + right.exceptAll(left).count()


def main() -> int:
    """Run; 0 if everything is equal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=5_000_000)
    parser.add_argument("--flights", type=int, default=FLIGHT_COUNT)
    parser.add_argument("--kafka", default="4.4.0", choices=["4.4.0", "3.9.1", "none"])
    asked = parser.parse_args()
    makes = ["barnabas", *([] if asked.kafka == "none" else [asked.kafka])]
    with tempfile.TemporaryDirectory() as made:
        runs = []
        for make in makes:
            # Not in the broker's folder, which goes with it.
            lakes, folder = Path(made) / make, Path(made) / f"{make}-broker"
            lakes.mkdir()
            folder.mkdir()
            with broker_of(make, folder) as server:
                run = Run(make, server, lakes)
                run.go(asked.events, asked.flights)
                runs.append(run)
        pairs = [(run.lake, run.copy) for run in runs]
        pairs += [(runs[0].lake, run.lake) for run in runs[1:]]
        jars = require_oracle("jars-spark-4.2.0")
        settings = {"spark.driver.memory": "3g", "spark.sql.shuffle.partitions": "16"}
        with running_session("compare", master="local[2]", jars=jars, settings=settings) as spark:
            counts = {pair: differing(spark, *pair) for pair in pairs}
    for (one, other), count in counts.items():
        print(f"{one.parent.name}/{one.name} and {other.parent.name}/{other.name}: "
              f"{count} rows differ", flush=True)  # fmt: skip
    return 1 if any(counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
