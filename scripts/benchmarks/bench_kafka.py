"""Barnabas beside Apache Kafka on one machine: `scripts/bench kafka`.

Both run at the same time and take turns, workload by workload and round by round, so that a
noisy minute meets both. The table compares the median of Barnabas with the best round of
Apache Kafka; build/bench/kafka.json keeps every value. `bare` is the least a broker in Python
could cost (bare.py), in the same minutes: what the machine is worth today.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from figures import FIGURES, Figure
from generator import ROOT, GeneratorError
from java_tools import ToolError
from librdkafka import LibrdkafkaError
from lifecycle import LIFECYCLE
from peers import PEERS, ZOOKEEPER_PEERS, Peer, PeerError
from raw import RawError
from workloads import FLOOR, STEADY, Settings, warm_up

PROBLEMS = (GeneratorError, PeerError, RawError, LibrdkafkaError, ToolError)
Results = dict[str, dict[str, list[float]]]  # peer -> figure -> one value per round


@dataclass
class Comparison:
    """One run: what was measured, and the workloads that failed on a broker."""

    settings: Settings
    rounds: int
    results: Results
    kinds: dict[str, type[Peer]]
    problems: list[str] = field(default_factory=list)

    def run_lifecycle(self, names: list[str]) -> None:
        for name in names:
            for peer in self._turns([name for name in self.results if self.kinds[name].is_broker]):
                self._attempt(peer, name, partial(LIFECYCLE[name], self.kinds[peer], self.settings))

    def run_steady(self, names: list[str]) -> None:
        """Starts every peer once and keeps it for all of these workloads."""
        running: dict[str, Peer] = {}
        try:
            for peer in self.results if names else []:
                running[peer] = self.kinds[peer]()
                self._attempt(peer, "warm-up", partial(self._warm, running[peer]))
            ready = [peer for peer, broker in running.items() if broker.is_running()]
            for name in names:
                taking_part = [p for p in ready if name in FLOOR or self.kinds[p].is_broker]
                for peer in self._turns(taking_part):
                    self._attempt(peer, name, partial(STEADY[name], running[peer], self.settings))
            for peer in [p for p in ready if self.kinds[p].is_broker]:
                self._attempt(peer, "memory", partial(_memory, running[peer]))
        finally:
            for broker in running.values():
                broker.discard()

    def _warm(self, broker: Peer) -> dict[str, float]:
        broker.start()
        warm_up(broker, self.settings)
        return {}

    def _turns(self, peers: list[str]) -> list[str]:
        """Every peer once per round, the other way round in every other round."""
        there_and_back = [peers, peers[::-1]]
        return [peer for turn in range(self.rounds) for peer in there_and_back[turn % 2]]

    def _attempt(self, peer: str, workload: str, run: Callable[[], dict[str, float]]) -> None:
        try:
            figures = run()
        except PROBLEMS as problem:
            self.problems.append(f"{peer} {workload}: {problem}")
            print(f"bench: {self.problems[-1]}", file=sys.stderr)
            return
        for key, value in figures.items():
            self.results[peer].setdefault(key, []).append(value)
        told = ", ".join(f"{key} {value:.4g}" for key, value in figures.items())
        print(f"{peer} {workload}: {told or 'done'}", file=sys.stderr)

    def write(self, target: Path) -> None:
        machine = (
            f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
        )
        document = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "machine": machine,
            "settings": asdict(self.settings),
            "problems": self.problems,
            "results": self.results,
        }
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(document, indent=1) + "\n")


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    settings = Settings(
        seconds=options.seconds,
        warm_seconds=options.warm_seconds,
        log_gigabytes=options.log_gigabytes,
        partitions=options.partitions,
    )
    kinds = ZOOKEEPER_PEERS if options.zookeeper else PEERS
    peers = [name for name in kinds if name == options.only or not options.only]
    comparison = Comparison(settings, options.rounds, {name: {} for name in peers}, kinds)
    chosen = options.workload or [*LIFECYCLE, *STEADY]
    try:
        comparison.run_lifecycle([name for name in LIFECYCLE if name in chosen])
        comparison.run_steady([name for name in STEADY if name in chosen])
    finally:
        comparison.write(ROOT / "build" / "bench" / "kafka.json")
        _print_table(comparison.results)
    return 1 if comparison.problems else 0


def _memory(broker: Peer) -> dict[str, float]:
    return {"loaded_mb": broker.resident_megabytes()}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/bench kafka",
        description="Measures Barnabas and Apache Kafka 4.4.0 with the same loads.",
    )
    parser.add_argument("--only", choices=PEERS, help="measure this one alone")
    parser.add_argument(
        "--zookeeper",
        action="store_true",
        help="each with an Apache ZooKeeper; Apache Kafka is 3.9.1 then",
    )
    parser.add_argument(
        "--workload",
        action="append",
        choices=[*LIFECYCLE, *STEADY],
        help="run this one only (may be given again)",
    )
    parser.add_argument("--rounds", type=int, default=1, help="turns each takes (1)")
    parser.add_argument("--seconds", type=float, default=3, help="length of one load (3)")
    parser.add_argument("--warm-seconds", type=float, default=20, help="warm-up (20)")
    parser.add_argument("--log-gigabytes", type=float, default=1, help="the large log (1)")
    parser.add_argument("--partitions", type=int, default=5000, help="many partitions (5000)")
    return parser


def _print_table(results: Results) -> None:
    rows = [row for figure in FIGURES if (row := _row(figure, results)) is not None]
    header = ("", "Barnabas", "Kafka", "ratio", "bare", "aim", "")
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    for row in [header, *rows]:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )


def _row(figure: Figure, results: Results) -> tuple[str, ...] | None:
    ours_all = results.get("barnabas", {}).get(figure.key)
    kafka_all = results.get("kafka", {}).get(figure.key)
    bare_all = results.get("bare", {}).get(figure.key)
    if not ours_all and not kafka_all and not bare_all:
        return None
    ours = statistics.median(ours_all) if ours_all else None
    kafka = figure.best(kafka_all) if kafka_all else None
    ratio = f"{ours / kafka:.2f}" if ours is not None and kafka else ""
    missed = ours is not None and figure.missed(ours, kafka)
    label = f"{figure.label}, {figure.unit}"
    bare = _cell(statistics.median(bare_all)) if bare_all else ""
    return label, _cell(ours), _cell(kafka), ratio, bare, figure.aim(), "missed" if missed else ""


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}" if value < 1000 else f"{value:,.0f}"
