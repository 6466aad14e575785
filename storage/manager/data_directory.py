"""One of a broker's data directories: its lock, its checkpoints, the logs that live in it.

A directory works or has failed, for good: an `OSError` from any file call means that nothing
is known of what is on its disk (KIP-112). Its logs are then offline; other directories go on.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace

from barnabas.storage.directory import checkpoints, clean_marker
from barnabas.storage.directory.checkpoints import Offsets
from barnabas.storage.directory.partition_metadata import read_topic_id, write_topic_id
from barnabas.storage.directory_names import (
    DELETED,
    FUTURE,
    STRAY,
    TopicPartition,
    name_with_suffix,
)
from barnabas.storage.disk.fs import sync_directory
from barnabas.storage.disk.open_files import FileCache
from barnabas.storage.errors import (
    CorruptCheckpoint,
    InconsistentLogDirectory,
    TooManyOpenFiles,
    is_out_of_descriptors,
)
from barnabas.storage.loading.job import LoadJob, Recovered, TooMuchHere
from barnabas.storage.loading.loader import Loader
from barnabas.storage.loading.unopened_logs import UnopenedLog
from barnabas.storage.log_config import SMALL_BYTES, LogConfig
from barnabas.storage.manager.checkpoint_contents import OFFSETS_FOR
from barnabas.storage.manager.data_directory_files import DataDirectoryFiles
from barnabas.storage.manager.managed_log import ManagedLog

_logger = logging.getLogger(__name__)

ConfigOf = Callable[[str], LogConfig]
"""The config of a topic's logs, by its name."""
ReplicasOf = Callable[[TopicPartition, bytes | None], int]
"""How many replicas a partition has; 0 if this broker should not have its log, whose directory
notes that topic id."""


class DataDirectory(DataDirectoryFiles):
    """A data directory and its open logs."""

    def __init__(
        self,
        path: str,
        files: FileCache,
        *,
        producer_id_expiration_ms: int,
        full_validation: bool = False,
        recovery_small_bytes: int = SMALL_BYTES,
        on_failure: Callable[["DataDirectory"], None],
    ) -> None:
        super().__init__(path, files)
        self._producer_id_expiration_ms = producer_id_expiration_ms
        self._full_validation = full_validation
        self._recovery_small_bytes = recovery_small_bytes
        self._on_failure = on_failure
        self.before_truncation: Callable[[DataDirectory, Offsets], None] = lambda directory, to: (
            None
        )
        """Told before logs are truncated: no checkpoint on the disk may lie beyond."""
        self.on_truncation: Callable[[ManagedLog, int], None] = lambda log, offset: None
        """Told that what a log holds at an offset and above it goes."""
        self.before_opening: Callable[[], None] = lambda: None
        """Called before each log is opened; raises when they are not wanted any more."""
        self.monotonic_ms = 0
        """The time of the last pass of maintenance, by the clock that tells what is due."""
        self.before_creation: Callable[[DataDirectory, TopicPartition], None] = (
            lambda directory, partition: None
        )
        """Told before a log is made: no checkpoint on the disk may name it."""
        self.failure: OSError | None = None
        """Why the directory is offline, None while it works."""
        self.logs: dict[TopicPartition, ManagedLog] = {}
        self.future_logs: dict[TopicPartition, ManagedLog] = {}
        """Logs that are being filled, to replace those in other directories (`future_logs`)."""
        self.unopened: list[UnopenedLog] = []
        self.is_signed = False
        """Whether `meta.properties` said whose it is when it was opened."""
        self.to_flush: set[ManagedLog] = set()
        """Logs with a closed segment that is not flushed yet."""
        self.to_unlink: set[ManagedLog] = set()
        """Logs with set-aside files."""
        self.to_remove: deque[tuple[int, str]] = deque()
        """(due, path) of deleted partitions' directories."""
        self._found_topic_ids: dict[TopicPartition, bytes | None] = {}
        """Of logs that are still to be opened."""
        self.unsynced_topic_ids: list[str] = []
        """Partitions' directories in which a topic id was noted since."""
        self.name_changes = 0
        """How often a partition's directory was made or renamed."""
        self._synced_name_changes = 0

    def __repr__(self) -> str:
        return f"DataDirectory({self.path!r}, {len(self.logs)} logs)"

    @property
    def is_online(self) -> bool:
        return self.failure is None

    @property
    def has_unsynced_names(self) -> bool:
        """Whether a partition's directory was made or renamed since the last sync was begun
        that has ended."""
        return self._synced_name_changes < self.name_changes

    def names_synced(self, name_changes: int) -> None:
        """A sync has ended that was begun after so many changes."""
        self._synced_name_changes = max(self._synced_name_changes, name_changes)

    def fail(self, error: OSError) -> None:
        """Take the directory offline; further failures add nothing.

        A want of descriptors is not one: raises TooManyOpenFiles.
        """
        if is_out_of_descriptors(error):
            raise TooManyOpenFiles(f"{self.path}: {error}") from error
        if self.failure is None:
            self.failure = error
            _logger.error("%s: %s; its partitions are offline", self.path, error)
            for log in self.all_logs():
                log.lose_files()
            self._on_failure(self)

    def all_logs(self) -> list[ManagedLog]:
        """Those in use and those that are being filled."""
        return [*self.logs.values(), *self.future_logs.values()]

    # --- opening -----------------------------------------------------------------------

    def load(self, config_of: ConfigOf, now_ms: int, replicas_of: ReplicasOf | None = None) -> None:
        """Open every log; what is left of deleted and stray ones goes when its delay is over.

        Those with much to recover are left in `unopened`; `finish_loading` has to follow.
        """
        configs: dict[str, LogConfig] = {}
        for name, (partition, suffix) in self.partition_directories():
            config = configs.get(partition.topic)
            if config is None:
                config = configs[partition.topic] = config_of(partition.topic)
            replicas = None
            if suffix in ("", FUTURE):
                replicas = self._replicas_of(partition, name, replicas_of)
            if replicas == 0:
                name, suffix = self._move_aside(partition, name), STRAY
                _logger.warning("%s is no partition of this broker: now %s", partition, name)
            self.before_opening()
            if suffix in (DELETED, STRAY):
                due_ms = self.monotonic_ms + config.file_delete_delay_ms
                self.to_remove.append((due_ms, f"{self.path}/{name}"))
            else:
                is_compacted = config.compact or partition in self.clean_offsets
                is_contiguous = (replicas or 0) > 1 and not is_compacted
                job = self._load_job(
                    partition, config, now_ms, name=name, is_contiguous=is_contiguous
                )
                self._load_log(partition, job)

    def _replicas_of(
        self, partition: TopicPartition, name: str, replicas_of: ReplicasOf | None
    ) -> int | None:
        """How many replicas the partition of a log found at the start has; None if not known.

        A directory that nobody has signed yet may hold what somebody put there to be adopted.
        """
        if replicas_of is None or not self.is_signed:
            return None
        try:
            topic_id = self._read_topic_id(f"{self.path}/{name}")
        except NotADirectoryError:
            return None
        self._found_topic_ids[partition] = topic_id
        return replicas_of(partition, topic_id)

    def _move_aside(self, partition: TopicPartition, name: str) -> str:
        stray = name_with_suffix(partition, STRAY)
        self.rename(name, stray)
        return stray

    def _load_job(
        self,
        partition: TopicPartition,
        config: LogConfig,
        now_ms: int,
        *,
        name: str,
        is_new: bool = False,
        is_contiguous: bool = False,
    ) -> LoadJob:
        return LoadJob(
            f"{self.path}/{name}",
            config,
            now_ms,
            clean_shutdown=self.was_clean or is_new,
            recovery_point=self._recovery_points.get(partition, 0),
            log_start_offset=self._log_starts.get(partition, 0),
            producer_id_expiration_ms=self._producer_id_expiration_ms,
            is_contiguous=is_contiguous,
        )

    def _load_log(self, partition: TopicPartition, job: LoadJob) -> None:
        loader = Loader(self.files, job)
        loader.most_bytes = self._recovery_small_bytes
        try:
            if (size_bytes := loader.survey()) > self._recovery_small_bytes:
                raise TooMuchHere(size_bytes)
            loader.load()
        except NotADirectoryError:
            _logger.warning("%s is no directory; it is left alone", job.directory)
        except TooMuchHere as error:
            loader.close_files()
            job = replace(job, had_snapshots=True)
            self.unopened.append(UnopenedLog(partition, job, error.size_bytes, loader.report.notes))
        else:
            self._add_log(loader, partition)

    def finish_loading(self) -> None:
        """Open the logs that were left, recovering those that nobody else has.

        What a killed process has named nobody may have synced.
        """
        if not self.was_clean:
            sync_directory(self.fs, self.path)
        while self.unopened:
            self.before_opening()
            unopened = self.unopened.pop()
            loader = Loader(self.files, unopened.job)
            if isinstance(unopened.result, Recovered):
                loader.load_recovered(unopened.result)
            else:
                loader.load()
                if unopened.result is not None:
                    loader.report.notes.append(f"recovered in place: {unopened.result.reason}")
            notes = loader.report.notes
            notes[:0] = [note for note in unopened.notes if note not in notes]
            self._add_log(loader, unopened.partition)
        self._recovery_points = self._log_starts = self._high_watermarks = {}
        self._found_topic_ids.clear()

    def _add_log(self, loader: Loader, partition: TopicPartition) -> ManagedLog:
        topic_id = self._found_topic_ids.pop(partition, None)
        log = ManagedLog(loader, self, partition, topic_id, full_validation=self._full_validation)
        if high_watermark := self._high_watermarks.get(partition, 0):
            log.update_high_watermark(high_watermark)
        logs = self.future_logs if loader.job.directory.endswith(FUTURE) else self.logs
        logs[partition] = log
        return log

    # --- logs --------------------------------------------------------------------------

    def create_log(
        self,
        partition: TopicPartition,
        config: LogConfig,
        now_ms: int,
        topic_id: bytes | None,
        *,
        is_future: bool = False,
    ) -> ManagedLog:
        """Make a partition's directory and open its empty log; raises OSError."""
        self.before_creation(self, partition)
        name = name_with_suffix(partition, FUTURE) if is_future else str(partition)
        path = f"{self.path}/{name}"
        try:
            self.fs.make_directory(path)
        except FileExistsError:
            _logger.warning("%s is there already; it is used", path)
        self.name_changes += 1
        if topic_id is not None:
            self._note_topic_id(path, topic_id)
        job = self._load_job(partition, config, now_ms, name=name, is_new=True)
        loader = Loader(self.files, job)
        loader.load()
        log = self._add_log(loader, partition)
        log.topic_id = topic_id
        return log

    def _note_topic_id(self, path: str, topic_id: bytes) -> None:
        write_topic_id(self.fs, path, topic_id)
        self.unsynced_topic_ids.append(path)

    def topic_id(self, log: ManagedLog) -> bytes | None:
        """The topic id noted in a partition's directory; unreadable counts as none."""
        if log.topic_id is None:
            log.topic_id = self._read_topic_id(log.directory)
        return log.topic_id

    def _read_topic_id(self, path: str) -> bytes | None:
        try:
            return read_topic_id(self.fs, path)
        except CorruptCheckpoint as error:
            _logger.warning("%s; it is noted anew", error)
            return None

    def assign_topic_id(self, log: ManagedLog, topic_id: bytes) -> None:
        """Note a topic id; raises InconsistentLogDirectory if another one is noted."""
        noted = self.topic_id(log)
        if noted is None:
            self._note_topic_id(log.directory, topic_id)
            log.topic_id = topic_id
        elif noted != topic_id:
            raise InconsistentLogDirectory(
                f"{log.directory} belongs to topic id {noted.hex()}, not {topic_id.hex()}",
                topic_partition=log.topic_partition,
            )

    def set_aside(self, log: ManagedLog, suffix: str) -> str:
        """Take a log out of use: its directory is renamed. Raises OSError; the new path."""
        log.lose_files()
        if log.is_future:
            del self.future_logs[log.partition]
        else:
            del self.logs[log.partition]
        self.to_flush.discard(log)
        self.to_unlink.discard(log)
        self.clean_offsets.pop(log.partition, None)
        name = name_with_suffix(log.partition, suffix)
        self.rename(log.directory.rpartition("/")[2], name)
        return f"{self.path}/{name}"

    def promote(self, log: ManagedLog) -> None:
        """Let a future log be the partition's: its directory is renamed. Raises OSError.

        Nothing may be at work on its files.
        """
        old_path, path = log.directory, f"{self.path}/{log.partition}"
        self.rename(old_path.rpartition("/")[2], str(log.partition))
        log.relocate(path)
        self.unsynced_topic_ids = [
            path if each == old_path else each for each in self.unsynced_topic_ids
        ]
        self.logs[log.partition] = self.future_logs.pop(log.partition)

    def rename(self, name: str, new_name: str) -> None:
        """Give a partition's directory another name; raises OSError."""
        self.fs.rename(f"{self.path}/{name}", f"{self.path}/{new_name}")
        self.name_changes += 1

    def remove_later(self, path: str, config: LogConfig) -> None:
        """A directory that was set aside goes when `file.delete.delay.ms` is over."""
        self.to_remove.append((self.monotonic_ms + config.file_delete_delay_ms, path))

    def expire_producers_after(self, expiration_ms: int) -> None:
        """Forget producers that have been silent for so long, in logs old and new."""
        self._producer_id_expiration_ms = expiration_ms
        for log in self.all_logs():
            log.expire_producers_after(expiration_ms)

    # --- closing -----------------------------------------------------------------------

    def closing(self) -> Iterator[None]:
        """Flush and close every log and leave the clean shutdown marker; raises OSError.

        May be interrupted after each log. `close_files` has to follow, whatever happens here.
        """
        for log in self.all_logs():
            log.close()
            yield
        for name in checkpoints.PERIODIC:
            checkpoints.write_offsets(self.fs, f"{self.path}/{name}", self.offsets_for(name))
        clean_marker.mark(self.fs, self.path, self.broker_epoch)

    def close_files(self) -> None:
        """Give up all descriptors and the lock; without it there are none."""
        if not self.is_locked:
            return
        for log in self.all_logs():
            log.close_files()
        self._unlock()

    def offsets_for(self, checkpoint: str) -> Offsets:
        """What a checkpoint file should say now."""
        logs = {**self.logs, **self.future_logs} if self.future_logs else self.logs
        return OFFSETS_FOR[checkpoint](logs, self.clean_offsets)
