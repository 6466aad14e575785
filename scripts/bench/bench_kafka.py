"""Barnabas beside Apache Kafka on one machine: `python scripts/bench kafka`.

Both run at the same time and take turns, workload by workload and round by round, so that a
noisy minute meets both. The table compares the median of Barnabas with the best round of
Apache Kafka; build/bench/kafka.json keeps every value.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict

from figures import FIGURES, Figure
from generator import ROOT, GeneratorError
from lifecycle import LIFECYCLE
from peers import PEERS, Peer, PeerError
from raw import RawError
from workloads import STEADY, Settings, warm_up

Results = dict[str, dict[str, list[float]]]  # peer -> figure -> one value per round


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    settings = Settings(
        seconds=options.seconds,
        warm_seconds=options.warm_seconds,
        log_gigabytes=options.log_gigabytes,
        partitions=options.partitions,
    )
    peers = [name for name in PEERS if name == options.only or not options.only]
    results: Results = {name: {} for name in peers}
    chosen = options.workload or [*LIFECYCLE, *STEADY]
    try:
        _run_lifecycle(results, settings, [name for name in LIFECYCLE if name in chosen], options)
        _run_steady(results, settings, [name for name in STEADY if name in chosen], options)
    except (GeneratorError, PeerError, RawError) as problem:
        print(f"bench: {problem}", file=sys.stderr)
        return 1
    finally:
        _write(results, settings)
    _print_table(results)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python scripts/bench kafka",
        description="Measures Barnabas and Apache Kafka 4.4.0 with the same loads.",
    )
    parser.add_argument("--only", choices=PEERS, help="measure one of the two")
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


def _run_lifecycle(
    results: Results, settings: Settings, names: list[str], options: argparse.Namespace
) -> None:
    for name in names:
        for turn in range(options.rounds):
            for peer in _order(results, turn):
                _note(results, peer, name, LIFECYCLE[name](PEERS[peer], settings))


def _run_steady(
    results: Results, settings: Settings, names: list[str], options: argparse.Namespace
) -> None:
    """Starts every peer once and keeps it for all of these workloads."""
    running: dict[str, Peer] = {}
    try:
        for peer in results if names else []:
            running[peer] = PEERS[peer]()
            running[peer].start()
            warm_up(running[peer], settings)
        for name in names:
            for turn in range(options.rounds):
                for peer in _order(results, turn):
                    _note(results, peer, name, STEADY[name](running[peer], settings))
        for peer, broker in running.items():
            _note(results, peer, "memory", {"loaded_mb": broker.resident_megabytes()})
    finally:
        for broker in running.values():
            broker.discard()


def _order(results: Results, turn: int) -> list[str]:
    return list(results) if turn % 2 == 0 else list(results)[::-1]


def _note(results: Results, peer: str, workload: str, figures: dict[str, float]) -> None:
    for key, value in figures.items():
        results[peer].setdefault(key, []).append(value)
    told = ", ".join(f"{key} {value:.4g}" for key, value in figures.items())
    print(f"{peer} {workload}: {told}", file=sys.stderr)


def _write(results: Results, settings: Settings) -> None:
    target = ROOT / "build" / "bench" / "kafka.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    document = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {sys.version.split()[0]}",
        "settings": asdict(settings),
        "results": results,
    }
    target.write_text(json.dumps(document, indent=1) + "\n")


def _print_table(results: Results) -> None:
    rows = [row for figure in FIGURES if (row := _row(figure, results)) is not None]
    header = ("", "Barnabas", "Kafka", "ratio", "aim", "")
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    for row in [header, *rows]:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )


def _row(figure: Figure, results: Results) -> tuple[str, ...] | None:
    ours_all = results.get("barnabas", {}).get(figure.key)
    kafka_all = results.get("kafka", {}).get(figure.key)
    if not ours_all and not kafka_all:
        return None
    ours = statistics.median(ours_all) if ours_all else None
    kafka = figure.best(kafka_all) if kafka_all else None
    ratio = f"{ours / kafka:.2f}" if ours is not None and kafka else ""
    missed = ours is not None and figure.missed(ours, kafka)
    label = f"{figure.label}, {figure.unit}"
    return label, _cell(ours), _cell(kafka), ratio, figure.aim(), "missed" if missed else ""


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}" if value < 1000 else f"{value:,.0f}"
