"""The broker's settings that concern all of its logs, with Kafka's defaults.

The last ones are thresholds of our own that no configuration file reaches: tests make them so
small that a few kilobytes pass them.
"""

from dataclasses import dataclass
from math import inf

from barnabas.storage.loading.unopened_logs import SMALL_BYTES, WORTH_A_CHILD_BYTES
from barnabas.storage.log_config import FOREVER

SLICE_LOGS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class LogManagerConfig:
    """Kafka's names, dots as underscores, in the comments where ours is shorter."""

    retention_check_interval_ms: int = 300_000  # log.retention.check.interval.ms
    flush_interval_ms: int = FOREVER  # log.flush.scheduler.interval.ms
    recovery_point_interval_ms: int = 60_000  # log.flush.offset.checkpoint.interval.ms
    log_start_interval_ms: int = 60_000  # log.flush.start.offset.checkpoint.interval.ms
    high_watermark_interval_ms: int = 5_000  # replica.high.watermark.checkpoint.interval.ms
    producer_id_expiration_ms: int = 86_400_000  # producer.id.expiration.ms
    producer_id_check_interval_ms: int = 600_000  # producer.id.expiration.check.interval.ms
    initial_task_delay_ms: int = 30_000  # log.initial.task.delay.ms
    recovery_processes: int = 1  # num.recovery.threads.per.data.dir
    cleaner_enable: bool = True  # log.cleaner.enable
    cleaner_threads: int = 1  # log.cleaner.threads
    cleaner_backoff_ms: int = 15_000  # log.cleaner.backoff.ms
    cleaner_dedupe_buffer_bytes: int = 128 << 20  # log.cleaner.dedupe.buffer.size
    cleaner_load_factor: float = 0.9  # log.cleaner.io.buffer.load.factor
    cleaner_io_bytes_per_second: float = inf  # log.cleaner.io.max.bytes.per.second
    cleaner_open_files: int = 16
    cleaner_read_bytes: int = 1 << 20
    cleaner_write_bytes: int = 1 << 20
    recovery_small_bytes: int = SMALL_BYTES
    recovery_child_bytes: int = WORTH_A_CHILD_BYTES
    slice_logs: int = SLICE_LOGS
