"""Compaction in its child process: speed on one core, and memory: `bench storage_compaction`.

A log of random keys, half of whose records are superseded, is compacted as a broker would.
Speed is the log's bytes over the child's CPU time, so that a noisy machine does not decide;
memory is the child's high-water mark, beside that of a child with next to nothing to do.
"""

import argparse
import os
import random
import select
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.records import Record
from barnabas.storage.compaction.job import CompactionDone, CompactionJob, SourceSegment
from barnabas.storage.compaction.process import CompactionProcess
from barnabas.storage.log_config import LogConfig

CONFIG = LogConfig(cleanup_policy=("compact",))
BATCH_BYTES = 16 << 10
SEGMENT_BYTES = 256 << 20
RECORD_OVERHEAD_BYTES = 30
"""Key, lengths and deltas of a record here, and its share of the batch's header."""
NOW_MS = 1_700_000_000_000


class Measured(NamedTuple):
    """One row: what, how much is allowed, how much it was, and whether that is within."""

    name: str
    budget: str
    measured: str
    is_kept: bool


class Run(NamedTuple):
    """What a child took for a log."""

    log_bytes: int
    left_bytes: int
    cpu_seconds: float
    seconds: float
    peak_bytes: int


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench storage_compaction", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    scale = 10 if parser.parse_args(arguments).quick else 1
    with tempfile.TemporaryDirectory(prefix="bench-compaction-") as folder:
        rows = compaction_rows(Path(folder), scale)
    for row in rows:
        verdict = "ok  " if row.is_kept else "OVER"
        print(f"{verdict} {row.name:<34} budget {row.budget:<28} {row.measured}")
    return 0 if all(row.is_kept for row in rows) else 1


def compaction_rows(folder: Path, scale: int) -> list[Measured]:
    """The figures that the storage issue names."""
    idle = compact_log(folder / "idle", 100_000, 1_000, 1_000)
    return [
        speed_row(folder / "large", "compaction, 1 KB records", 400_000_000 // scale, 1_024, 100),
        speed_row(folder / "small", "compaction, 100 B records", 60_000_000 // scale, 100, 12),
        memory_row(folder / "memory", idle, 60_000_000 // scale),
    ]


def speed_row(
    folder: Path, name: str, log_bytes: int, record_bytes: int, budget_mb: int
) -> Measured:
    keys = log_bytes // record_bytes // 2
    run = compact_log(folder, log_bytes, record_bytes, keys)
    speed = run.log_bytes / run.cpu_seconds / 1e6
    return Measured(
        name,
        f"{budget_mb} MB/s",
        f"{speed:.0f} MB/s of CPU time, {run.log_bytes / run.seconds / 1e6:.0f} MB/s on the clock, "
        f"{run.left_bytes / run.log_bytes:.0%} left",
        speed >= budget_mb,
    )


def memory_row(folder: Path, idle: Run, log_bytes: int) -> Measured:
    """Every key is new, and there are more than the buffer can take."""
    buffer_bytes = log_bytes // 8
    run = compact_log(folder, log_bytes, 100, 1 << 60, buffer_bytes)
    grown = run.peak_bytes - idle.peak_bytes
    # Reading, rewriting and writing have a few megabytes in hand, whatever the map takes.
    allowed = buffer_bytes + (8 << 20)
    return Measured(
        "memory for more keys than fit",
        f"{allowed / 1e6:.0f} MB (buffer {buffer_bytes / 1e6:.0f} MB)",
        f"{grown / 1e6:.0f} MB above an idle child's {idle.peak_bytes / 1e6:.0f} MB",
        grown <= allowed,
    )


def compact_log(
    folder: Path,
    log_bytes: int,
    record_bytes: int,
    keys: int,
    buffer_bytes: int = 128 << 20,
) -> Run:
    """Write a log, have a child of its own compact it, and see what that took."""
    folder.mkdir(parents=True)
    segments = write_log(folder, log_bytes, record_bytes, keys)
    job = CompactionJob(
        topic_partition="bench-0",
        directory=str(folder),
        config=CONFIG,
        segments=segments,
        first_dirty_offset=0,
        high_watermark=segments[-1].next_offset + 1,
        now_ms=NOW_MS,
        dedupe_buffer_bytes=buffer_bytes,
    )
    process = CompactionProcess()
    try:
        started = time.perf_counter()
        process.submit(job)
        done = wait_for_end(process)
        seconds = time.perf_counter() - started
        assert process.pid is not None
        total = sum(segment.size_bytes for segment in segments)
        return Run(
            total, done.written_bytes, cpu_seconds(process.pid), seconds, peak_bytes(process.pid)
        )
    finally:
        process.close()
        for path in folder.iterdir():
            path.unlink()


def write_log(folder: Path, log_bytes: int, record_bytes: int, keys: int) -> list[SourceSegment]:
    """Closed segments of batches with random keys and incompressible values."""
    chance = random.Random(record_bytes)
    value = os.urandom(max(record_bytes - RECORD_OVERHEAD_BYTES, 1))
    per_batch = max(BATCH_BYTES // record_bytes, 1)
    segments: list[SourceSegment] = []
    offset = written = 0
    while written < log_bytes:
        base, size = offset, 0
        with (folder / f"{base:020}.log").open("wb") as file:
            while size < SEGMENT_BYTES and written + size < log_bytes:
                records = [
                    Record(
                        offset + number,
                        NOW_MS + offset,
                        b"key-%012d" % chance.randrange(keys),
                        value,
                    )
                    for number in range(per_batch)
                ]
                size += file.write(build_batch(records))
                offset += per_batch
        segments.append(SourceSegment(base, offset, size))
        written += size
    return segments


def wait_for_end(process: CompactionProcess) -> CompactionDone:
    while True:
        fd = process.fileno()
        assert fd is not None
        select.select([fd], [], [])
        for event in process.poll():
            if isinstance(event, CompactionDone):
                return event
            assert hasattr(event, "replaced"), event


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmHWM")
