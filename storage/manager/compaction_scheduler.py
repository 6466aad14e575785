"""Keeps compactions going while some log is dirty enough, and swaps their results in.

A log may change while it is compacted: retention, DeleteRecords, a truncation take segments
away. A job names the generation of the log it was made from; once the log has another one, the
job is dropped, what it left is removed, and the log is asked for again. Nothing that happens to
a job says anything about the disk, but for the errors of the disk itself. A log whose records
cannot be read is left alone from then on, and said so once. Source: Kafka's LogCleaner,
LogCleanerManager.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial

from barnabas.storage.compaction.job import (
    Blame,
    CompactedGroup,
    CompactionDone,
    CompactionEvent,
    CompactionFailed,
    CompactionJob,
    Compactor,
)
from barnabas.storage.compaction.plan import Candidate, due_in_order
from barnabas.storage.directory import checkpoints
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.errors import (
    LogDirectoryFailed,
    StorageError,
    TooManyOpenFiles,
)
from barnabas.storage.log_config import FOREVER, LogManagerConfig
from barnabas.storage.manager.checkpoint_writer import CheckpointWriter
from barnabas.storage.manager.compaction_candidates import candidate_of, job_of
from barnabas.storage.manager.compaction_retries import CompactionRetries
from barnabas.storage.manager.compaction_running import (
    RunningCompaction,
    check_new_segment,
    failure_of,
)
from barnabas.storage.manager.data_directory import DataDirectory
from barnabas.storage.manager.disk_work import DiskWork
from barnabas.storage.manager.managed_log import ManagedLog
from barnabas.storage.manager.sweeps import LOOK_INSIDE
from barnabas.storage.segment.segment import Segment

POLL_MS = 100
"""How often to look after a compaction if nobody waits on `Compactor.fileno`."""

_logger = logging.getLogger(__name__)


class CompactionScheduler:
    """The compactions of all logs, `log.cleaner.threads` at a time."""

    def __init__(
        self,
        config: LogManagerConfig,
        directories: Sequence[DataDirectory],
        compactor: Compactor,
        disk_work: DiskWork,
        checkpoint_writer: CheckpointWriter,
    ) -> None:
        self.config = config
        self._directories = directories
        self._compactor = compactor
        self._spare = [compactor]
        self._disk_work = disk_work
        self._running: list[RunningCompaction] = []
        self._checkpoints = checkpoint_writer
        self._retries = CompactionRetries()
        self._settling: set[ManagedLog] = set()
        """Compacted logs whose new names are not durable yet."""
        self.is_moving: Callable[[TopicPartition], bool] = lambda partition: False
        """Whether a log is being copied to another directory: it is left as it is meanwhile."""
        self.uncleanable: dict[TopicPartition, str] = {}
        """Logs that cannot be compacted, and why."""
        self._look: Iterator[None] | None = None
        """The look at all logs in progress, a slice of them at a time."""
        self._seen: list[Candidate] = []
        """What it has found so far."""
        self._due: list[ManagedLog] = []
        """What the last one has found to be due, the dirtiest last."""
        self._begin_ms = self._poll_ms = FOREVER
        self._monotonic_ms = 0
        """When `run` was last called."""

    def start(self, monotonic_ms: int) -> None:
        """Begin to look for dirty logs."""
        if self.config.cleaner_enable:
            self._begin_ms = monotonic_ms

    @property
    def due_ms(self) -> int:
        """When to call `run` again, at the latest, by the monotonic clock."""
        return min(self._begin_ms if self._has_room else FOREVER, self._poll_ms)

    @property
    def _has_room(self) -> bool:
        return len(self._running) < self.config.cleaner_threads

    @property
    def running(self) -> list[TopicPartition]:
        """The logs that are being compacted."""
        return [each.log.partition for each in self._running]

    def fileno(self) -> int | None:
        """A descriptor that turns readable when `run` has something to do, if there is one."""
        return self._running[0].compactor.fileno() if self._running else None

    def spares(self, log: ManagedLog) -> bool:
        """Whether retention is to leave a log alone, whose last compaction it has undone."""
        return log.partition in self.running and self._retries.has_changed(log.partition)

    def run(self, now_ms: int, monotonic_ms: int) -> None:
        """Take what compactions have brought; begin others when it is time.

        `now_ms` tells how old records are, `monotonic_ms` whether it is time.
        """
        self._monotonic_ms = monotonic_ms
        room = self.config.cleaner_threads - len(self._running)
        for running in self._running.copy():
            self._take_events(running, now_ms)
        self._poll_ms = monotonic_ms + POLL_MS if self._running else FOREVER
        while room > 0 and self._begin_ms <= monotonic_ms:
            self._begin(now_ms)
            room -= 1

    def close(self) -> None:
        """Drop the compactions in progress and remove what they have left."""
        for running in self._running.copy():
            self._drop(running)
        self.abandon()

    def abandon(self) -> None:
        """Let go of the compactions in progress; their files stay, as after a crash."""
        for running in self._running.copy():
            running.compactor.close()
            self._end(running)
        self._close_spare()
        self._begin_ms = self._poll_ms = FOREVER

    def _close_spare(self) -> None:
        for compactor in self._spare:
            compactor.close()
        del self._spare[1:]

    def forget(self, log: ManagedLog) -> None:
        """A log goes out of use."""
        for running in self._running.copy():
            if running.log is log:
                self._drop(running)
        self.uncleanable.pop(log.partition, None)
        self._retries.forget(log.partition)
        self._settling.discard(log)

    def directory_failed(self, directory: DataDirectory) -> None:
        """A directory has gone offline: its files are not to be touched any more."""
        self._settling -= set(directory.logs.values())
        for running in self._running.copy():
            if running.log.data_directory is directory:
                running.compactor.close()
                self._end(running)

    def _drop(self, running: RunningCompaction) -> None:
        """End a compaction before its time."""
        running.compactor.close()
        self._end(running)
        self._remove_leavings(running.log)

    def _end(self, running: RunningCompaction) -> None:
        self._running.remove(running)
        self._spare.append(running.compactor)

    def _remove_leavings(self, log: ManagedLog) -> bool:
        """Remove what a job has left in a log's directory; False if that failed.

        At the next start it would be taken for an unfinished compaction.
        """
        if not log.data_directory.is_online:
            return False
        try:
            log.store.deletions.set_aside_leavings()
        except OSError as error:
            self._failed(log, failure_of(error))
            return False
        return True

    # --- beginning ---------------------------------------------------------------------

    def _begin(self, now_ms: int) -> None:
        """Begin the next compaction, or look at some more logs for what is due.

        A look at five thousand takes a tenth of a second; so it is done once for all that it
        finds, and in slices.
        """
        if not self._due and not self._find_due(now_ms):
            return
        log = self._due.pop()
        try:
            if not self._is_free(log) or not (candidate := candidate_of(log, now_ms)).is_due:
                return
            job, segments = job_of(log, candidate, self.config, now_ms)
        except (OSError, StorageError) as error:
            self._failed(log, failure_of(error))
            return
        if self._remove_leavings(log):
            self._submit(log, job, segments)

    def _find_due(self, now_ms: int) -> bool:
        """Look at a slice of the logs; True once something is due."""
        if self._look is None:
            self._seen.clear()
            self._look = self._looks(now_ms)
        for _ in self._look:
            return False  # there are more
        self._look = None
        for candidate in reversed(due_in_order(self._seen)):
            if (log := self._log_of(candidate.topic_partition)) is not None:
                self._due.append(log)
        if not self._due:
            self._close_spare()
            self._begin_ms = self._monotonic_ms + self.config.cleaner_backoff_ms
        return bool(self._due)

    def _submit(self, log: ManagedLog, job: CompactionJob, segments: dict[int, Segment]) -> None:
        _logger.info("%s: compacting %d segments", log.topic_partition, len(segments))
        compactor = self._spare.pop() if self._spare else self._compactor.another()
        running = RunningCompaction(log, segments, compactor, job.generation)
        self._running.append(running)
        self._poll_ms = self._monotonic_ms
        try:
            compactor.submit(job)
        except OSError as error:  # of a process that could not be started, not of a disk
            self._end(running)
            self._failed(log, CompactionFailed(str(error), Blame.NOTHING))

    def candidates(self, now_ms: int) -> list[Candidate]:
        """Every log that could be compacted and is not being, due or not."""
        self._seen.clear()
        for _ in self._looks(now_ms):
            pass
        return self._seen.copy()

    def _looks(self, now_ms: int) -> Iterator[None]:
        """Note what could be compacted; yields wherever it may be interrupted."""
        looked = 0
        most = max(self.config.slice_calls // LOOK_INSIDE, 1)
        for directory in self._directories:
            for log in list(directory.logs.values()):
                if log.config.compact and self._is_free(log):
                    try:
                        self._seen.append(candidate_of(log, now_ms))
                    except StorageError as error:
                        self._failed(log, failure_of(error))
                    looked += 1
                    if looked % most == 0:
                        yield

    def _is_free(self, log: ManagedLog) -> bool:
        """Whether there is something to compact, and nothing that keeps it from being done now."""
        partition = log.partition
        return (
            log.is_in_use
            and len(log.segments) > 1
            and log not in self._settling
            and partition not in self.uncleanable
            and not self._retries.is_waiting(partition, self._monotonic_ms)
            and partition not in self.running
            and not self.is_moving(partition)
        )

    def _log_of(self, partition: TopicPartition) -> ManagedLog | None:
        for directory in self._directories:
            if directory.is_online and partition in directory.logs:
                return directory.logs[partition]
        return None

    # --- results -----------------------------------------------------------------------

    def _take_events(self, running: RunningCompaction, now_ms: int) -> None:
        for event in running.compactor.poll():
            with suppress(LogDirectoryFailed, TooManyOpenFiles):  # dropped then, or outdated
                self._take_event(running, event, now_ms)
            if running not in self._running:
                return
        if running.is_outdated:
            self._drop_outdated(running)

    def _take_event(self, running: RunningCompaction, event: CompactionEvent, now_ms: int) -> None:
        if isinstance(event, (CompactionDone, CompactionFailed)):
            self._end(running)
        if isinstance(event, CompactionFailed) and event.blame is Blame.DISK:
            self._failed(running.log, event)
        elif running.is_outdated:
            self._drop_outdated(running)
        elif isinstance(event, CompactedGroup):
            self._take_group(running, event, now_ms)
        elif isinstance(event, CompactionDone):
            self._settle(running, event)
        else:
            self._remove_leavings(running.log)
            self._failed(running.log, event)

    def _drop_outdated(self, running: RunningCompaction) -> None:
        """Drop a compaction of what is no longer so; the next look finds the log dirty again."""
        log = running.log
        _logger.info("%s: changed while it was compacted", log.topic_partition)
        self._retries.changed(log.partition)
        if running in self._running:
            self._drop(running)
        else:
            self._remove_leavings(log)

    def _take_group(self, running: RunningCompaction, group: CompactedGroup, now_ms: int) -> None:
        log = running.log
        try:
            check_new_segment(log, group)
        except (OSError, StorageError) as error:
            self._drop(running)
            self._failed(log, failure_of(error))
            return
        old = [running.segments.pop(source.base_offset) for source in group.replaced]
        log.store.replace([group.base_offset], old, now_ms, sync=False)
        if (new := log.segments.floor(group.base_offset)) is not None:
            log.aborted_in(new, now_ms)
        running.generation = log.store.generation
        self._disk_work.submit(log.data_directory, log.sync_names)

    def _settle(self, running: RunningCompaction, done: CompactionDone) -> None:
        """The log is clean once the names of its new segments are durable.

        If the checkpoint came first, a power cut could bring the old segments back below it:
        nobody would look for superseded records there again, and a record would outlive the
        tombstone behind it.
        """
        log = running.log
        self._retries.forget(log.partition)
        self._settling.add(log)
        settled = partial(self._settled, log, log.store.generation, done.clean_offset)
        self._disk_work.submit(log.data_directory, log.sync_names, settled)

    def _settled(self, log: ManagedLog, generation: int, clean_offset: int) -> None:
        self._settling.discard(log)
        if log.is_in_use and log.store.generation == generation:
            log.data_directory.clean_offsets[log.partition] = clean_offset
            self._checkpoints.write(log.data_directory, checkpoints.CLEANER)

    def _failed(self, log: ManagedLog, failure: CompactionFailed) -> None:
        partition = log.topic_partition
        if failure.blame is Blame.DISK:
            log.data_directory.fail(OSError(failure.reason))
        elif failure.blame is Blame.LOG:
            _logger.error("%s: cannot be compacted: %s", partition, failure.reason)
            self.uncleanable[log.partition] = failure.reason
        else:
            wait_ms = self._retries.failed(
                log.partition, self._monotonic_ms, self.config.cleaner_backoff_ms
            )
            _logger.warning(
                "%s: not compacted, tried again in %d ms: %s", partition, wait_ms, failure.reason
            )
