"""What a broker's logs need from time to time, each thing at its own interval.

    retention                segments that are too old, too many or below the log start go; of a
                             log that is being filled only the last kind: it follows its source
    flush                    closed segments, and logs with `flush.ms`
    checkpoints              recovery points, log starts, high watermarks
    producer ids             idle ones are forgotten
    compaction               `compaction_scheduler`
    deletion                 files and directories whose delay is over are unlinked

A sweep over all logs is cut into slices (`sweeps`), so that ten thousand of them never hold the
caller up for more than a moment; whatever waits for the disk goes to the worker. What is due is
told by the monotonic clock, how old things are by the wall clock: a date that is set back stops
nothing, and a sweep that goes on after it goes by the new one. A log, or a sweep, that meets a
fault of the program is said; the others go on.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Final

from barnabas.storage.directory import checkpoints
from barnabas.storage.directory.partition_metadata import sync_topic_ids
from barnabas.storage.disk.fs import sync_directory
from barnabas.storage.errors import LogDirectoryFailed, TooManyOpenFiles
from barnabas.storage.log_config import LogManagerConfig
from barnabas.storage.manager.checkpoint_writer import CheckpointWriter
from barnabas.storage.manager.compaction_scheduler import CompactionScheduler
from barnabas.storage.manager.data_directory import DataDirectory
from barnabas.storage.manager.disk_work import DiskWork
from barnabas.storage.manager.flusher import Flusher
from barnabas.storage.manager.managed_log import ManagedLog, partition_of
from barnabas.storage.manager.retention import count_above_size, count_below_start, count_expired
from barnabas.storage.manager.steady_date import SteadyDate
from barnabas.storage.manager.sweeps import LOOK, LOOK_INSIDE, WAIT, Task, Tasks
from barnabas.storage.manager.unlinking import Unlinking

_logger = logging.getLogger(__name__)

_SOON_MS = 1_000
"""How soon closed segments are flushed, and how late what is due may be deleted."""
_SEGMENTS_AT_ONCE: Final = 8
"""How many segments of one log are deleted before others have their turn."""
_CALLS_PER_SEGMENT: Final = 10
"""File calls to look at one and to set it aside; the leader epochs and a roll cost as many each."""
_CALLS_PER_FLUSH: Final = 5
_LINES_PER_CALL: Final = 50
"""How many lines of a checkpoint are built in about the time of a file call."""


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
        self._unlinking = Unlinking(disk_work)
        self._date = SteadyDate()
        self._now_ms = 0
        """What the wall clock said at the last pass: it may have been set since a sweep began."""
        tasks = [
            Task(config.retention_check_interval_ms, self._sweep_retention),
            Task(_SOON_MS, self._sweep_closed_segments),
            *(Task(_SOON_MS, partial(self._unlink, directory)) for directory in directories),
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
        self._tasks = Tasks(tasks, partial(_logger.exception, "a sweep over the logs failed"))

    def start(self, monotonic_ms: int) -> None:
        """Count the intervals from now on."""
        self._tasks.start(monotonic_ms, self._config.initial_task_delay_ms)

    def run(self, now_ms: int, monotonic_ms: int) -> int:
        """Do a slice of all that is due; when to call again, by the monotonic clock."""
        for directory in self._directories:
            directory.monotonic_ms = monotonic_ms
        self._retry()
        self._flusher.retry()
        self._now_ms = now_ms
        self._date.watch(now_ms, monotonic_ms)
        self._tasks.run(monotonic_ms, self._config.slice_calls)
        self._scheduler.run(now_ms, monotonic_ms)
        return max(monotonic_ms, min(self._tasks.due_ms, self._scheduler.due_ms))

    def _logs(self, *, with_futures: bool = False) -> Iterator[ManagedLog]:
        """The logs that are online, and in use by the time they are reached."""
        for directory in self._directories:
            for log in directory.all_logs() if with_futures else list(directory.logs.values()):
                if log.is_in_use:
                    yield log

    # --- retention ---------------------------------------------------------------------

    def _sweep_retention(self) -> Iterator[int]:
        for log in self._logs(with_futures=True):
            count = _SEGMENTS_AT_ONCE
            while count == _SEGMENTS_AT_ONCE and log.is_in_use and not self._scheduler.spares(log):
                count = 0
                with _said(log, "its retention"):
                    count = self.delete_old_segments(log, self._now_ms)
                yield LOOK_INSIDE + (_CALLS_PER_SEGMENT * (count + 2) if count else 0)

    def delete_old_segments(self, log: ManagedLog, now_ms: int) -> int:
        """Delete some of what a log's settings no longer want: how many segments.

        There may be more only if these are `_SEGMENTS_AT_ONCE`.
        """
        count = count_below_start(log.segments.base_offsets, log.log_start_offset)
        config = log.config
        if config.delete and not log.is_future:
            sizes = [segment.size_bytes for segment in log.segments]
            count = max(count, count_above_size(sizes, config.retention_bytes))
            ages = islice(log.ages(), _SEGMENTS_AT_ONCE)
            count = max(count, count_expired(ages, config.retention_ms, now_ms))
        count = min(count, _SEGMENTS_AT_ONCE)
        return log.delete_old_segments(count, now_ms) if count else 0

    # --- flushing ----------------------------------------------------------------------

    def flush(self, log: ManagedLog, done: Callable[[], object] = lambda: None) -> None:
        """Make a log durable up to its end; `done` is called when it is.

        Not if it fails, nor for what is truncated before.
        """
        self._flusher.flush(log, None, done)

    def may_be_at_work_on(self, log: ManagedLog) -> bool:
        """Whether files of a log are being synced by the names they have now, or any of its data
        directory's unlinked."""
        directory = log.data_directory
        return self._flusher.is_flushing(log) or self._unlinking.is_at_work_in(directory)

    def truncating(self, log: ManagedLog, offset: int) -> None:
        """What a log holds at an offset and above it goes."""
        self._flusher.truncating(log, offset)

    def directory_failed(self, directory: DataDirectory) -> None:
        """A directory has gone offline."""
        self._flusher.directory_failed(directory)

    def _sweep_closed_segments(self) -> Iterator[int]:
        for directory in self._directories:
            for log in sorted(directory.to_flush, key=partition_of):
                while len(self._flusher) >= self._config.flushes_at_once:
                    yield WAIT  # each holds its files open: thousands would take all descriptors
                directory.to_flush.discard(log)
                if log.is_in_use:
                    self._flusher.flush(log, log.active_segment.base_offset)
                yield _CALLS_PER_FLUSH
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
            paths = left[: self._config.slice_calls]
            del left[: self._config.slice_calls]
            self._work(
                directory,
                partial(sync_topic_ids, directory.fs, paths),
                partial(self._syncing_topic_ids.discard, directory),
            )

    def _sweep_flush_ms(self) -> Iterator[int]:
        for log in self._logs():
            cost = LOOK
            with _said(log, "its flush"):
                cost = self._flush_if_due(log)
            yield cost

    def _flush_if_due(self, log: ManagedLog) -> int:
        """What that cost."""
        monotonic_ms = log.data_directory.monotonic_ms
        is_due = monotonic_ms - log.flushed_ms >= log.config.flush_ms
        if not is_due or self._flusher.is_flushing(log):
            return LOOK
        log.flushed_ms = monotonic_ms
        self._flusher.flush(log, None)
        return _CALLS_PER_FLUSH

    # --- checkpoints -------------------------------------------------------------------

    def _write_checkpoint(self, name: str) -> Iterator[int]:
        """Write a checkpoint in each directory where it has changed since it was written."""
        for directory in self._directories:
            if directory.is_online:
                self._checkpoints.refresh(directory, name)
            yield LOOK + len(directory.logs) // _LINES_PER_CALL

    # --- producers ---------------------------------------------------------------------

    def _sweep_producers(self) -> Iterator[int]:
        for log in self._logs():
            with _said(log, "its producers"):
                log.remove_expired_producers(
                    self._date.before_jumps(
                        self._now_ms,
                        log.data_directory.monotonic_ms,
                        log.producer_id_expiration_ms,
                    )
                )
            yield LOOK

    # --- deletion ----------------------------------------------------------------------

    def _unlink(self, directory: DataDirectory) -> Iterator[int]:
        if directory.is_online:
            yield from self._unlinking.sweep(directory)


@contextmanager
def _said(log: ManagedLog, what: str) -> Iterator[None]:
    """Something is done for a log; what becomes of it is nothing to the logs behind it."""
    try:
        yield
    except (LogDirectoryFailed, TooManyOpenFiles):
        pass  # which is said
    except Exception:
        _logger.exception("%s: %s failed", log.topic_partition, what)
