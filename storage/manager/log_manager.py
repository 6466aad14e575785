"""`LogManager`: all logs of a broker, in one or more data directories.

Opening takes the directories' locks and loads every log; closing leaves the clean shutdown
marker. In between `background` does what is due, whenever its owner calls it. Nothing here
has a clock or a thread: time comes with each call, and file calls that wait for the disk go
to the `worker` it was given. Source: Kafka's LogManager.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from barnabas.storage.compaction.job import Compactor
from barnabas.storage.compaction.process import InlineCompactor
from barnabas.storage.directory.checkpoints import Offsets
from barnabas.storage.directory_names import DELETED, TopicPartition
from barnabas.storage.disk.fs import REAL, FileSystem
from barnabas.storage.disk.open_files import DEFAULT_CAPACITY
from barnabas.storage.errors import LogDirectoryFailed
from barnabas.storage.loading.unopened_logs import Recover
from barnabas.storage.log_config import LogConfig, LogManagerConfig
from barnabas.storage.manager.checkpoint_writer import CheckpointWriter
from barnabas.storage.manager.compaction_scheduler import CompactionScheduler
from barnabas.storage.manager.data_directory import ConfigOf, DataDirectory, ReplicasOf
from barnabas.storage.manager.disk_work import DiskWork, Worker, work_inline
from barnabas.storage.manager.future_logs import FutureLogs
from barnabas.storage.manager.log_directories import LogDirectories
from barnabas.storage.manager.log_maintenance import LogMaintenance
from barnabas.storage.manager.managed_log import ManagedLog

MOST_PREFERRED: Final = 10_000
"""Partitions for which it is remembered where they are to be made: anybody may name any."""


class LogManager(LogDirectories):
    """The logs of a broker."""

    def __init__(
        self,
        paths: Sequence[str],
        config: LogManagerConfig | None = None,
        *,
        fs: FileSystem = REAL,
        worker: Worker = work_inline,
        compactor: Compactor | None = None,
        recover: Recover | None = None,
        open_files: int = DEFAULT_CAPACITY,
        full_validation: bool = False,
    ) -> None:
        """Manage the data directories `paths`; `open` has to follow.

        `worker` runs what waits for the disk (a thread pool, say), `compactor` what takes the
        interpreter's time (`CompactionProcess`); both default to doing it on the spot.
        `recover` carries out large recoveries, in child processes by default.
        """
        self.config = config or LogManagerConfig()
        super().__init__(
            paths,
            fs,
            open_files,
            producer_id_expiration_ms=self.config.producer_id_expiration_ms,
            full_validation=full_validation,
            recovery_processes=self.config.recovery_processes,
            recovery_small_bytes=self.config.recovery_small_bytes,
            recovery_child_bytes=self.config.recovery_child_bytes,
            recover=recover,
        )
        self._disk_work = DiskWork(worker)
        checkpoint_writer = CheckpointWriter(self._disk_work)
        self.scheduler = CompactionScheduler(
            self.config,
            self.directories,
            compactor or InlineCompactor(fs),
            self._disk_work,
            checkpoint_writer,
        )
        for directory in self.directories:
            directory.before_truncation = checkpoint_writer.lower
            directory.before_creation = checkpoint_writer.forget
        self.maintenance = LogMaintenance(
            self.config, self.directories, self.scheduler, self._disk_work, checkpoint_writer
        )
        for directory in self.directories:
            directory.on_truncation = self.maintenance.truncating
        self.futures = FutureLogs(
            self.directories, self._homes, self.scheduler, self.maintenance, self._disk_work,
            checkpoint_writer,
        )  # fmt: skip
        self.scheduler.is_moving = self.futures.__contains__
        self._preferred: dict[TopicPartition, str] = {}

    # --- opening -----------------------------------------------------------------------

    def open(
        self,
        config_of: ConfigOf,
        now_ms: int,
        monotonic_ms: int | None = None,
        *,
        broker_id: int | None = None,
        cluster_id: str | None = None,
        replicas_of: ReplicasOf | None = None,
    ) -> None:
        """Lock the directories and open every log in them.

        What is due later is counted from `monotonic_ms`, without it from `now_ms`.
        `config_of` gives each topic's config. Logs of which there are no replicas by
        `replicas_of` are set aside, unopened, in directories that are signed with a cluster id.
        Raises LogDirectoryLocked, InconsistentLogDirectory (another broker's directory, or a
        partition in two of them), and LogDirectoryFailed if no directory works; one that fails
        alone is offline.
        """
        monotonic_ms = now_ms if monotonic_ms is None else monotonic_ms
        for directory in self.directories:
            directory.monotonic_ms = monotonic_ms
        self._open(config_of, now_ms, broker_id, cluster_id, replicas_of)
        self.maintenance.start(monotonic_ms)
        self.scheduler.start(monotonic_ms)

    def _directory_failed(self, directory: DataDirectory) -> None:
        self.scheduler.directory_failed(directory)
        self.maintenance.directory_failed(directory)
        super()._directory_failed(directory)

    # --- logs --------------------------------------------------------------------------

    def __iter__(self) -> Iterator[ManagedLog]:
        """Every log that is online."""
        for directory in self._online():
            yield from directory.logs.values()

    def get(self, partition: TopicPartition) -> ManagedLog | None:
        """A partition's log, None if there is none; LogDirectoryFailed if it is offline."""
        directory = self._homes.get(partition)
        if directory is None:
            return None
        if not directory.is_online:
            raise LogDirectoryFailed(
                f"{directory.path}: {directory.failure}", topic_partition=str(partition)
            )
        return directory.logs[partition]

    def create(
        self,
        partition: TopicPartition,
        config: LogConfig,
        now_ms: int,
        *,
        topic_id: bytes | None = None,
        path: str | None = None,
        is_new: bool = True,
    ) -> ManagedLog:
        """The partition's log, made if there is none.

        A new one goes to the working directory that holds the fewest, or to `path`, or to the
        one that it was told to `prefer`. A partition that is not new may lie in a directory that
        has failed: then none is made (`is_new` false). Raises LogDirectoryFailed, and
        InconsistentLogDirectory if the log belongs to another topic id.
        """
        log = self.get(partition)
        if log is None:
            return self._create(partition, config, now_ms, topic_id, path, is_new)
        if topic_id is not None:
            self._assign_topic_id(log, topic_id)
        return log

    def _create(
        self,
        partition: TopicPartition,
        config: LogConfig,
        now_ms: int,
        topic_id: bytes | None,
        path: str | None,
        is_new: bool,
    ) -> ManagedLog:
        online = self._online()
        if not is_new and len(online) < len(self.directories):
            raise LogDirectoryFailed(
                "it may lie in a data directory that has failed", topic_partition=str(partition)
            )
        path = path or self._preferred.get(partition)
        online.sort(key=lambda directory: len(directory.logs) + len(directory.future_logs))
        for directory in online:
            if path is None or directory.path == path:
                try:
                    log = self._create_in(directory, partition, config, now_ms, topic_id)
                except OSError as error:
                    directory.fail(error)
                    continue
                self._homes[partition] = directory
                self._preferred.pop(partition, None)
                return log
        raise LogDirectoryFailed("no data directory works", topic_partition=str(partition))

    def _create_in(
        self,
        directory: DataDirectory,
        partition: TopicPartition,
        config: LogConfig,
        now_ms: int,
        topic_id: bytes | None,
    ) -> ManagedLog:
        """A new log, also in the place of a copy of one that is lost; raises OSError.

        A log cannot be replaced by one in its own directory. The copy would be cut to nothing
        anyway, as the new log holds nothing.
        """
        if partition in directory.future_logs:
            self.futures.drop(partition)
            if directory.failure is not None:
                raise directory.failure
        return directory.create_log(partition, config, now_ms, topic_id)

    def prefer(self, partition: TopicPartition, directory: DataDirectory) -> None:
        """Make a partition's log there, when it comes to be made; the last of many counts."""
        self._preferred.pop(partition, None)
        if len(self._preferred) >= MOST_PREFERRED:
            del self._preferred[next(iter(self._preferred))]
        self._preferred[partition] = directory.path

    def at_disk(
        self, directory: DataDirectory, work: Callable[[], None], done: Callable[[], None]
    ) -> None:
        """Do in the worker what waits for a directory's disk; `done` unless that fails."""
        self._disk_work.submit(directory, work, done)

    def _assign_topic_id(self, log: ManagedLog, topic_id: bytes) -> None:
        try:
            log.data_directory.assign_topic_id(log, topic_id)
        except OSError as error:
            log.failures.fail(error)

    def topic_id(self, partition: TopicPartition) -> bytes | None:
        """The topic id noted beside a partition's log."""
        log = self.get(partition)
        if log is None:
            return None
        try:
            return log.data_directory.topic_id(log)
        except OSError as error:
            log.failures.fail(error)

    def delete(self, partition: TopicPartition) -> None:
        """Take a log out of use; its files go when `file.delete.delay.ms` is over.

        One that is being filled to replace it goes, too.
        """
        self.futures.drop(partition)
        log = self._forget(partition)
        if log is not None:
            log.data_directory.remove_later(self._set_aside(log), log.config)

    def _forget(self, partition: TopicPartition) -> ManagedLog | None:
        """The log, known to nobody any more; None if there is none to touch.

        One in a directory that has failed is only forgotten: if it comes back with the
        directory, at a later start, it is a stray.
        """
        directory = self._homes.pop(partition, None)
        log = directory.logs.get(partition) if directory and directory.is_online else None
        if log is not None:
            self.scheduler.forget(log)
        return log

    def _set_aside(self, log: ManagedLog) -> str:
        try:
            return log.data_directory.set_aside(log, DELETED)
        except OSError as error:
            log.data_directory.fail(error)
            raise LogDirectoryFailed(str(error), topic_partition=str(log.partition)) from error

    def truncate_to(self, offsets: Offsets, now_ms: int) -> None:
        """Truncate many logs (`Log.truncate_to`), taking checkpoints back once for all of them.

        Those of a directory that fails are left out.
        """
        for directory in self._online():
            logs = [log for partition, log in directory.logs.items() if partition in offsets]
            most = {
                log.partition: offsets[log.partition]
                for log in logs
                if log.log_end_offset > offsets[log.partition]
            }
            self._guard(directory, directory.before_truncation, directory, most)
            for log in logs:
                self._guard(directory, log.truncate_to, offsets[log.partition], now_ms)

    def update_config(self, topic: str, config: LogConfig) -> None:
        """Use other settings for a topic's logs from now on."""
        for log in [*self, *self.futures]:
            if log.partition.topic == topic:
                log.update_config(config)

    def reconfigure(self, config: LogManagerConfig) -> None:
        """Use other settings for compaction and for expiring producers from now on.

        Intervals between other background work stay as they were.
        """
        self.config = self.scheduler.config = config
        for directory in self.directories:
            directory.expire_producers_after(config.producer_id_expiration_ms)

    # --- time and the end --------------------------------------------------------------

    def background(self, now_ms: int, monotonic_ms: int | None = None) -> int:
        """Do a slice of what is due; when to call again, at the latest.

        How old things are is told by `now_ms`, the wall clock. What is due, this answer
        included, is told by `monotonic_ms`; without it the two clocks are one.
        """
        return self.maintenance.run(now_ms, now_ms if monotonic_ms is None else monotonic_ms)

    def flush(self, log: ManagedLog, done: Callable[[], object] = lambda: None) -> None:
        """Make a log durable in the worker, then call `done`; a failure takes it offline.

        Nobody is told of what is truncated before it is durable.
        """
        self.maintenance.flush(log, done)

    def close(self) -> None:
        """Flush and close everything and mark the stop as clean.

        The worker must have nothing of ours left (`is_idle`). A directory that fails at this
        point is left unmarked, and recovered at the next start.
        """
        for _ in self.closing():
            pass

    def closing(self) -> Iterator[None]:
        """`close`, which may be interrupted after each log."""
        self.scheduler.close()
        yield from self._closing()

    @property
    def is_idle(self) -> bool:
        """Whether the worker has nothing of ours."""
        return self._disk_work.is_idle

    def abandon(self) -> None:
        """Let go of everything as a crash would, but in good order: nothing is written."""
        self.scheduler.abandon()
        self._close_files()
