"""Logs that are filled in another data directory, to replace those they are copied from.

Of a partition there is one at most. While there is, the log it is copied from is not compacted:
what has been copied would not be, and would count as clean later. How it is filled is not known
here; how it takes the other's place is told in `unfinished_moves`. Source: Kafka's LogManager
(KIP-113).
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from barnabas.storage.directory import checkpoints
from barnabas.storage.directory.partition_metadata import sync_topic_ids
from barnabas.storage.directory_names import DELETED, FUTURE, TopicPartition, name_with_suffix
from barnabas.storage.disk.fs import remove_path, sync_directory, write_file
from barnabas.storage.errors import LogDirectoryFailed
from barnabas.storage.manager.checkpoint_writer import CheckpointWriter
from barnabas.storage.manager.compaction_scheduler import CompactionScheduler
from barnabas.storage.manager.data_directory import DataDirectory
from barnabas.storage.manager.disk_work import DiskWork
from barnabas.storage.manager.log_maintenance import LogMaintenance
from barnabas.storage.manager.managed_log import ManagedLog
from barnabas.storage.manager.unfinished_moves import REPLACING

MOST_NAME_BYTES = 255


class FutureLogs:
    """The logs of a `LogManager` that are to replace others."""

    def __init__(
        self,
        directories: Sequence[DataDirectory],
        homes: dict[TopicPartition, DataDirectory],
        scheduler: CompactionScheduler,
        maintenance: LogMaintenance,
        disk_work: DiskWork,
        checkpoint_writer: CheckpointWriter,
    ) -> None:
        self._directories = directories
        self._homes = homes
        self._scheduler = scheduler
        self._maintenance = maintenance
        self._disk_work = disk_work
        self._checkpoints = checkpoint_writer

    def __iter__(self) -> Iterator[ManagedLog]:
        for directory in self._directories:
            if directory.is_online:
                yield from directory.future_logs.values()

    def __contains__(self, partition: TopicPartition) -> bool:
        return self.find(partition) is not None

    def find(self, partition: TopicPartition) -> ManagedLog | None:
        """The log that is to replace a partition's, if there is one."""
        for directory in self._directories:
            if directory.is_online and partition in directory.future_logs:
                return directory.future_logs[partition]
        return None

    def create(self, source: ManagedLog, directory: DataDirectory, now_ms: int) -> ManagedLog:
        """An empty log that is to replace `source`, in another directory.

        Raises LogDirectoryFailed, also where any directory has failed: another one may be in it.
        """
        failed = [each.path for each in self._directories if not each.is_online]
        if failed:
            raise LogDirectoryFailed(
                f"{failed[0]} has failed: it may hold one that is half filled",
                topic_partition=source.topic_partition,
            )
        self._scheduler.forget(source)
        try:
            remove_path(source.fs, f"{source.directory}/{REPLACING}")
        except OSError as error:
            source.failures.fail(error)
        try:
            topic_id = source.data_directory.topic_id(source)
            return directory.create_log(
                source.partition, source.config, now_ms, topic_id, is_future=True
            )
        except OSError as error:
            directory.fail(error)
            raise LogDirectoryFailed(str(error), topic_partition=source.topic_partition) from error

    def drop(self, partition: TopicPartition) -> None:
        """Give up what was filled; its files go when `file.delete.delay.ms` is over."""
        future = self.find(partition)
        if future is not None:
            directory = future.data_directory
            try:
                path = directory.set_aside(future, DELETED)
            except OSError as error:
                directory.fail(error)
            else:
                directory.remove_later(path, future.config)

    def prepare(self, future: ManagedLog, done: Callable[[], None]) -> None:
        """Make all that a log holds so far durable, and mark it as about to replace another."""
        marked = partial(self._disk_work.submit, future.data_directory, partial(_mark, future))
        self._maintenance.flush(future, partial(marked, done))

    def can_replace(self, future: ManagedLog) -> bool:
        """Whether nobody is at work on its files; else it is to be tried again a little later."""
        return not self._maintenance.may_be_at_work_on(future)

    def replace(self, source: ManagedLog, future: ManagedLog) -> bool:
        """Let `future` be the partition's log; it ends where `source` does.

        False unless it `can_replace` another. `retire` has to follow, once nobody uses `source`
        any more. Raises LogDirectoryFailed.
        """
        directory, partition = future.data_directory, future.partition
        if directory is source.data_directory:
            raise ValueError(f"{partition}: both logs lie in {directory.path}")
        if not self.can_replace(future):
            return False
        future.take_over(source)
        try:
            directory.promote(future)
        except OSError as error:
            future.failures.fail(error)
        self._homes[partition] = directory
        clean_offset = source.data_directory.clean_offsets.get(partition)
        if clean_offset is not None:
            directory.clean_offsets[partition] = clean_offset
            self._checkpoints.write(directory, checkpoints.CLEANER)
        return True

    def retire(self, source: ManagedLog, replacement: ManagedLog) -> None:
        """Set aside a log that has been replaced.

        Its files go when the names of both are durable, and `file.delete.delay.ms` is over.
        """
        self._scheduler.forget(source)
        directory = source.data_directory
        if directory.is_online:
            try:
                path = directory.set_aside(source, DELETED)
            except OSError as error:
                directory.fail(error)
            else:
                # Until both names are durable only the mark tells which log is true. That of the
                # new one comes first: the other way round a power cut may leave none.
                removed = partial(directory.remove_later, path, source.config)
                unmarked = partial(self._unmark, replacement, removed)
                named = partial(self._sync_names, directory, unmarked)
                self._sync_names(replacement.data_directory, named)
        self._maintenance.flush(replacement)

    def _sync_names(self, directory: DataDirectory, done: Callable[[], None]) -> None:
        self._disk_work.submit(
            directory, partial(sync_directory, directory.fs, directory.path), done
        )

    def _unmark(self, log: ManagedLog, done: Callable[[], None]) -> None:
        if log.is_in_use:
            try:
                remove_path(log.fs, f"{log.directory}/{REPLACING}")
            except OSError as error:
                log.data_directory.fail(error)
        done()


def is_name_too_long(partition: TopicPartition) -> bool:
    """Whether a partition cannot be moved, its topic's name being too long (KAFKA-4893)."""
    return len(name_with_suffix(partition, FUTURE).encode()) > MOST_NAME_BYTES


def _mark(log: ManagedLog) -> None:
    """Runs in the worker; a log that is given up meanwhile moves away, which is no failure."""
    try:
        write_file(log.fs, f"{log.directory}/{REPLACING}", b"")
        sync_topic_ids(log.fs, [log.directory])
        sync_directory(log.fs, log.directory)
    except FileNotFoundError:
        if log.is_in_use:
            raise
