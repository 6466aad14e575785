"""What three replicas cost: acks=all into three brokers, beside Apache Kafka 3.9.1 in the same run.

    scripts/bench replication [--seconds 5] [--peer NAME]

Each broker leads one topic and follows the two others'; a load on each, so that every byte is
written three times. CPU is that of all three per 10^9 bytes that producers sent. Apache Kafka
has a heap of 512 MB a broker.
"""

import argparse
import json
import statistics
import struct
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import generator
import raw
from raw import string
from trio import KINDS, PRODUCE, Trio, running_trio
from workloads import BATCHES, GIGABYTE

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.records import Record

OUT = Path(__file__).parents[2] / "build" / "bench" / "replication.json"
TOPICS = {1: "led-by-1", 2: "led-by-2", 3: "led-by-3"}
PARTITIONS = 4
LOW_RATE_S = 0.02
SINGLES = 300
Figures = dict[str, float]

LINES = [
    ("16k_rate", "16 KB batches in", "MB/s"),
    ("16k_cpu_s", "the same, CPU of all three", "s/GB"),
    ("900k_rate", "900 KB batches in", "MB/s"),
    ("900k_cpu_s", "the same, CPU of all three", "s/GB"),
    ("single_p50_ms", "single records at 50 a second: p50", "ms"),
    ("single_p99_ms", "the same: p99", "ms"),
    ("resident_mb", "resident afterwards, the largest of three", "MB"),
]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench replication")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--warm-seconds", type=float, default=15)
    parser.add_argument("--peer", choices=KINDS, action="append")
    options = parser.parse_args(arguments)
    found: dict[str, Figures] = {}
    for kind in options.peer or KINDS:
        found[kind] = _measure(kind, options.seconds, options.warm_seconds)
        print(f"{kind}: {json.dumps(found[kind])}", file=sys.stderr)
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(found, indent=1))
    print(f"{'':48}" + "".join(f"{kind:>12}" for kind in found) + f"{'ratio':>9}")
    for key, label, unit in LINES:
        values = [found[kind][key] for kind in found]
        ratio = f"{values[0] / values[1]:.2f}" if len(values) == 2 and values[1] else ""
        cells = "".join(f"{value:>12.2f}" for value in values)
        print(f"{f'{label} ({unit})':48}{cells}{ratio:>9}")
    return 0


def _measure(kind: str, seconds: float, warm_seconds: float) -> Figures:
    figures: Figures = {}
    with running_trio(kind) as trio:
        order = {1: [1, 2, 3], 2: [2, 3, 1], 3: [3, 1, 2]}
        trio.create({TOPICS[broker]: [order[broker]] * PARTITIONS for broker in TOPICS})
        trio.wait_until_known(dict.fromkeys(TOPICS.values(), PARTITIONS))
        trio.wait_until_in_sync(dict.fromkeys(TOPICS.values(), PARTITIONS))
        for batches in BATCHES.values():  # lets a JIT compile the hot paths
            _load(trio, warm_seconds / len(BATCHES), batches)
        for size, batches in BATCHES.items():
            before = trio.cpu_seconds()
            reports = _load(trio, seconds, batches)
            trio.wait_until_in_sync(dict.fromkeys(TOPICS.values(), PARTITIONS))
            sent = sum(report["bytes"] for report in reports)
            figures[f"{size}_rate"] = sum(report["megabytes_per_second"] for report in reports)
            figures[f"{size}_cpu_s"] = (trio.cpu_seconds() - before) / sent * GIGABYTE
        taken = sorted(_singles(trio))
        figures["single_p50_ms"] = statistics.median(taken)
        figures["single_p99_ms"] = taken[len(taken) * 99 // 100]
        figures["resident_mb"] = max(trio.resident_megabytes())
    return figures


def _load(trio: Trio, seconds: float, batches: Mapping[str, int]) -> list[dict[str, float]]:
    """All three leaders at once."""

    def one(broker: int) -> dict[str, float]:
        limits = {"seconds": seconds, "bytes": 1_000_000_000, "partitions": PARTITIONS}
        address = trio.nodes[broker].address
        return generator.run("produce", address, TOPICS[broker], **limits, **batches)

    with ThreadPoolExecutor(len(TOPICS)) as beside:
        return list(beside.map(one, TOPICS))


def _singles(trio: Trio) -> list[float]:
    """Milliseconds from a record to its acknowledgement, one every so often."""
    batch = bytes(build_batch([Record(0, 1_700_000_000_000, None, b"x" * 100)]))
    head = struct.pack(">hhii", -1, -1, 30_000, 1) + string(TOPICS[1])
    body = head + struct.pack(">iii", 1, 0, len(batch)) + batch
    taken = []
    with raw.Connection(trio.nodes[1].address) as connection:
        for _ in range(SINGLES):
            began_at = time.perf_counter()
            connection.call(PRODUCE, 3, body)
            taken.append((time.perf_counter() - began_at) * 1e3)
            time.sleep(LOW_RATE_S)
    return taken
