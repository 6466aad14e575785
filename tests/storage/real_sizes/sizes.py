"""One log at a time, past every threshold a segment has."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from barnabas.storage.batch.builder import build_batch
from barnabas.storage.batch.header import MAX_OFFSET, walk
from barnabas.storage.batch.records import Record
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.errors import StorageError
from barnabas.storage.log_config import LogConfig, LogManagerConfig
from barnabas.storage.manager.managed_log import ManagedLog

from .numbered import check, fill
from .running import Loss, Running, require, wall_ms

PARTITION = TopicPartition("sizes", 0)
LARGEST = (1 << 31) - 1
COMPACT = LogConfig(
    cleanup_policy=("compact",), min_cleanable_dirty_ratio=0.01, file_delete_delay_ms=0
)
SETTINGS = LogManagerConfig(initial_task_delay_ms=100, cleaner_backoff_ms=50)


def opened(folder: Path, config: LogConfig) -> tuple[Running, ManagedLog]:
    running = Running(folder, config, SETTINGS)
    return running, running.manager.create(PARTITION, config, wall_ms())


def compact(running: Running, log: ManagedLog, seconds: float) -> float:
    """Wait until all closed segments are clean: how long it took, in seconds."""
    begin = time.monotonic()
    clean = log.data_directory.clean_offsets
    stop = log.active_segment.base_offset
    running.until(lambda: clean.get(PARTITION) == stop, seconds, "compaction")
    require(running.manager.scheduler.uncleanable == {}, running.manager.scheduler.uncleanable)
    return time.monotonic() - begin


def restarted(
    running: Running, folder: Path, config: LogConfig, last: Mapping[int, int], at: int = 0
) -> int:
    """Stop, start, check, stop: how many records there are."""
    running.close()
    running, log = opened(folder, config)
    require(log.load_report.notes == [], log.load_report.notes)
    count = check(log, last, at)
    running.close()
    return count


def hundred_segments_into_one(folder: Path) -> str:
    """The files of a compaction are more than any cache of open files holds."""
    small = replace(COMPACT, segment_bytes=1_250_000)
    running, log = opened(folder, small)
    last = fill(log, range(1_200), keys=1_200, value_bytes=100_000, per_batch=3)
    log.roll(wall_ms())
    segments = len(log.segments) - 1
    require(segments >= 100, f"{segments} segments")
    large = replace(small, segment_bytes=1 << 30)
    log.update_config(large)
    seconds = compact(running, log, 120)
    require(len(log.segments) == 2, f"{len(log.segments)} segments are left")
    require(check(log, last) == 1_200, "records are missing")
    restarted(running, folder, large, last)
    return f"{segments} segments of 1.2 MB into one in {seconds:.1f} s, 1,200 keys there"


def two_gigabytes(folder: Path) -> str:
    """A segment as large as can be, its compaction, and a neighbour it must not be joined with."""
    config = replace(COMPACT, segment_bytes=LARGEST, min_cleanable_dirty_ratio=0.0)
    running, log = opened(folder, config)
    begin = time.monotonic()
    last = fill(log, range(35_100), keys=25_000, value_bytes=65_000, per_batch=15)
    filled_s = time.monotonic() - begin
    first, *_ = log.segments
    require(len(log.segments) == 2, f"{len(log.segments)} segments")
    require(LARGEST - 1_000_000 < first.size_bytes <= LARGEST, f"{first.size_bytes} bytes")
    sizes = [segment.size_bytes for segment in log.segments]
    for offset in (0, 17_000, log.active_segment.base_offset - 1, log.log_end_offset - 1):
        records = log.read(offset, 1).records
        require(records is not None, f"nothing at {offset}")
        assert records is not None
        (header,) = walk(records.read())
        require(header.base_offset <= offset <= header.last_offset, f"{header} at {offset}")
    log.roll(wall_ms())
    seconds = compact(running, log, 300)
    count = check(log, last)
    require(count == 25_000, f"{count} records are left")
    left = [segment.size_bytes for segment in log.segments]
    restarted(running, folder, config, last)
    return (
        f"{sum(sizes) / 1e9:.2f} GB in segments of {sizes} bytes (filled in {filled_s:.0f} s) "
        f"compacted to {left} in {seconds:.0f} s, 25,000 of 35,100 records there; "
        f"{running.slice_figures()}"
    )


def offsets_near_2_63(folder: Path) -> str:
    """A log that ends at the last offset there can be."""
    config = replace(COMPACT, segment_bytes=4_000, index_interval_bytes=500)
    running, log = opened(folder, config)
    start, count = MAX_OFFSET - (1 << 31) - 999, 1_000
    log.truncate_fully_and_start_at(start, wall_ms())
    last = fill(log, range(count), keys=300, value_bytes=200, per_batch=1)
    _refuse(lambda: log.append_as_leader(_batch(0), 0, wall_ms()), "a leader gave an offset")
    number = MAX_OFFSET - start
    log.append_as_follower(_batch(MAX_OFFSET, b"%020d" % number), wall_ms())
    log.update_high_watermark(log.log_end_offset)
    last[0] = number
    require(log.log_end_offset == MAX_OFFSET + 1, log.log_end_offset)
    _refuse(
        lambda: log.append_as_follower(_batch(MAX_OFFSET + 1), wall_ms()), "a follower took one"
    )
    log.roll(wall_ms())
    segments = len(log.segments)
    compact(running, log, 60)
    left = check(log, last, start)
    require(restarted(running, folder, config, last, start) == left, "a restart changed the log")
    return f"{segments} segments up to offset {MAX_OFFSET}: {left} of {count + 1} records left"


def _batch(offset: int, value: bytes = b"v") -> bytearray:
    return build_batch([Record(offset, wall_ms(), b"0", value)])


def _refuse(append: Callable[[], object], what: str) -> None:
    """Loss unless it is refused."""
    try:
        append()
    except StorageError:
        return
    raise Loss(f"{what} behind {MAX_OFFSET}")


def offsets_far_apart(folder: Path) -> str:
    """Small segments that lie too far apart for the four bytes of one index."""
    config = replace(COMPACT, segment_bytes=1_000)
    running, log = opened(folder, config)
    step = (1 << 30) + 7
    for number in range(40):
        base = number * step
        record = Record(base, wall_ms(), b"%d" % number, b"v" * 400)
        log.append_as_follower(build_batch([record]), wall_ms())
        log.update_high_watermark(log.log_end_offset)
    log.roll(wall_ms())
    log.update_config(replace(config, segment_bytes=1 << 20))
    compact(running, log, 60)
    ends = [segment.read_next_offset() - 1 for segment in log.segments]
    spans = [end - each.base_offset for end, each in zip(ends, log.segments, strict=True)]
    require(max(spans) <= LARGEST, f"a segment spans {max(spans)} offsets")
    for number in range(40):
        require(log.read(number * step, 1).records is not None, f"offset {number * step}")
    running.close()
    return f"40 records {step} offsets apart in {len(spans) - 1} segments"
