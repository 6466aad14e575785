"""How the pipeline's jobs grow with the records: scripts/pipeline-growth runs it.

For each size a new broker, a topic of generated events, and each job in one Spark session of the
master `local-cluster[2,1,…]`: executors are processes of their own, so that what the driver needs
is seen apart from them. A row of the table: the job's wall-clock time, CPU seconds of Spark and of
the broker, the driver's live heap afterwards and its peak, bytes shuffled and spilled.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import psutil
from broker_fixture import running_barnabas
from oracles import ORACLES

from barnabas.pipeline.demo.command import command_named
from barnabas.pipeline.spark.session import running_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local-cluster[2,1,1024]"
SETTINGS = {"spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "8"}
PARTITIONS = 12
MB = 1 << 20


class Measured(NamedTuple):
    """One job at one size; times in seconds, sizes in MB."""

    job: str
    records: int
    wall_s: float
    spark_cpu_s: float
    broker_cpu_s: float
    driver_live_mb: float
    driver_peak_mb: float
    shuffled_mb: float
    spilled_mb: float


class Meter:
    """What Spark, its driver and the broker have used so far."""

    def __init__(self, spark: SparkSession, broker: psutil.Process) -> None:
        context: Any = spark.sparkContext
        self._context = context
        self._jvm = context._jvm
        self._broker = broker
        self._gone: dict[int, float] = {}

    def spark_cpu_s(self) -> float:
        """CPU of the driver's JVM, executors and Python workers, of those that ended as well."""
        jvm = psutil.Process(self._context._gateway.proc.pid)
        for process in [jvm, *jvm.children(recursive=True)]:
            try:
                times = process.cpu_times()
            except psutil.Error:
                continue
            self._gone[process.pid] = times.user + times.system
        return sum(self._gone.values())

    def broker_cpu_s(self) -> float:
        times = self._broker.cpu_times()
        return times.user + times.system

    def _heap_pools(self) -> list[Any]:
        management = self._jvm.java.lang.management
        pools = management.ManagementFactory.getMemoryPoolMXBeans()
        heap = management.MemoryType.HEAP
        return [pool for pool in pools if pool.getType().equals(heap)]

    def forget_peak(self) -> None:
        self._jvm.java.lang.System.gc()
        for pool in self._heap_pools():
            pool.resetPeakUsage()

    def peak_mb(self) -> float:
        """The driver's heap at its fullest, garbage included."""
        return float(sum(pool.getPeakUsage().getUsed() for pool in self._heap_pools())) / MB

    def live_mb(self) -> float:
        """The driver's heap without garbage."""
        self._jvm.java.lang.System.gc()
        return float(sum(pool.getUsage().getUsed() for pool in self._heap_pools())) / MB

    def shuffled_and_spilled_mb(self) -> tuple[float, float]:
        """What all stages so far have shuffled, and have written to disk for want of memory."""
        no_numbers = self._context._gateway.new_array(self._jvm.double, 0)
        store = self._context._jsc.sc().statusStore()
        stages = store.stageList(None, False, False, no_numbers, [])
        found = [stages.apply(index) for index in range(stages.size())]
        shuffled = sum(stage.shuffleWriteBytes() for stage in found)
        spilled = sum(stage.diskBytesSpilled() for stage in found)
        return shuffled / MB, spilled / MB


def jobs_of(records: int) -> dict[str, list[str]]:
    """By name the command and its words."""
    replay = ["replay", "visits", "--lake", "lake", "--to", "again", "--create", "--exactly-once"]
    made = ["--create", "--partitions", str(PARTITIONS), "--events", str(records)]
    return {
        "generate": ["generate", "visits", *made],
        "land": ["land", "visits", "--lake", "lake", "--checkpoint", "landing", "--once"],
        "audit": ["audit", "visits", "--lake", "lake", "--report", "report.html"],
        "replay": replay,
        "aggregate": [
            "aggregate", "visits", "--checkpoint", "counting", "--to-folder", "counted", "--once",
        ],
    }  # fmt: skip


def measured(meter: Meter, name: str, words: list[str], records: int) -> Measured:
    """Run a job; what it has used."""
    meter.forget_peak()
    before = meter.spark_cpu_s(), meter.broker_cpu_s(), *meter.shuffled_and_spilled_mb()
    started = time.monotonic()
    code = command_named(words[0])([*words[1:], "--no-progress"])
    wall_s = time.monotonic() - started
    assert not code, f"{name} ended with {code}"
    peak = meter.peak_mb()
    after = meter.spark_cpu_s(), meter.broker_cpu_s(), *meter.shuffled_and_spilled_mb()
    used = [one - other for one, other in zip(after, before, strict=True)]
    return Measured(name, records, wall_s, used[0], used[1], meter.live_mb(), peak, *used[2:])


def run(millions: float, master: str, wanted: list[str]) -> Iterator[Measured]:
    """Every job at one size."""
    records = int(millions * 1_000_000)
    with tempfile.TemporaryDirectory(prefix="growth-") as name, chdir(name):
        Path("broker").mkdir()
        with running_barnabas(Path("broker").absolute()) as address:
            os.environ["BARNABAS_BOOTSTRAP"] = address
            broker = next(
                process for process in psutil.Process().children()
                if "start" in process.cmdline()
            )  # fmt: skip
            jars = (ORACLES / "jars-spark-4.2.0").resolve()
            with running_session("growth", master=master, jars=jars, settings=SETTINGS) as spark:
                meter = Meter(spark, broker)
                for job, words in jobs_of(records).items():
                    if job in wanted or job in ("generate", "land"):
                        yield measured(meter, job, words, records)


def main() -> None:
    """One JSON line per job and size."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("millions", nargs="*", type=float, default=[1, 5, 25])
    parser.add_argument("--master", default=MASTER)
    parser.add_argument("--jobs", nargs="*", default=["audit", "replay", "aggregate"])
    asked = parser.parse_args()
    for millions in asked.millions:
        for row in run(millions, asked.master, asked.jobs):
            rounded = {
                key: round(value, 1) if isinstance(value, float) else value
                for key, value in row._asdict().items()
            }
            print(json.dumps(rounded), flush=True)


if __name__ == "__main__":
    main()
