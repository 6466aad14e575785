"""What a broker's logs need from time to time, each thing at its own interval.

    retention                segments that are too old, too many or below the log start go
    flush                    closed segments, and logs with `flush.ms`
    checkpoints              recovery points, log starts, high watermarks
    producer ids             idle ones are forgotten
    compaction               `compaction_scheduler`
    deletion                 files and directories whose delay is over are unlinked

A sweep over all logs is cut into slices, so that ten thousand of them never hold the caller
up for more than a moment; whatever waits for the disk goes to the worker. What is due is told by
the monotonic clock, how old things are by the wall clock: a date that is set back stops nothing.
A log, or a sweep, that meets a fault of the program is said; the others go on.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from barnabas.storage.directory import checkpoints
from barnabas.storage.directory.partition_metadata import sync_topic_ids
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.disk.fs import remove_path, remove_tree, sync_directory
from barnabas.storage.errors import LogDirectoryFailed, TooManyOpenFiles
from barnabas.storage.log_config import FOREVER, LogManagerConfig
from barnabas.storage.manager.checkpoint_writer import CheckpointWriter
from barnabas.storage.manager.compaction_scheduler import CompactionScheduler
from barnabas.storage.manager.data_directory import DataDirectory
from barnabas.storage.manager.disk_work import DiskWork
from barnabas.storage.manager.flusher import Flusher
from barnabas.storage.manager.managed_log import ManagedLog
from barnabas.storage.manager.retention import count_above_size, count_below_start, count_expired

_logger = logging.getLogger(__name__)

_SOON_MS = 1_000
"""How soon closed segments are flushed, and how late what is due may be deleted."""


class LogMaintenance:
    """The periodic work of a `LogManager`."""

    def __init__(
        self,
        config: LogManagerConfig,
        directories: Sequence[DataDirectory],
        scheduler: CompactionScheduler,
        disk_work: DiskWork,
        checkpoint_writer: CheckpointWriter,
    ) -> None:
        self._config = config
        self._directories = directories
        self._scheduler = scheduler
        self._work = disk_work.submit
        self._retry = disk_work.retry
        self._checkpoints = checkpoint_writer
        self._flusher = Flusher(disk_work)
        self._syncing_names: set[DataDirectory] = set()
        self._syncing_topic_ids: set[DataDirectory] = set()
        self._tasks = [
            Task(config.retention_check_interval_ms, self._sweep_retention),
            Task(_SOON_MS, self._sweep_closed_segments),
            Task(_SOON_MS, self._delete),
            Task(config.flush_interval_ms, self._sweep_flush_ms),
            Task(config.producer_id_check_interval_ms, self._sweep_producers),
            *(
                Task(interval_ms, partial(self._write_checkpoint, name))
                for name, interval_ms in (
                    (checkpoints.RECOVERY_POINT, config.recovery_point_interval_ms),
                    (checkpoints.LOG_START, config.log_start_interval_ms),
                    (checkpoints.REPLICATION, config.high_watermark_interval_ms),
                )
            ),
        ]

    def start(self, monotonic_ms: int) -> None:
        """Count the intervals from now on."""
        for task in self._tasks:
            delay_ms = min(task.interval_ms, self._config.initial_task_delay_ms)
            if task.interval_ms < FOREVER:
                task.due_ms = monotonic_ms + delay_ms

    def run(self, now_ms: int, monotonic_ms: int) -> int:
        """Do a slice of all that is due; when to call again, by the monotonic clock."""
        for directory in self._directories:
            directory.monotonic_ms = monotonic_ms
        self._retry()
        self._flusher.retry()
        for task in self._tasks:
            try:
                task.run(now_ms, monotonic_ms)
            except Exception:
                _logger.exception("a sweep over the logs failed")
        self._scheduler.run(now_ms, monotonic_ms)
        due_ms = min(task.due_ms for task in self._tasks)
        return max(monotonic_ms, min(due_ms, self._scheduler.due_ms))

    def _slices(self) -> Iterator[Sequence[ManagedLog]]:
        """The logs online now, some at a time."""
        for directory in self._directories:
            logs = list(directory.logs.values())
            for start in range(0, len(logs), self._config.slice_logs):
                if directory.is_online:
                    some = logs[start : start + self._config.slice_logs]
                    yield [log for log in some if log.is_in_use]

    # --- retention ---------------------------------------------------------------------

    def _sweep_retention(self, now_ms: int) -> Iterator[None]:
        for logs in self._slices():
            _each(logs, "its retention", lambda log: self._retain(log, now_ms))
            yield

    def _retain(self, log: ManagedLog, now_ms: int) -> None:
        if not self._scheduler.spares(log):
            self.delete_old_segments(log, now_ms)

    def delete_old_segments(self, log: ManagedLog, now_ms: int) -> int:
        """Delete what a log's settings no longer want: how many segments."""
        count = count_below_start(log.segments.base_offsets, log.log_start_offset)
        config = log.config
        if config.delete:
            sizes = [segment.size_bytes for segment in log.segments]
            count = max(count, count_above_size(sizes, config.retention_bytes))
            count = max(count, count_expired(log.ages(), config.retention_ms, now_ms))
        return log.delete_old_segments(count, now_ms) if count else 0

    # --- flushing ----------------------------------------------------------------------

    def flush(self, log: ManagedLog, done: Callable[[], object] = lambda: None) -> None:
        """Make a log durable up to its end; `done` is called when it is, not if it fails."""
        self._flusher.flush(log, None, done)

    def directory_failed(self, directory: DataDirectory) -> None:
        """A directory has gone offline."""
        self._flusher.directory_failed(directory)

    def _sweep_closed_segments(self, now_ms: int) -> Iterator[None]:
        for directory in self._directories:
            for log in sorted(directory.to_flush, key=_partition_of):
                while len(self._flusher) >= self._config.flushes_at_once:
                    yield  # each holds its files open: thousands would take all descriptors
                directory.to_flush.discard(log)
                if log.is_in_use:
                    self._flusher.flush(log, log.active_segment.base_offset)
                yield
            if directory.is_online:
                self._sync_names(directory)
                self._sync_topic_ids(directory)

    def _sync_names(self, directory: DataDirectory) -> None:
        if directory.has_unsynced_names and directory not in self._syncing_names:
            self._syncing_names.add(directory)
            self._work(
                directory,
                partial(sync_directory, directory.fs, directory.path),
                partial(self._names_synced, directory, directory.name_changes),
            )

    def _names_synced(self, directory: DataDirectory, name_changes: int) -> None:
        self._syncing_names.discard(directory)
        directory.names_synced(name_changes)

    def _sync_topic_ids(self, directory: DataDirectory) -> None:
        """Some each second: thousands of syncs in a row would keep others, and a stop, waiting."""
        left = directory.unsynced_topic_ids
        if left and directory not in self._syncing_topic_ids:
            self._syncing_topic_ids.add(directory)
            paths = left[: self._config.slice_logs]
            del left[: self._config.slice_logs]
            self._work(
                directory,
                partial(sync_topic_ids, directory.fs, paths),
                partial(self._syncing_topic_ids.discard, directory),
            )

    def _sweep_flush_ms(self, now_ms: int) -> Iterator[None]:
        for logs in self._slices():
            _each(logs, "its flush", self._flush_if_due)
            yield

    def _flush_if_due(self, log: ManagedLog) -> None:
        monotonic_ms = log.data_directory.monotonic_ms
        is_due = monotonic_ms - log.flushed_ms >= log.config.flush_ms
        if is_due and not self._flusher.is_flushing(log):
            log.flushed_ms = monotonic_ms
            self._flusher.flush(log, None)

    # --- checkpoints -------------------------------------------------------------------

    def _write_checkpoint(self, name: str, now_ms: int) -> Iterator[None]:
        """Write a checkpoint in each directory where it has changed since it was written."""
        for directory in self._directories:
            if directory.is_online:
                self._checkpoints.refresh(directory, name)
            yield

    # --- producers ---------------------------------------------------------------------

    def _sweep_producers(self, now_ms: int) -> Iterator[None]:
        for logs in self._slices():
            _each(logs, "its producers", lambda log: log.remove_expired_producers(now_ms))
            yield

    # --- deletion ----------------------------------------------------------------------

    def _delete(self, now_ms: int) -> Iterator[None]:
        """Unlink the files and remove the directories that are due."""
        for directory in self._directories:
            if directory.is_online:
                self._delete_files(directory)
                self._remove_directories(directory)
        yield

    def _delete_files(self, directory: DataDirectory) -> None:
        for log in sorted(directory.to_unlink, key=_partition_of):
            paths, next_due_ms = log.take_due_files(directory.monotonic_ms)
            for path in paths:
                self._work(directory, partial(remove_path, directory.fs, path))
            if next_due_ms is None:
                directory.to_unlink.discard(log)

    def _remove_directories(self, directory: DataDirectory) -> None:
        now_ms = directory.monotonic_ms
        for entry in [each for each in directory.to_remove if each[0] <= now_ms]:
            directory.to_remove.remove(entry)
            self._work(directory, partial(remove_tree, directory.fs, entry[1]))


def _each(logs: Sequence[ManagedLog], what: str, do: Callable[[ManagedLog], object]) -> None:
    """Do something for each of these logs, whatever becomes of those before it."""
    for log in logs:
        try:
            do(log)
        except (LogDirectoryFailed, TooManyOpenFiles):
            return  # which is said, and concerns all of them
        except Exception:
            _logger.exception("%s: %s failed", log.topic_partition, what)


Sweep = Callable[[int], Iterator[None]]
"""Begins a sweep at a time of the wall clock; yields wherever it may be interrupted."""


class Task:
    """A sweep with its interval."""

    def __init__(self, interval_ms: int, sweep: Sweep) -> None:
        self.interval_ms = interval_ms
        self.due_ms = FOREVER
        """When its next slice is to be done, by the monotonic clock; nothing until it is set."""
        self._sweep = sweep
        self._running: Iterator[None] | None = None

    def run(self, now_ms: int, monotonic_ms: int) -> None:
        """Do the next slice if it is time."""
        if self.due_ms > monotonic_ms:
            return
        running = self._running or self._sweep(now_ms)
        # Should this slice fail, the next sweep comes all the same.
        due_ms, self._running, self.due_ms = self.due_ms, None, monotonic_ms + self.interval_ms
        if next(running, self) is not self:
            self._running, self.due_ms = running, due_ms


def _partition_of(log: ManagedLog) -> TopicPartition:
    """The same order each time: what a test has seen once it can see again."""
    return log.partition
