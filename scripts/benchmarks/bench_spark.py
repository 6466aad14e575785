"""Spark's one-record micro-batch with default settings, on Barnabas and on Apache Kafka.

    scripts/bench spark [BATCHES]

One broker after the other, each with a Spark of its own; seconds from the acknowledged record
to the end of the micro-batch that has it. Budget: Barnabas at most 0.6 of Kafka (issue 7).
The first batch of a query, which starts everything, is left out.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from peers import Barnabas, Kafka, Peer
from raw import create_topics

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "compat-tests" / "spark" / "program.py"
JARS = ROOT / ".oracles" / "jars-spark-4.2.0"
BATCHES = 12
MOST_OF_KAFKA = 0.6


def main(arguments: list[str]) -> int:
    """Measure both and print the ratio; 1 if the budget is missed."""
    batches = int(arguments[0]) if arguments else BATCHES
    medians = {}
    for peer in (Kafka(), Barnabas()):
        peer.start()
        try:
            seconds = micro_batches(peer, batches)[1:]
        finally:
            peer.discard()
        medians[peer.name] = statistics.median(seconds)
        low, high = min(seconds), max(seconds)
        print(f"{peer.name:10} {low:.3f} / {medians[peer.name]:.3f} / {high:.3f} s", flush=True)
    ratio = medians[Barnabas.name] / medians[Kafka.name]
    print(f"ratio {ratio:.2f}, budget {MOST_OF_KAFKA}")
    return 0 if ratio <= MOST_OF_KAFKA else 1


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
        )
    answer = json.loads(done.stdout.splitlines()[-1])
    if "error" in answer:
        raise RuntimeError(answer["error"])
    seconds: list[float] = answer["seconds"]
    return seconds
