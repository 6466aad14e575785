"""The embedded registry: creating, loading and compacting 5,000 partitions, and its import.

    scripts/bench registry [RUNS]

Prints lowest, median and highest of some runs, in milliseconds of CPU (the work is all this
process's, and a busy machine disturbs CPU time less), beside the budgets of issue 5.
"""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from barnabas.server.registry.bodies import PartitionState
from barnabas.server.registry.registry import Registry
from barnabas.server.registry.znodes.ensemble import JOURNAL_NAME, Ensemble
from barnabas.server.registry.znodes.journal import Journal, open_journal
from barnabas.server.registry.znodes.tree import Tree

SHAPES = {"500 topics of 10": (500, 10), "5,000 topics of 1": (5_000, 1)}
RUNS = 7
LOAD_BUDGET_MS = 150
STATES_BUDGET_MS = 200
IMPORT_BUDGET_MS = 5

IMPORT = """
import asyncio, json, time
before = time.process_time()
import barnabas.server.registry.znodes.ensemble, barnabas.server.registry.registry
print((time.process_time() - before) * 1e3)
"""


def main(arguments: list[str]) -> int:
    """Measure every shape some times over and print the table."""
    runs = int(arguments[0]) if arguments else RUNS
    for shape, (topics, partitions) in SHAPES.items():
        measured = [asyncio.run(_one_run(topics, partitions)) for _ in range(runs)]
        for name, budget_ms in {
            "create topics": None,
            "create states": STATES_BUDGET_MS,
            "load journal": LOAD_BUDGET_MS,
            "compact": None,
            "load snapshot": LOAD_BUDGET_MS,
        }.items():
            _print(f"{shape}: {name}", [run[name] for run in measured], budget_ms)
    _print("import, on top of asyncio and json", _import_ms(runs + 1)[1:], IMPORT_BUDGET_MS)
    return 0


async def _one_run(topics: int, partitions: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / JOURNAL_NAME
        created = await _create(path, topics, partitions)
        load_ms = _timed(lambda: Ensemble(_now_ms, path).close())
        journal, loaded = open_journal(path)
        compact_ms = _timed(lambda: _compact(journal, loaded.tree))
        journal.close()
        snapshot_ms = _timed(lambda: Ensemble(_now_ms, path).close())
    return created | {
        "load journal": load_ms,
        "compact": compact_ms,
        "load snapshot": snapshot_ms,
    }


def _compact(journal: Journal, tree: Tree) -> None:
    rewrite = journal.begin_rewrite(tree)
    rewrite.write()
    rewrite.join()
    rewrite.sync()
    journal.replace(rewrite)


async def _create(path: Path, topics: int, partitions: int) -> dict[str, float]:
    ensemble = Ensemble(_now_ms, path)
    registry = Registry(ensemble.connect())
    await registry.cluster.ensure_paths()
    epoch = await registry.controller.elect(1, _now_ms())
    assert epoch is not None
    replicas = {partition: [1] for partition in range(partitions)}
    began = time.process_time()
    for number in range(topics):
        await registry.topics.create(f"topic-{number}", replicas, {"retention.ms": "3600000"})
    topics_ms = (time.process_time() - began) * 1e3
    began = time.process_time()
    for number in range(topics):
        states = {(f"topic-{number}", p): PartitionState(1, 0, [1], 1) for p in range(partitions)}
        assert await registry.partitions.create(states, epoch) == {}
    states_ms = (time.process_time() - began) * 1e3
    ensemble.close()
    return {"create topics": topics_ms, "create states": states_ms}


def _import_ms(runs: int) -> list[float]:
    """Measure in fresh interpreters; the first may have to compile."""
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-c", IMPORT]
    return [
        float(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
        for _ in range(runs)
    ]


def _timed(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1e3


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _print(name: str, measured_ms: list[float], budget_ms: int | None) -> None:
    low, middle, high = min(measured_ms), statistics.median(measured_ms), max(measured_ms)
    budget = f"   budget {budget_ms}" if budget_ms else ""
    print(f"{name:40} {low:7.1f} {middle:7.1f} {high:7.1f} ms{budget}")
