"""Spark's own source and sink on Barnabas and on Apache Kafka: `scripts/bench spark`.

    scripts/bench spark [--part NAME] [--rounds N]

`read-100`, `read-1000`, `sink`: both brokers run, and one Spark takes turns with them, the other
way round in every other round, after a round that is not counted. `micro-batch`: one broker after
the other, each with a Spark of its own; seconds from an acknowledged record to the end of the
micro-batch that has it, of which the first, which starts everything, is left out.

Medians are compared. Budgets: no load slower than on Kafka, a micro-batch at most 0.6 of Kafka's
(issue 7). Every value goes to build/bench/spark.json.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from peers import ROOT, Barnabas, Kafka, Peer
from raw import create_topics, delete_topic

PROGRAM = ROOT / "compat-tests" / "spark" / "program.py"
JOBS = Path(__file__).parent / "spark_jobs.py"
JARS = ROOT / ".oracles" / "jars-spark-4.2.0"
MICRO_BATCH = "micro-batch"
MICRO_BATCHES = 12
MOST_OF_KAFKA = 0.6
PARTITIONS = 4
Values = dict[str, list[float]]  # peer -> one value per round
Figures = dict[str, Values]


@dataclass(frozen=True)
class Load:
    """So many records with values of `size` bytes, read or written."""

    do: str
    records: int
    size: int


LOADS: Mapping[str, Load] = {
    "read-100": Load("read", 2_000_000, 100),
    "read-1000": Load("read", 500_000, 1_000),
    "sink": Load("sink", 500_000, 1_000),
}


class Jobs:
    """The Spark that all brokers are measured with (spark_jobs.py)."""

    def __init__(self, process: psutil.Popen) -> None:
        self._process = process
        self._answer()

    def run(self, command: Mapping[str, object]) -> float:
        """Seconds that the job says it took."""
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def cpu_seconds(self) -> float:
        """Of the driver, its JVM and its workers, user and system."""
        times = [part.cpu_times() for part in self._process.children(recursive=True)]
        times.append(self._process.cpu_times())
        return float(sum(part.user + part.system for part in times))

    def _answer(self) -> float:
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("Spark has ended; its reason is above")
        return float(json.loads(line).get("seconds", 0))


@contextmanager
def running_jobs() -> Iterator[Jobs]:
    process = psutil.Popen(
        [sys.executable, str(JOBS), str(JARS)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Jobs(process)
    finally:
        process.stdin.close()
        process.wait(60)


def main(arguments: Sequence[str]) -> int:
    """Measure and print; 1 if a budget is missed."""
    options = _parser().parse_args(arguments)
    parts = options.part or [*LOADS, MICRO_BATCH]
    figures: Figures = {}
    missed = False
    if loads := {name: load for name, load in LOADS.items() if name in parts}:
        measure(loads, options.rounds, figures)
        missed = any([_print_load(name, load, figures) for name, load in loads.items()])
    if MICRO_BATCH in parts:
        missed |= measure_micro_batches(options.micro_batches, figures)
    target = ROOT / "build" / "bench" / "spark.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(figures, indent=1) + "\n")
    return int(missed)


def measure(loads: Mapping[str, Load], rounds: int, figures: Figures) -> None:
    """All loads on both brokers in turns; round 0 is not counted."""
    peers: list[Peer] = [Kafka(), Barnabas()]
    try:
        for peer in peers:
            peer.start()
            for name, load in loads.items():
                if load.do == "read":
                    fill(peer, name, load)
        with running_jobs() as jobs:
            for turn in range(rounds + 1):
                for name, load in loads.items():
                    for peer in peers if turn % 2 else peers[::-1]:
                        _measure_once(jobs, peer, name, load, figures if turn else {})
    finally:
        for peer in peers:
            peer.discard()


def fill(peer: Peer, topic: str, load: Load) -> None:
    """A topic of so many records, uncompressed, by librdkafka."""
    from confluent_kafka import Producer

    create_topics(peer.address, {topic: PARTITIONS})
    producer = Producer({"bootstrap.servers": peer.address, "linger.ms": 50})
    value = bytes(range(256)) * (load.size // 256 + 1)
    for number in range(load.records):
        at = number % 256
        while True:
            try:
                producer.produce(
                    topic, value[at : at + load.size].ljust(load.size, b"."),
                    partition=number % PARTITIONS,
                )  # fmt: skip
                break
            except BufferError:
                producer.poll(0.05)
    if left := producer.flush(120):
        raise RuntimeError(f"{peer.name}: {left} records were not acknowledged")


def _measure_once(jobs: Jobs, peer: Peer, name: str, load: Load, figures: Figures) -> None:
    command: dict[str, object] = {"do": load.do, "bootstrap": peer.address, "topic": name}
    if load.do == "sink":
        create_topics(peer.address, {name: PARTITIONS})
        command |= {"records": load.records, "size": load.size}
    spark_cpu, broker_cpu = jobs.cpu_seconds(), peer.cpu_seconds()
    seconds = jobs.run(command)
    found = {
        f"{name} seconds": seconds,
        f"{name} Spark CPU": jobs.cpu_seconds() - spark_cpu,
        f"{name} broker CPU": peer.cpu_seconds() - broker_cpu,
    }
    if load.do == "sink":
        delete_topic(peer.address, name)
    for figure, value in found.items():
        figures.setdefault(figure, {}).setdefault(peer.name, []).append(value)
    told = ", ".join(f"{value:.2f}" for value in found.values())
    print(f"{peer.name} {name}: {told} s", file=sys.stderr, flush=True)


def _print_load(name: str, load: Load, figures: Figures) -> bool:
    """Print a load's medians; True if Barnabas was slower."""
    print(f"{name}: {load.records:,} records of {load.size:,} B")
    ratios = [_print_ratio(f"{name} {what}", figures) for what in KINDS]
    return ratios[0] > 1


KINDS = ("seconds", "Spark CPU", "broker CPU")


def _print_ratio(figure: str, figures: Figures) -> float:
    ours, kafka = (figures[figure][peer.name] for peer in (Barnabas, Kafka))
    ratio = statistics.median(ours) / max(statistics.median(kafka), 0.01)
    print(f"  {figure:24} Barnabas {_spread(ours)}  Kafka {_spread(kafka)}  ratio {ratio:.2f}")
    return ratio


def _spread(values: Sequence[float]) -> str:
    return f"{min(values):.2f} / {statistics.median(values):.2f} / {max(values):.2f} s"


def measure_micro_batches(batches: int, figures: Figures) -> bool:
    """Print the medians of both; True if the budget is missed."""
    for peer in (Kafka(), Barnabas()):
        peer.start()
        try:
            seconds = micro_batches(peer, batches)[1:]
        finally:
            peer.discard()
        figures.setdefault(MICRO_BATCH, {})[peer.name] = seconds
    print(f"{MICRO_BATCH}: one record; budget {MOST_OF_KAFKA}")
    return _print_ratio(MICRO_BATCH, figures) > MOST_OF_KAFKA


def micro_batches(peer: Peer, count: int) -> list[float]:
    """Seconds of each of `count` micro-batches of one record."""
    create_topics(peer.address, {"micro": 1})
    with tempfile.TemporaryDirectory() as folder:
        command = {"do": "micro_batches", "topic": "micro", "count": count, "checkpoint": folder}
        done = subprocess.run(
            [sys.executable, str(PROGRAM), peer.address, str(JARS)],
            input=json.dumps(command) + "\n",
            capture_output=True,
            text=True,
            # Its modules lie beside it, which scripts/compiled has Python not look at.
            env={
                **os.environ,
                "PYTHONPATH": f"{PROGRAM.parent}:{os.environ.get('PYTHONPATH', '')}",
            },
        )
    answer = json.loads(done.stdout.splitlines()[-1])
    if "error" in answer:
        raise RuntimeError(answer["error"])
    seconds: list[float] = answer["seconds"]
    return seconds


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/bench spark",
        description="Measures Spark on Barnabas and on Apache Kafka 4.4.0.",
    )
    parser.add_argument(
        "--part", action="append", choices=[*LOADS, MICRO_BATCH],
        help="measure this only (may be given again)",
    )  # fmt: skip
    parser.add_argument("--rounds", type=int, default=3, help="turns each takes (3)")
    parser.add_argument(
        "--micro-batches", type=int, default=MICRO_BATCHES, help=f"({MICRO_BATCHES})"
    )
    return parser
