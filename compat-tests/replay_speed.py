"""A lake replayed and written by Spark's own sink, beside one another: seconds, CPU seconds.

    PYTHONPATH=compat-tests python compat-tests/replay_speed.py [--records 1000000] [--rounds 3]

The sink keeps no timestamps and no order over a repeated task; it is here as the measure of what
Spark itself needs for reading, spreading and sorting the rows and handing them to a client.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import psutil
from broker_admin import BrokerAdmin, unique_name
from oracles import require_oracle
from own_broker import OwnBroker
from replay_parts import Content, Placed, make_lake

from barnabas.pipeline.lake.lake import Lake
from barnabas.pipeline.replay.job import replay
from barnabas.pipeline.replay.request import Request
from barnabas.pipeline.replay.selection import Selection
from barnabas.pipeline.spark.kafka import KafkaCluster
from barnabas.pipeline.spark.session import running_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START_MS = 1_700_000_000_000
SETTINGS = {"spark.driver.memory": "1g"}


def cpu_seconds() -> float:
    """Of this process and everything that it has started, what has ended included."""
    own = psutil.Process()
    found = [own, *own.children(recursive=True)]
    return sum(sum(process.cpu_times()[:4]) for process in found)


def sink(spark: SparkSession, lake: Path, address: str, target: str, partitions: int) -> None:
    """Spark's own sink, with the same spread and order."""
    rows = Lake(spark, lake).rows(["source"])
    spread = rows.select("partition", "offset", "key", "value", "headers")
    ordered = spread.repartitionById(partitions, "partition").sortWithinPartitions("offset")
    options = {"kafka.bootstrap.servers": address, "topic": target}
    options |= {"kafka.compression.type": "lz4"}
    ordered.drop("offset").write.format("kafka").options(**options).save()


def main() -> None:
    """Print the medians as JSON."""
    parser = argparse.ArgumentParser(description="Replay beside Spark's own sink.")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--bytes", type=int, default=100)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        value = bytes(range(256)) * (given.bytes // 256 + 1)
        parts = given.partitions
        records = [
            Placed(
                n % parts, n // parts, Content(START_MS + n, b"%d" % n, value[: given.bytes], ())
            )
            for n in range(given.records)
        ]
        make_lake(folder / "lake", "source", records)
        del records
        broker = OwnBroker(folder)
        try:
            print(json.dumps(measured(folder / "lake", broker.address, given)))
        finally:
            broker.close()


def measured(lake: Path, address: str, given: Any) -> dict[str, Any]:
    """By way of writing the seconds and CPU seconds of each round."""
    admin, cluster = BrokerAdmin(address), KafkaCluster(address)
    jars = require_oracle("jars-spark-4.2.0")
    found: dict[str, list[tuple[float, float]]] = {}
    with running_session("speed", master="local[2]", jars=jars, settings=SETTINGS) as spark:

        def replayed(target: str, exactly_once: bool) -> None:
            request = Request(Selection(("source",)), {"source": target}, exactly_once)
            replay(spark, lake, cluster, request)

        ways: dict[str, Callable[[str], None]] = {
            "spark's sink": lambda name: sink(spark, lake, address, name, given.partitions),
            "idempotent": lambda name: replayed(name, False),
            "exactly once": lambda name: replayed(name, True),
        }
        for number in range(given.rounds + 1):
            for way, run in ways.items():
                target = unique_name("speed")
                admin.create_topic_named(target, given.partitions, {"retention.ms": "-1"})
                began, cpu = time.monotonic(), cpu_seconds()
                run(target)
                if number:  # the first round is for the JVM to warm up
                    took = (time.monotonic() - began, cpu_seconds() - cpu)
                    found.setdefault(way, []).append(took)
                ends = admin.end_offsets(target, given.partitions)
                assert sum(ends.values()) >= given.records
                admin.delete_topic(target)
    return {
        way: {
            "seconds": round(median(took for took, _ in rounds), 1),
            "cpu_seconds": round(median(cpu for _, cpu in rounds), 1),
            "records_per_second": round(given.records / median(took for took, _ in rounds)),
        }
        for way, rounds in found.items()
    }


if __name__ == "__main__":
    main()
