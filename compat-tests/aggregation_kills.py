"""kill -9 of an aggregation's driver at random points; afterwards every result is there once.

    .venv/bin/python compat-tests/aggregation_kills.py [KILLS] [EVENTS] [SEED]

By hand, not part of the tests: each start of Spark takes its seconds. The results are held
against plain Python (aggregation_oracle.py), the broker is a Barnabas of its own.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import psutil
import pyarrow.parquet as parquet
from aggregation_oracle import Expected, Session, batches_of, expected
from confluent_kafka import Consumer, TopicPartition

from barnabas import Broker

JARS = Path(__file__).resolve().parents[1] / ".oracles" / "jars-spark-4.2.0"
PARTITIONS = 4
LONGEST_WAIT_S = 8.0
COLUMNS = ("user_id", "is_bot", "page_views", "searches", "sign_ins")


def command(bootstrap: str, *arguments: str) -> list[str]:
    """`barnabas pipeline …` with a small Spark of its own."""
    spark = ("--master", "local[2]", "--jars", str(JARS))
    settings = ("--spark-setting", "spark.driver.memory=1g")
    start = [sys.executable, "-m", "barnabas", "pipeline", *arguments]
    return [*start, "--bootstrap", bootstrap, *spark, *settings]


def kill_all(process: subprocess.Popen[bytes]) -> None:
    """The driver, its JVM and its Python workers."""
    driver = psutil.Process(process.pid)
    for member in [*driver.children(recursive=True), driver]:
        member.kill()
    process.wait()


def aggregated(bootstrap: str, folder: Path, kills: int, chance: random.Random) -> int:
    """Run until the topic is aggregated, killed so many times on the way; the kills there were."""
    where = ["--checkpoint", str(folder / "checkpoint"), "--to-folder", str(folder / "results")]
    done = 0
    while True:
        process = subprocess.Popen(
            command(bootstrap, "aggregate", "visits", *where, "--to-topic", "counted", "--once",
                    "--most-records", "6000"),
        )  # fmt: skip
        if done == kills:
            assert process.wait() == 0
            return done
        if not has_begun_a_batch(process, folder):
            return done
        # Somewhere in this batch or in one of the next.
        time.sleep(chance.random() * LONGEST_WAIT_S)
        kill_all(process)
        done += 1
        print(f"kill {done}: {count(folder, 'offsets')} begun, {count(folder, 'commits')} done",
              flush=True)  # fmt: skip


def has_begun_a_batch(process: subprocess.Popen[bytes], folder: Path) -> bool:
    """Wait until the stream begins a batch that was not begun before, or has ended."""
    before = count(folder, "offsets")
    while process.poll() is None:
        if count(folder, "offsets") > before:
            return True
        time.sleep(0.05)
    assert process.returncode == 0
    return False


def count(folder: Path, what: str) -> int:
    """Of the checkpoint's batches, those that are begun ("offsets") or done ("commits")."""
    return len(list((folder / "checkpoint" / "query" / what).glob("[0-9]*")))


def values_of(bootstrap: str, topic: str, partitions: int) -> list[list[tuple[bytes, bytes]]]:
    """Key and value of every record, by partition."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "kills"})
    found: list[list[tuple[bytes, bytes]]] = [[] for _ in range(partitions)]
    ends = [
        consumer.get_watermark_offsets(TopicPartition(topic, n), timeout=30)[1]
        for n in range(partitions)
    ]
    consumer.assign([TopicPartition(topic, n, 0) for n in range(partitions)])
    while sum(map(len, found)) < sum(ends):
        for message in consumer.consume(10_000, timeout=5):
            found[message.partition()].append((message.key(), message.value()))
    consumer.close()
    return found


def check(bootstrap: str, folder: Path) -> None:
    """AssertionError says what is not as it has to be."""
    events = values_of(bootstrap, "visits", PARTITIONS)
    batches, watermark_ms = batches_of(folder / "checkpoint" / "query", "visits")
    wanted = expected([[v for _, v in part] for part in events], batches, watermark_ms)
    assert_folder(folder / "results", wanted)
    by_key: dict[bytes, bytes] = {}
    results = [pair for part in values_of(bootstrap, "counted", 2) for pair in part]
    for key, value in results:
        assert by_key.setdefault(key, value) == value, (key, value)
    assert len(by_key) == len(wanted.windows) + len(wanted.sessions)
    tally = json.loads((folder / "checkpoint" / "tally.json").read_text())
    records = sum(map(len, events))
    assert tally["records"] == records
    assert tally["late"] <= wanted.late <= tally["late"] + tally["untold"]
    print(
        f"{records} events, {len(batches)} batches, {len(wanted.windows)} windows, "
        f"{len(wanted.sessions)} sessions, {wanted.late} late (told {tally['late']}, "
        f"{tally['untold']} records untold); topic: {len(results)} records of {len(by_key)} keys"
    )


def assert_folder(results: Path, wanted: Expected) -> None:
    rows = parquet.read_table(results / "windows").to_pylist()
    windows = Counter(
        {(ms(row["start"]), row["kind"], row["is_bot"]): row["events"] for row in rows}
    )
    assert len(rows) == len(windows) and windows == wanted.windows
    rows = parquet.read_table(results / "sessions").to_pylist()
    sessions: set[Session] = {
        (ms(row["start"]), ms(row["end"]), *(row[name] for name in COLUMNS))  # type: ignore[misc]
        for row in rows
    }
    assert len(rows) == len(sessions) and sessions == wanted.sessions


def ms(moment: object) -> int:
    """Milliseconds since 1970 of a datetime."""
    return round(moment.timestamp() * 1000)  # type: ignore[attr-defined]


def main() -> None:
    """Generate, aggregate under kills, check."""
    kills, events, seed = (int(a) for a in [*sys.argv[1:], "10", "60000", "1"][:3])
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as name, Broker(process=True) as broker:
        bootstrap, folder = broker.bootstrap_servers, Path(name)
        subprocess.run(
            [sys.executable, "-m", "barnabas", "topics", "create", "counted",
             "--partitions", "2", "--bootstrap", bootstrap], check=True,
        )  # fmt: skip
        create = ("--create", "--partitions", str(PARTITIONS), "--seed", str(seed))
        subprocess.run(
            command(bootstrap, "generate", "visits", "--events", str(events), *create), check=True
        )
        started = time.monotonic()
        done = aggregated(bootstrap, folder, kills, chance)
        print(f"{done} kills in {time.monotonic() - started:.0f} s")
        check(bootstrap, folder)


if __name__ == "__main__":
    main()
