"""A replay whose driver, JVM, workers and broker are killed at random points, and what came of it.

    scripts/replay-kills [--kills 10] [--seed N] [--broker barnabas|4.4.0] [--records N] [--once]

The flights of 2013 (or that many records that count) lie in a lake. `barnabas pipeline replay`
writes them to a topic; whenever so many have arrived as chance decides, something is killed with
SIGKILL. A driver that has ended is started again with the same command. In the end every record
has to be in the target once, in order, with its bytes, headers and timestamp.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import psutil
from confluent_kafka import Consumer, KafkaException, TopicPartition
from flights import flights
from kafka_server import ApacheKafka
from oracles import require_oracle
from own_broker import OwnBroker
from replay_parts import Content, Placed, contents_by_partition, make_lake, read_back

START_MS = 1_400_000_000_000
TARGET = "copy"
PATIENCE_S = 900.0
SETTINGS = (
    "spark.driver.memory=1g",
    "spark.driver.extraJavaOptions=-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
)
KINDS = ("driver", "jvm", "worker", "broker")


class Killable(Protocol):
    """A broker of either make."""

    address: str

    def start(self) -> None: ...
    def kill(self) -> None: ...
    def close(self) -> None: ...


def records_of(count: int | None, partitions: int) -> list[Placed]:
    """So many flights, stamped and with headers, over partitions; gaps between offsets."""
    records = []
    for n, (key, value) in enumerate(flights()[:count]):
        headers = (("n", b"%d" % n), ("n", None)) if n % 5 == 0 else ()
        content = Content(START_MS + 1000 * n, key if n % 7 else None, value, headers)
        records.append(Placed(n % partitions, n // partitions * 2, content))
    return records


class Kills:
    """One run."""

    def __init__(
        self, folder: Path, broker: Killable, records: Sequence[Placed], partitions: int,
        *, seed: int, options: Sequence[str],
    ) -> None:  # fmt: skip
        self.killed: Counter[str] = Counter()
        self.starts = 0
        self._chance = random.Random(seed)
        self._folder, self._broker = folder, broker
        self._records, self._partitions = records, partitions
        self._options = options
        self._driver: subprocess.Popen[bytes] | None = None
        self._started: list[psutil.Process] = []
        make_lake(folder / "lake", "source", records)

    def run(self, kinds: Sequence[str], points: Sequence[int] = ()) -> None:
        """Replay, and kill something of each of the kinds in turn, after so many records."""
        total = len(self._records)
        points = points or sorted(self._chance.randrange(total) for _ in kinds)
        self._start_driver()
        for kind, point in zip(kinds, points, strict=True):
            if self._wait_for(point):
                self._kill(kind)
        deadline = time.monotonic() + PATIENCE_S
        while self._start_if_ended():
            assert time.monotonic() < deadline, self.output()
            time.sleep(0.2)

    def differences(self) -> list[str]:
        """What of the target is not as it was in the source; nothing if all is well."""
        wanted = contents_by_partition(self._records, self._partitions)
        found = read_back(self._broker.address, TARGET, self._partitions)
        return [
            f"partition {number}: {len(got)} records for {len(expected)}, the first other one at "
            f"{_first_other(got, expected)}"
            for number, (got, expected) in enumerate(zip(found, wanted, strict=True))
            if got != expected
        ]

    def close(self) -> None:
        """End whatever is left."""
        for process in self._started:
            if process.is_running():
                process.kill()
        if self._driver is not None:
            self._driver.kill()
            self._driver.wait()

    def output(self) -> str:
        """What the drivers have said."""
        return (self._folder / "driver.log").read_text(errors="replace")[-3000:]

    # --- the driver --------------------------------------------------------------------

    def _start_driver(self) -> None:
        command = [sys.executable, "-m", "barnabas", "pipeline", "replay", "source"]
        command += ["--lake", str(self._folder / "lake"), "--to", TARGET, "--create"]
        command += ["--bootstrap", self._broker.address, "--master", "local[2]"]
        command += ["--jars", str(require_oracle("jars-spark-4.2.0"))]
        for setting in SETTINGS:
            command += ["--spark-setting", setting]
        command += self._options
        with (self._folder / "driver.log").open("ab") as log:
            self._driver = subprocess.Popen(command, stdout=log, stderr=log)
        self.starts += 1

    def _start_if_ended(self) -> bool:
        """Start the driver again if it has ended before the end; False at the end."""
        assert self._driver is not None
        code = self._driver.poll()
        if code == 0:
            return False
        if code is not None:
            self._start_driver()
        return True

    def _family(self) -> list[psutil.Process]:
        assert self._driver is not None
        try:
            found = psutil.Process(self._driver.pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []
        self._started += [process for process in found if process not in self._started]
        return found

    # --- killing -----------------------------------------------------------------------

    def _wait_for(self, point: int) -> bool:
        """Wait until so many records have arrived; False if the replay was faster."""
        deadline = time.monotonic() + PATIENCE_S
        while self._arrived() < point:
            assert time.monotonic() < deadline, self.output()
            if not self._start_if_ended():
                return False
            time.sleep(0.2)
        return True

    def _arrived(self) -> int:
        settings: dict[str, Any] = {"bootstrap.servers": self._broker.address, "log_level": 0}
        consumer = Consumer(settings | {"group.id": "counts"})
        try:
            if TARGET not in consumer.list_topics(timeout=5).topics:
                return 0
            places = [TopicPartition(TARGET, number) for number in range(self._partitions)]
            return sum(consumer.get_watermark_offsets(place, 5)[1] for place in places)
        except KafkaException:
            return 0
        finally:
            consumer.close()

    def _kill(self, kind: str) -> None:
        family = self._family()
        java = [process for process in family if "java" in process.name()]
        workers = [process for process in family if "daemon" in " ".join(_command(process))]
        if kind == "broker":
            self._broker.kill()
            time.sleep(self._chance.uniform(0, 2))
            self._broker.start()
        elif kind == "worker" and workers:
            os.kill(self._chance.choice(workers).pid, signal.SIGKILL)
        elif kind == "jvm" and java:
            os.kill(java[0].pid, signal.SIGKILL)
        else:
            kind = "driver"
            assert self._driver is not None
            self._driver.kill()
            self._driver.wait()
        self.killed[kind] += 1


def _first_other(got: Sequence[Content], expected: Sequence[Content]) -> int:
    both = zip(got, expected, strict=False)
    return next((n for n, (a, b) in enumerate(both) if a != b), min(len(got), len(expected)))


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def main() -> None:
    """Run once and print what happened as JSON; exit code 1 if anything differs."""
    parser = argparse.ArgumentParser(description="Kills in the middle of a replay.")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--broker", choices=("barnabas", "4.4.0"), default="barnabas")
    parser.add_argument("--records", type=int)
    parser.add_argument("--partitions", type=int, default=7)
    parser.add_argument("--rate", default="20000/s")
    parser.add_argument("--idempotent", action="store_true", help="Without --exactly-once.")
    given = parser.parse_args()
    chance = random.Random(given.seed)
    kinds = [chance.choice(KINDS) for _ in range(given.kills)]
    options = ["--rate", given.rate, *([] if given.idempotent else ["--exactly-once"])]
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        (folder / "broker").mkdir()
        broker: Any
        if given.broker == "barnabas":
            broker = OwnBroker(folder / "broker")
        else:
            broker = ApacheKafka(given.broker, folder / "broker")
            broker.start()
        records = records_of(given.records, given.partitions)
        run = Kills(
            folder, broker, records, given.partitions, seed=given.seed, options=options
        )  # fmt: skip
        began = time.monotonic()
        try:
            run.run(kinds)
            differences = run.differences()
        finally:
            run.close()
            broker.close()
            said = run.output()
    told = {"seed": given.seed, "broker": given.broker, "records": len(records)}
    told |= {"killed": dict(run.killed), "driver_starts": run.starts}
    told |= {"seconds": round(time.monotonic() - began), "differences": differences}
    print(json.dumps(told))
    if differences:
        sys.exit(said)


if __name__ == "__main__":
    main()
