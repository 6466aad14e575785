"""The log beside the bare system calls: `scripts/bench storage`.

Appends and plain `os.write` of the same bytes take turns in small groups, in CPU time of this
thread, so that a noisy machine meets both. Each row is printed with its budget; the exit code
says whether all were kept.
"""

import argparse
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench_storage_compaction import compaction_rows

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.records import Record
from barnabas.storage.disk.fs import REAL
from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.log.log import Log
from barnabas.storage.log.results import ReadBound
from barnabas.storage.log_config import LogConfig

NOW_MS = 1_700_000_000_000
HEADER_BYTES = 61 + 11
"""What a batch of one record adds to the record's value."""

clock_ns = time.thread_time_ns


@dataclass(frozen=True)
class Row:
    """One measured thing and what it may cost."""

    name: str
    budget: str
    measured: str
    is_kept: bool


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench storage", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    parser.add_argument("--open-child", metavar="DIR", help=argparse.SUPPRESS)
    parsed = parser.parse_args(arguments)
    if parsed.open_child:
        return open_all(Path(parsed.open_child))
    scale = 10 if parsed.quick else 1
    with tempfile.TemporaryDirectory(prefix="bench-storage-") as folder:
        rows = [
            *append_rows(Path(folder), scale),
            locate_row(Path(folder), scale),
            *open_rows(Path(folder)),
            *(Row(*row) for row in compaction_rows(Path(folder) / "compaction", scale)),
        ]
    for row in rows:
        verdict = "ok  " if row.is_kept else "OVER"
        print(f"{verdict} {row.name:<34} budget {row.budget:<28} {row.measured}")
    return 0 if all(row.is_kept for row in rows) else 1


def append_rows(folder: Path, scale: int) -> list[Row]:
    """Appends of three sizes, and of an idempotent producer."""
    return [
        overhead_row(folder, "append 200 B", 200, 400 // scale, 50, 6.0),
        overhead_row(folder, "append 200 B idempotent", 200, 400 // scale, 50, 8.0, producer_id=7),
        overhead_row(folder, "append 16 KB", 16 << 10, 300 // scale, 20, 12.0),
        throughput_row(folder, 100 // scale),
    ]


def a_batch(size: int, sequence: int, producer_id: int) -> memoryview:
    record = Record(0, NOW_MS, None, b"v" * (size - HEADER_BYTES))
    if producer_id < 0:
        return memoryview(build_batch([record]))
    return memoryview(
        build_batch([record], producer_id=producer_id, producer_epoch=0, base_sequence=sequence)
    )


def take_turns(
    folder: Path, size: int, groups: int, per_group: int, producer_id: int = -1
) -> tuple[list[float], list[float]]:
    """CPU microseconds per call, group by group: bare writes, appends."""
    directory = folder / "turns-0"
    directory.mkdir()
    log = Log.open(str(directory), "turns-0", LogConfig(), NOW_MS)
    log.append_as_leader(memoryview(build_batch([Record(0, NOW_MS, None, b"")])), 0, NOW_MS)
    bare_path = folder / "bare"
    fd = os.open(bare_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    bare, appended = [], []
    write, append = os.write, log.append_as_leader
    for group in range(groups):
        first = group * per_group
        batches = [a_batch(size, first + number, producer_id) for number in range(per_group)]
        started = clock_ns()
        for batch in batches:
            write(fd, batch)
        bare.append((clock_ns() - started) / per_group / 1000)
        started = clock_ns()
        for batch in batches:
            append(batch, 0, NOW_MS)
        appended.append((clock_ns() - started) / per_group / 1000)
    os.close(fd)
    bare_path.unlink()
    log.close_files()
    for path in directory.iterdir():
        path.unlink()
    directory.rmdir()
    return bare, appended


def overhead_row(
    folder: Path,
    name: str,
    size: int,
    groups: int,
    per_group: int,
    budget: float,
    producer_id: int = -1,
) -> Row:
    bare, appended = take_turns(folder, size, groups, per_group, producer_id)
    least = min(appended) - min(bare)
    median = statistics.median(appended) - statistics.median(bare)
    measured = (
        f"+{least:.2f} µs at best, +{median:.2f} median"
        f" (bare {min(bare):.2f}/{statistics.median(bare):.2f})"
    )
    return Row(name, f"+{budget:.0f} µs over os.write", measured, median <= budget)


def throughput_row(folder: Path, groups: int) -> Row:
    bare, appended = take_turns(folder, 1 << 20, groups, 4)
    median = statistics.median(bare) / statistics.median(appended)
    speed = (1 << 20) / statistics.median(appended) / 1000
    measured = f"{median:.0%} median, {speed:.2f} GB/s"
    return Row("append 1 MB", "70% of os.write", measured, median >= 0.7)


def locate_row(folder: Path, scale: int) -> Row:
    """Random reads in a log of 1 GB and 100 segments."""
    directory = folder / "locate-0"
    directory.mkdir()
    config = LogConfig(segment_bytes=10 << 20)
    log = Log.open(str(directory), "locate-0", config, NOW_MS)
    batch = a_batch(4096, 0, -1)
    for _ in range((1 << 30) // len(batch) // scale):
        batch[:8] = bytes(8)
        log.append_as_leader(batch, 0, NOW_MS)
    log.update_high_watermark(log.log_end_offset)
    samples = [timed_reads(log, 100) for _ in range(100)]
    segments = len(log.segments)
    log.close_files()
    for path in directory.iterdir():
        path.unlink()
    measured = f"{min(samples):.2f} µs at best, {statistics.median(samples):.2f} median"
    return Row(
        f"locate a read, {segments} segments", "10 µs", measured, statistics.median(samples) <= 10
    )


def timed_reads(log: Log, count: int) -> float:
    offsets = [random.randrange(log.log_end_offset) for _ in range(count)]
    read, bound = log.read, ReadBound.HIGH_WATERMARK
    started = clock_ns()
    for offset in offsets:
        read(offset, 1 << 20, bound=bound)
    return (clock_ns() - started) / count / 1000


PARTITIONS = 5000


def open_rows(folder: Path) -> list[Row]:
    """Opening 5,000 partitions that were never written, in a process of its own."""
    root = folder / "many"
    for number in range(PARTITIONS):
        partition = root / f"topic-{number}"
        partition.mkdir(parents=True)
        (partition / "partition.metadata").write_text(
            "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"
        )
    command = [sys.executable, str(Path(__file__).parent), "storage", "--open-child", str(root)]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(3)]
    results = [tuple(map(float, run.stdout.split())) for run in runs]
    seconds, megabytes = min(result[0] for result in results), max(result[1] for result in results)
    grown = max(result[2] for result in results)
    return [
        Row("open 5,000 empty partitions", "0.7 s", f"{seconds:.2f} s CPU", seconds <= 0.7),
        Row(
            "memory with them",
            "60 MB",
            f"{megabytes:.0f} MB resident, {grown:.0f} MB of them for the logs",
            megabytes <= 60,
        ),
    ]


def open_all(root: Path) -> int:
    before = resident_megabytes()
    config = LogConfig()
    files = FileCache(REAL)
    started = clock_ns()
    logs = [Log.open(str(path), path.name, config, NOW_MS, files=files) for path in root.iterdir()]
    seconds = (clock_ns() - started) / 1e9
    assert len(logs) == PARTITIONS
    print(seconds, resident_megabytes(), resident_megabytes() - before)
    return 0


def resident_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
