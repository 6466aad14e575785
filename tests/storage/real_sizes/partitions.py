"""Five thousand partitions at once, compacted and retained."""

import time
from pathlib import Path

from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.log_config import LogConfig, LogManagerConfig

from .numbered import check, fill
from .running import Running, require, wall_ms

PARTITIONS = 5_000
FILLED_AT_ONCE = 20
HOUR_MS = 3_600_000
CONFIG = LogConfig(
    cleanup_policy=("compact", "delete"),
    segment_bytes=450,
    retention_ms=HOUR_MS,
    min_cleanable_dirty_ratio=0.01,
    file_delete_delay_ms=0,
)
SETTINGS = LogManagerConfig(
    initial_task_delay_ms=100,
    retention_check_interval_ms=1_000,
    cleaner_backoff_ms=50,
    cleaner_threads=2,
    cleaner_dedupe_buffer_bytes=8 << 20,
)


def five_thousand_partitions(folder: Path) -> str:
    """Half of each log's records are too old, most of the others superseded."""
    running = Running(folder, CONFIG, SETTINGS)
    begin = time.monotonic()
    lasts = []
    for number in range(PARTITIONS):
        log = running.manager.create(TopicPartition("many", number), CONFIG, wall_ms())
        fill(
            log,
            range(4),
            keys=4,
            value_bytes=150,
            per_batch=1,
            timestamp_ms=wall_ms() - 2 * HOUR_MS,
        )
        lasts.append(fill(log, range(4, 10), keys=3, value_bytes=150, per_batch=1))
        log.roll(wall_ms())
        if number % FILLED_AT_ONCE == 0:
            running.until(lambda: running.manager.is_idle, 60, "flushing")
    filled_s, begin = time.monotonic() - begin, time.monotonic()
    clean = running.manager.directories[0].clean_offsets
    logs = list(running.manager)

    def is_all_clean() -> bool:
        return len(clean) == PARTITIONS and all(
            clean[log.partition] == log.active_segment.base_offset for log in logs
        )

    running.until(is_all_clean, 300, f"{PARTITIONS} compactions")
    took_s = time.monotonic() - begin
    require(running.manager.scheduler.uncleanable == {}, running.manager.scheduler.uncleanable)
    records = 0
    for log, last in zip(logs, lasts, strict=True):
        require(log.log_start_offset >= 3, f"{log}: retention left {log.log_start_offset}")
        records += check(log, last)
    running.close()
    again = Running(folder, CONFIG, SETTINGS)
    require(
        sum(check(log, last) for log, last in zip(again.manager, lasts, strict=True)) == records,
        "a restart",
    )
    again.close()
    return (
        f"{PARTITIONS:,} logs (filled in {filled_s:.0f} s) retained, compacted in {took_s:.0f} s, "
        f"{records:,} of {10 * PARTITIONS:,} records left; {running.slice_figures()}, "
        f"at most {running.most_descriptors} descriptors"
    )
