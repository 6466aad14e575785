"""kill -9 of the Spark driver and of the broker in the middle of a landing, again and again.

    python compat-tests/pipeline/kill_landing.py --kills 10 --seed 1

Flow: records are produced; a child process lands them in small batches; once a batch is on its
way it is killed at a random moment: the whole driver, its JVM alone, its Python alone, or the
broker, which is started again; more records follow. At last one landing runs to its end, unless
the last one has, and every offset of the topic must be in the lake once, with the value that the
broker has: looked at through the entries, and by pyarrow, which knows nothing of them.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pyarrow.parquet as pq
from broker_admin import BrokerAdmin
from confluent_kafka import Producer
from oracles import ROOT, require_oracle
from own_broker import OwnBroker
from pyspark.sql import SparkSession
from raw_reader import read_values

from barnabas.pipeline.lake.entries import LakeState
from barnabas.pipeline.lake.folders import LocalFolder
from barnabas.pipeline.lake.lake import Lake
from barnabas.pipeline.lake.log import read_state
from barnabas.pipeline.spark.session import running_session

TOPIC = "killed.topic_1"
PARTITIONS = 3
RECORDS_PER_KILL = 4_000
RECORDS_PER_BATCH = 1_000
DAY_MS = 1_772_323_200_000
SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
}
START_TIMEOUT_S = 300
END_TIMEOUT_S = 600
LONGEST_DELAY_S = 1.0
# What is waited for before a kill, and how often it may come before that.
MARKS = ("a staging folder", "a plan", "an entry", "the cleaning up")
MOST_TIMES = 3
VICTIMS = ("driver", "broker", "JVM of the driver", "Python of the driver")


@dataclass
class KillRun:
    """One run: `said` tells what was killed and what was found."""

    folder: Path
    seed: int
    victims: tuple[str, ...] = VICTIMS
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._broker = OwnBroker(self.folder)
        self._sent = 0
        self._is_all_landed = False
        self._lake = LocalFolder(self.folder / "lake")
        BrokerAdmin(self._broker.address).create_topic_named(
            TOPIC, PARTITIONS, {"retention.ms": "-1"}
        )

    def run(self, kills: int) -> None:
        """Kill so often, land the rest, and check."""
        try:
            for number in range(kills):
                self._send()
                self._kill(number, self.victims[number % len(self.victims)])
            if not self._is_all_landed:
                self._land_to_the_end()
            self._check()
        finally:
            self._broker.kill()

    def _send(self) -> None:
        self._is_all_landed = False
        producer = Producer({"bootstrap.servers": self._broker.address, "enable.idempotence": True})
        for _ in range(RECORDS_PER_KILL):
            number, self._sent = self._sent, self._sent + 1
            stamp = DAY_MS + number % 2 * 86_400_000
            producer.produce(TOPIC, b"%d" % number, None, number % PARTITIONS, timestamp=stamp)
        assert producer.flush(60) == 0

    def _say(self, text: str) -> None:
        self.said.append(text)
        print(text, flush=True)

    # --- the landing in a process group of its own -----------------------------------------

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "barnabas", "pipeline", "land", TOPIC, "--once"]
        command += ["--bootstrap", self._broker.address, "--lake", str(self._lake.root)]
        command += ["--checkpoint", str(self.folder / "checkpoint"), "--master", "local[2]"]
        command += ["--records-per-batch", str(RECORDS_PER_BATCH)]
        command += ["--jars", str(require_oracle("jars-spark-4.2.0"))]
        for name, value in SETTINGS.items():
            command += ["--spark-setting", f"{name}={value}"]
        log = (self.folder / "landing.log").open("ab")
        with log:
            return subprocess.Popen(
                command, cwd=ROOT, stdout=log, stderr=log, start_new_session=True
            )

    def _log(self) -> str:
        return (self.folder / "landing.log").read_text()[-3000:]

    def _kill(self, number: int, victim: str) -> None:
        process = self._start()
        try:
            mark = self._wait_for_a_step(process)
            time.sleep(self._random.choice([0, self._random.uniform(0, LONGEST_DELAY_S)]))
            is_running = process.poll() is None
            self._kill_victim(process, victim)
            state = self._where_it_was()
            what = f"kill {number + 1}: {victim}, after {mark}: {state}"
            if not is_running:
                assert process.returncode == 0, self._log()
                what += "; the landing had just ended"
            elif victim == "broker":
                self._broker.start()
                self._is_all_landed = process.wait(END_TIMEOUT_S) == 0
                what += f"; the landing ended with {process.returncode}"
            self._say(what)
            if not self._broker.is_running:
                self._broker.start()
        finally:
            _end_group(process)

    def _kill_victim(self, process: subprocess.Popen[bytes], victim: str) -> None:
        if victim == "broker":
            self._broker.kill()
        elif victim == "driver":
            _end_group(process)
        elif victim == "Python of the driver":
            process.kill()
            process.wait()
        else:
            for child in _java_of(process):
                child.kill()
            process.wait(END_TIMEOUT_S)

    def _wait_for_a_step(self, process: subprocess.Popen[bytes]) -> str:
        """Until a step of a batch has been taken for a random time."""
        mark = self._random.choice(MARKS)
        times = self._random.randint(1, MOST_TIMES)
        deadline = time.monotonic() + START_TIMEOUT_S
        before = self._is_at(mark)
        while times and process.poll() is None:
            assert time.monotonic() < deadline, self._log()
            now = self._is_at(mark)
            times -= now != before and (now > 0 or mark == "the cleaning up")
            before = now
            time.sleep(0.002)
        return mark

    def _is_at(self, mark: str) -> int:
        if mark == "an entry":
            return len(self._files("_landed"))
        staged = self._lake.names("_staging")
        below = [name for folder in staged for name in self._lake.names(f"_staging/{folder}")]
        plans = sum(name.endswith(".json") for name in below)
        return plans if mark == "a plan" else len(below) - plans

    def _files(self, below: str) -> list[str]:
        try:
            return [path for path, _ in self._lake.walk(below)]
        except FileNotFoundError:  # a folder that has just gone
            return ["?"]

    def _where_it_was(self) -> str:
        staged = self._files("_staging")
        plans = sum(path.endswith(".json") for path in staged)
        files = sum(path.endswith(".parquet") for path in staged)
        counted = {file.path for file in read_state(self._lake).files}
        data = [path for path, _ in self._lake.walk() if path.startswith("topic=")]
        strangers = sum(path.endswith(".parquet") and path not in counted for path in data)
        return (
            f"{len(self._files('_landed'))} batches landed, {files} files staged, {plans} plans, "
            f"{strangers} files in place without an entry"
        )

    def _land_to_the_end(self) -> None:
        process = self._start()
        try:
            assert process.wait(END_TIMEOUT_S) == 0, self._log()
        finally:
            _end_group(process)

    def check_through_spark(self, spark: SparkSession) -> None:
        """The same through Lake."""
        rows = Lake(spark, self._lake.root).rows([TOPIC])
        counted = rows.selectExpr("count(*)", "count(DISTINCT partition, offset)").first()
        assert counted is not None and tuple(counted) == (self._sent, self._sent)
        self._say(f"through Lake {counted[0]} rows, each of another offset")

    # --- what must hold --------------------------------------------------------------------

    def _check(self) -> None:
        held = [list(values) for values in read_values(self._broker.address, TOPIC, PARTITIONS)]
        assert sum(map(len, held)) == self._sent, "the broker has lost or doubled records"
        expected = {
            (partition, offset): value
            for partition, values in enumerate(held)
            for offset, value in enumerate(values)
        }
        state = read_state(self._lake)
        self._check_once(expected, rows_by_entries(self._lake.root, state), "by the entries")
        self._check_once(expected, plain_rows(self._lake.root), "by pyarrow alone")
        (landed,) = state.landings
        assert landed.offsets == {n: ((0, len(values)),) for n, values in enumerate(held)}
        assert self._files("_staging") == []
        log = (self.folder / "landing.log").read_text()
        assert "Traceback" not in log, log[log.index("Traceback") :][:3000]
        self._say(f"every one of {len(expected)} offsets is in the lake once")

    def _check_once(
        self, expected: dict[tuple[int, int], bytes], rows: list[tuple[int, int, bytes]], how: str
    ) -> None:
        times = Counter((partition, offset) for partition, offset, _ in rows)
        doubled = [place for place, count in times.items() if count > 1]
        missing = [place for place in expected if place not in times]
        assert not doubled, f"{how}: {len(doubled)} offsets twice, such as {doubled[:3]}"
        assert not missing, f"{how}: {len(missing)} offsets missing, such as {missing[:3]}"
        assert {(p, o): value for p, o, value in rows} == expected, how


def rows_by_entries(lake: Path, state: LakeState) -> list[tuple[int, int, bytes]]:
    """(partition, offset, value) of the files that count."""
    return [row for file in state.files for row in _rows_of(lake / file.path)]


def plain_rows(lake: Path) -> list[tuple[int, int, bytes]]:
    """The same of every file that somebody finds who looks into the folder."""
    return _rows_of(lake)


def _rows_of(path: Path) -> list[tuple[int, int, bytes]]:
    columns = ["partition", "offset", "value"]
    table = pq.read_table(path, columns=columns, partitioning=None if path.is_file() else "hive")
    return list(zip(*(table.column(name).to_pylist() for name in columns), strict=True))


def _java_of(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    try:
        children = psutil.Process(process.pid).children(recursive=True)
        return [child for child in children if child.name() == "java"]
    except psutil.NoSuchProcess:
        return []


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL to the process and all that it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def main() -> None:
    """Run and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10_000)
    chosen = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="kill-landing-"))
    run = KillRun(folder, chosen.seed)
    try:
        run.run(chosen.kills)
    except BaseException:
        print(f"seed {chosen.seed}; all of it is in {folder}", file=sys.stderr)
        raise
    else:
        jars = require_oracle("jars-spark-4.2.0")
        with running_session("check", master="local[2]", jars=jars, settings=SETTINGS) as spark:
            run.check_through_spark(spark)
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
