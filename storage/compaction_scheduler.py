"""Keeps compactions going while some log is dirty enough, and swaps their results in.

The log may change while a compaction runs. A finished group is put in place only if the very
segments it was made from are still closed segments of the log; otherwise the compaction is
dropped, and tried again from the start another time. A log whose records cannot be read is
left alone from then on, and said so once. Source: Kafka's LogCleaner, LogCleanerManager.
"""

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from barnabas.storage import checkpoints
from barnabas.storage.checkpoint_writer import CheckpointWriter
from barnabas.storage.compaction_candidates import candidate_of, job_of
from barnabas.storage.compaction_job import (
    CompactedGroup,
    CompactionDone,
    CompactionFailed,
    Compactor,
)
from barnabas.storage.compaction_plan import Candidate, choose
from barnabas.storage.data_directory import DataDirectory
from barnabas.storage.directory_names import TopicPartition
from barnabas.storage.disk_work import DiskWork
from barnabas.storage.errors import (
    CorruptBatch,
    CorruptIndex,
    LogDirectoryFailed,
    StorageError,
)
from barnabas.storage.log_config import FOREVER
from barnabas.storage.log_manager_config import LogManagerConfig
from barnabas.storage.managed_log import ManagedLog
from barnabas.storage.segment import Segment

POLL_MS = 100
"""How often to look after a compaction if nobody waits on `Compactor.fileno`."""

_logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _Running:
    log: ManagedLog
    segments: dict[int, Segment]
    """The closed segments the job reads that are not replaced yet, by base offset."""
    compactor: Compactor


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
        self._running: list[_Running] = []
        self._checkpoints = checkpoint_writer
        self.uncleanable: dict[TopicPartition, str] = {}
        """Logs that cannot be compacted, and why."""
        self._begin_ms = self._poll_ms = FOREVER

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

    def run(self, now_ms: int, monotonic_ms: int) -> None:
        """Take what compactions have brought; begin others when it is time.

        `now_ms` tells how old records are, `monotonic_ms` whether it is time.
        """
        room = self.config.cleaner_threads - len(self._running)
        for running in self._running.copy():
            self._take_events(running, now_ms)
        self._poll_ms = monotonic_ms + POLL_MS if self._running else FOREVER
        while room > 0 and self._begin_ms <= monotonic_ms:
            self._begin(now_ms, monotonic_ms)
            room -= 1

    def close(self) -> None:
        """Drop the compactions in progress."""
        for running in self._running.copy():
            self._drop(running)
        self._close_spare()
        self._begin_ms = self._poll_ms = FOREVER

    def _close_spare(self) -> None:
        for compactor in self._spare:
            compactor.close()
        del self._spare[1:]

    def forget(self, log: ManagedLog) -> None:
        """A log goes out of use."""
        self.uncleanable.pop(log.partition, None)
        for running in self._running.copy():
            if running.log is log:
                self._drop(running)

    def directory_failed(self, directory: DataDirectory) -> None:
        """A directory has gone offline."""
        for running in self._running.copy():
            if running.log.data_directory is directory:
                self._drop(running)

    def _drop(self, running: _Running) -> None:
        running.compactor.close()
        self._end(running)

    def _end(self, running: _Running) -> None:
        self._running.remove(running)
        self._spare.append(running.compactor)

    # --- beginning ---------------------------------------------------------------------

    def _begin(self, now_ms: int, monotonic_ms: int) -> None:
        chosen = choose(self.candidates(now_ms))
        if chosen is None:
            self._close_spare()
            self._begin_ms = monotonic_ms + self.config.cleaner_backoff_ms
            return
        log = self._log_of(chosen.topic_partition)
        job, segments = job_of(log, chosen, self.config, now_ms)
        _logger.info(
            "%s: compacting %d segments, %.0f %% dirty",
            log.topic_partition,
            len(segments),
            100 * chosen.dirty_ratio,
        )
        compactor = self._spare.pop() if self._spare else self._compactor.another()
        self._running.append(_Running(log, segments, compactor))
        compactor.submit(job)
        self._poll_ms = monotonic_ms

    def candidates(self, now_ms: int) -> list[Candidate]:
        """Every log that could be compacted and is not being, due or not."""
        found = []
        excluded = {*self.uncleanable, *self.running}
        for directory in self._directories:
            for log in list(directory.logs.values()) if directory.is_online else ():
                if log.config.compact and len(log.segments) > 1:
                    if log.partition not in excluded:
                        try:
                            found.append(candidate_of(log, now_ms))
                        except LogDirectoryFailed:
                            break
                        except StorageError as error:
                            self._give_up(log, str(error))
        return found

    def _log_of(self, partition: TopicPartition) -> ManagedLog:
        return next(
            directory.logs[partition]
            for directory in self._directories
            if directory.is_online and partition in directory.logs
        )

    # --- results -----------------------------------------------------------------------

    def _take_events(self, running: _Running, now_ms: int) -> None:
        for event in running.compactor.poll():
            with suppress(LogDirectoryFailed):  # which has dropped the compaction
                self._take_event(running, event, now_ms)
            if running not in self._running:
                return

    def _take_event(
        self,
        running: _Running,
        event: CompactedGroup | CompactionDone | CompactionFailed,
        now_ms: int,
    ) -> None:
        log = running.log
        if isinstance(event, CompactedGroup):
            try:
                if not self._swap_in(running, event, now_ms):
                    _logger.info("%s: changed while it was compacted", log.topic_partition)
                    self._drop(running)
            except (CorruptBatch, CorruptIndex) as error:
                self._drop(running)
                self._give_up(log, str(error))
        elif isinstance(event, CompactionDone):
            self._end(running)
            log.data_directory.clean_offsets[log.partition] = event.clean_offset
            self._checkpoints.write(log.data_directory, checkpoints.CLEANER)
        elif event.is_io_error:
            log.data_directory.fail(OSError(event.reason))
        else:
            self._end(running)
            self._give_up(log, event.reason)

    def _swap_in(self, running: _Running, group: CompactedGroup, now_ms: int) -> bool:
        """Put a group in place; False if the log is no longer what the job was made from.

        Not only what the group replaces must still be there, but all that the job has read:
        a record went because of a later one, which a truncation may have taken away.
        """
        log = running.log
        in_log = {id(segment) for segment in log.segments if segment is not log.active_segment}
        if any(id(segment) not in in_log for segment in running.segments.values()):
            return False
        old = [running.segments.pop(source.base_offset) for source in group.replaced]
        if any(a.size_bytes != b.size_bytes for a, b in zip(old, group.replaced, strict=True)):
            return False
        self._check(log, group)
        log.data_directory.to_unlink.add(log)
        log.replace_segments([group.base_offset], old, now_ms, sync=False)
        self._disk_work.submit(log.data_directory, log.sync_names)
        return True

    def _check(self, log: ManagedLog, group: CompactedGroup) -> None:
        """Raise CorruptBatch unless a new segment is the one that was reported."""
        found = log.cleaned_extent(group.base_offset)
        reported = (group.size_bytes, group.last_offset)
        if found != reported:
            raise CorruptBatch(
                f"the new segment has (size, last offset) {found} instead of {reported}",
                offset=group.base_offset,
            )

    def _give_up(self, log: ManagedLog, reason: str) -> None:
        _logger.error("%s: cannot be compacted: %s", log.topic_partition, reason)
        self.uncleanable[log.partition] = reason
